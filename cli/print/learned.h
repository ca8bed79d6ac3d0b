/* learned.h - what a regression says when it is made.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_LEARNED_H
#define CLI_LEARNED_H

#include "learning.h"

/* The result of l for a program or a person. */
int learned_say(const learning *l, int guessed, int64_t json);

#endif
