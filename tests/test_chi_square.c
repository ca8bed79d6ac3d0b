/* test_chi_square.c - the chi-square distribution beside closed forms and the numbers of R.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "base/chi_square.h"
#include "dense.h"
#include <math.h>

static void even_degrees_of_freedom_have_a_closed_form(void **state)
{
    (void)state;
    for (double x = 0.01; x < 200;
         x = 1.3 * x + 0.01) { /* e^-z (1 + z + z^2 / 2 + ..), z = x / 2 */
        double term = 1, sum = 1;
        for (int half = 1; half <= 20; half++) {
            assert_true(fabs(fab_chi_square_above(2 * half, x) / (exp(-x / 2) * sum) - 1) < 1e-12 ||
                        fabs(fab_chi_square_above(2 * half, x) - exp(-x / 2) * sum) < 1e-15);
            term *= x / 2 / half;
            sum += term;
        }
        const double below = fab_chi_square_below(6, 0, x);
        assert_true(fabs(below + fab_chi_square_above(6, x) - 1) < 1e-14);
    }
    assert_true(fab_chi_square_above(3, 0) == 1 && fab_chi_square_below(3, 0, 0) == 0);
}

static void probabilities_are_those_of_pchisq(void **state)
{
    (void)state;
    static const struct {
        double dof, away, x, below;
    } cases[] = {{4, 3, 10, 7.837631816817812e-01},
                 {42, 100, 60, 2.306007151263743e-06},
                 {500, 500, 900, 3.098426248091479e-02}};
    assert_true(fabs(fab_chi_square_above(42, 158.5485) / 1.959082928880349e-15 - 1) < 1e-10);
    assert_true(fabs(fab_chi_square_above(5, 3.2) / 6.691829020332434e-01 - 1) < 1e-13);
    assert_true(fabs(fab_chi_square_above(0.5, 1e-3) / 8.350402492315873e-01 - 1) < 1e-13);
    assert_true(fabs(fab_chi_square_above(499000, 500000) / 1.584132024836200e-01 - 1) < 1e-9);
    for (int i = 0; i < 3; i++) {
        const double below = fab_chi_square_below(cases[i].dof, cases[i].away, cases[i].x);
        assert_true(fabs(below / cases[i].below - 1) < 1e-9);
        const double away = fab_chi_square_away(cases[i].dof, cases[i].x, cases[i].below);
        assert_true(fabs(away / cases[i].away - 1) < 1e-8);
    }
    assert_true(fab_chi_square_away(42, 10, 0.95) == 0); /* it is less even at the centre */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(even_degrees_of_freedom_have_a_closed_form),
        TEST(probabilities_are_those_of_pchisq),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
