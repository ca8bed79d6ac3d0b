/* test_report.c - plots and pages.
 *
 * SPDX-License-Identifier: MIT */
#include <fabayes.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static const double xs[] = {1, 10, 1000}, ys[] = {2.385, 0.7, 0.01};

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *p = strstr(text, word); p; p = strstr(p + 1, word)) n++;
    return n;
}

static fab_plot plot_of(const fab_curve *curve, int64_t n)
{
    return (fab_plot){"a < b & \"c\"", "x", "y", 1, 1, curve, n};
}

static void a_plot_has_a_line_for_each_curve_and_a_dash_for_a_level(void **state)
{
    (void)state;
    const fab_curve curve[] = {{"one", xs, ys, 3}, {"two", xs, ys, 2}, {"level", NULL, ys + 1, 1}};
    const fab_plot p = plot_of(curve, 3);
    char *svg;
    assert_int_equal(fab_plot_svg(&p, &svg), FAB_OK);
    assert_int_equal(count(svg, "<polyline"), 2);
    assert_int_equal(count(svg, "<line class=\"level\""), 1);
    assert_int_equal(count(svg, "class=\"name\""), 3);
    assert_null(strstr(svg, "nan"));
    fab_text_free(svg);
}

static void text_is_escaped(void **state)
{
    (void)state;
    const fab_curve curve = {"<name>", xs, ys, 3};
    const fab_plot p = plot_of(&curve, 1);
    char *svg;
    assert_int_equal(fab_plot_svg(&p, &svg), FAB_OK);
    assert_non_null(strstr(svg, "a &lt; b &amp; &quot;c&quot;"));
    assert_non_null(strstr(svg, "&lt;name&gt;"));
    fab_text_free(svg);
}

static void numbers_without_a_place_are_refused(void **state)
{
    (void)state;
    const double bad[] = {NAN, INFINITY, 0, -1};
    for (int i = 0; i < 4; i++) {
        const double y[] = {1, bad[i]};
        const fab_curve curve = {"the curve", xs, y, 2};
        const fab_plot p = plot_of(&curve, 1);
        char *svg = (char *)&curve;
        assert_int_equal(fab_plot_svg(&p, &svg), FAB_BAD_DATA);
        assert_null(svg);
        assert_non_null(strstr(fab_detail(), "'the curve'"));
    }
    char *svg;
    const fab_plot none = plot_of(NULL, 0);
    assert_int_equal(fab_plot_svg(&none, &svg), FAB_BAD_ARGUMENT);
}

static void a_range_of_no_width_is_drawn(void **state)
{
    (void)state;
    for (int64_t scale = 0; scale < 2; scale++) {
        const double y[] = {0.7, 0.7};
        const fab_curve curve = {"flat", y, y, 2}, level = {"level", NULL, y, 1};
        const fab_plot a = {"t", "x", "y", scale, scale, &curve, 1},
                       b = {"t", "x", "y", scale, scale, &level, 1};
        char *svg;
        assert_int_equal(fab_plot_svg(&a, &svg), FAB_OK);
        assert_null(strstr(svg, "nan"));
        fab_text_free(svg);
        assert_int_equal(fab_plot_svg(&b, &svg), FAB_OK);
        assert_null(strstr(svg, "inf"));
        fab_text_free(svg);
    }
}

static void a_page_with_a_bad_plot_is_not_written(void **state)
{
    (void)state;
    const double y[] = {1, NAN};
    const fab_curve curve = {"bad", xs, y, 2};
    const fab_plot p = plot_of(&curve, 1);
    fab_page *page;
    assert_int_equal(fab_page_create(&page, "t"), FAB_OK);
    assert_int_equal(fab_page_plot(page, &p, "caption"), FAB_BAD_DATA);
    assert_int_equal(fab_page_write(page, "never.html"), FAB_BAD_DATA);
    assert_null(fopen("never.html", "r"));
    fab_page_free(page);
    fab_page_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plot_has_a_line_for_each_curve_and_a_dash_for_a_level),
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(numbers_without_a_place_are_refused),
        cmocka_unit_test(a_range_of_no_width_is_drawn),
        cmocka_unit_test(a_page_with_a_bad_plot_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
