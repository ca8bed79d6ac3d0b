/* study.h - what the studies in C share: failures and memory.
 *
 * SPDX-License-Identifier: MIT */
#ifndef STUDIES_STUDY_H
#define STUDIES_STUDY_H

#include "fabayes.h"

/* Exit with the library's sentence unless s is FAB_OK. */
void must(fab_status s);

/* n zeros, or exit: free. */
double *numbers(int64_t n);

#endif
