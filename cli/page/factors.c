/* factors.c - the page of a factor analysis.
 *
 * SPDX-License-Identifier: MIT */
#include "page/page.h"

int page_factors(page_call *c, const fab_posterior *p)
{
    (void)p;
    return say_failed("%s: is no regression", c->file);
}
