/* convergence.c - a fit that still improved at its end says so, and how to go on.
 *
 * SPDX-License-Identifier: MIT */
#include "print/convergence.h"
#include <inttypes.h>
#include <stdio.h>

void convergence_print(const fab_method *m, const void *settings, const fab_report *r)
{
    enum { ENOUGH = 10 }; /* epochs; see fab_report */
    const fab_fields *t = fab_method_fields(m);
    const int trained = !fab_method_streams(m) && fab_settings_find(t, "epochs");
    if (trained) {
        const double epochs = fab_settings_number(t, settings, "epochs");
        if (r->converged == 0)
            printf("still improving at the end of %g epochs (by %.2g nats a row): raise --epochs\n",
                   epochs, r->gain);
        else if (epochs < ENOUGH)
            printf("%g epochs are too few to tell whether it has converged: raise --epochs\n",
                   epochs);
        return;
    }
    if (r->converged != 0) return;
    printf("not converged after %" PRId64 " iterations", r->iterations);
    if (is_finite(r->gain)) printf(" (the last is worth %.2g nats a row)", r->gain);
    const double most = fab_settings_number(t, settings, "max_iter");
    if (!is_finite(most))
        printf("\n"); /* there is no such setting */
    else if ((double)r->iterations >= most)
        printf(": raise --max_iter\n");
    else
        printf(", and no step was better\n");
}
