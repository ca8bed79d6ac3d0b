/* convergence.h - a fit that still improved at its end says so, and how to go on.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_CONVERGENCE_H
#define CLI_CONVERGENCE_H

#include "print/output.h"

/* The sentence of a fit by m with these settings that has not converged, or had too few epochs to tell; nothing where
 * that does not apply. */
void convergence_print(const fab_method *m, const void *settings, const fab_report *r);

#endif
