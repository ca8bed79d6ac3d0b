/* stream.h - how good a stream was while it went, for programs and people.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_STREAM_H
#define CLI_STREAM_H

#include "print/output.h"

/* Gives an object. */
json_t *stream_json(const fab_stream_scores *s);
/* Lines that begin with `label`, padded to `width`, or alike.  of_call: those of this call too, where they are others. */
void stream_print(const fab_stream_scores *s, const char *label, int width, int of_call);

#endif
