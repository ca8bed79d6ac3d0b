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

static fab_curve line_of(const char *name, const double *x, const double *y, int64_t n)
{
    return (fab_curve){.name = name, .x = x, .y = y, .n = n};
}

static fab_plot plot_of(const fab_curve *curve, int64_t n)
{
    return (fab_plot){"a < b & \"c\"", "x", "y", 1, 1, curve, n};
}

static void a_plot_has_a_line_for_each_curve_and_a_dash_for_a_level(void **state)
{
    (void)state;
    const fab_curve curve[] = {line_of("one", xs, ys, 3), line_of("two", xs, ys, 2),
                               line_of("level", NULL, ys + 1, 1)};
    const fab_plot p = plot_of(curve, 3);
    char *svg;
    assert_int_equal(fab_plot_svg(&p, &svg), FAB_OK);
    assert_int_equal(count(svg, "<polyline"), 2);
    assert_int_equal(count(svg, "<line class=\"level\""), 1);
    assert_int_equal(count(svg, "class=\"name\""), 3);
    assert_null(strstr(svg, "nan"));
    fab_text_free(svg);
}

static fab_curve band_of(const char *name, const double *y, const double *upper, int64_t n)
{
    return (fab_curve){
        .name = name, .x = xs, .y = y, .n = n, .style = FAB_CURVE_BAND, .upper = upper};
}

static void bands_lie_under_lines_and_points_on_top(void **state)
{
    (void)state;
    const double upper[] = {7.1, 0.7, 0.9};
    const fab_curve curve[] = {
        {.name = "truth", .x = xs, .y = ys, .n = 3, .style = FAB_CURVE_POINTS},
        line_of("mean", xs, ys, 3),
        band_of("band", ys, upper, 3),
        {.name = "one point", .x = xs, .y = ys, .n = 1, .style = FAB_CURVE_POINTS},
    };
    const fab_plot p = plot_of(curve, 4);
    char *svg;
    assert_int_equal(fab_plot_svg(&p, &svg), FAB_OK);
    const char *band = strstr(svg, "<polygon class=\"band\""), *line = strstr(svg, "<polyline"),
               *points = strstr(svg, "<g class=\"points\"");
    assert_true(band && band < line && line < points);
    assert_int_equal(count(svg, "<g class"), count(svg, "</g>"));
    assert_int_equal(count(points, "<circle r="), 3 + 1);
    assert_int_equal(count(svg, "class=\"name\""), 4);
    fab_text_free(svg);
}

/* Places of a polygon or polyline in the picture: how many, the least and the largest height. */
static int read_places(const char *svg, const char *tag, double *top, double *bottom)
{
    int n = 0, used;
    double x, y;
    const char *at = strstr(strstr(svg, tag), "points=\"") + 8;
    for (; sscanf(at, "%lf,%lf %n", &x, &y, &used) == 2; at += used, n++) {
        if (n == 0 || y < *top) *top = y;
        if (n == 0 || y > *bottom) *bottom = y;
    }
    return n;
}

static void a_band_reaches_from_its_lower_to_its_upper_edge(void **state)
{
    (void)state;
    const double lower[] = {1, 2, 1.5}, upper[] = {3, 2, 4};
    const fab_curve curve[] = {band_of("band", lower, upper, 3), line_of("low", xs, lower, 3),
                               line_of("high", xs, upper, 3)};
    double band[2], low[2], high[2];
    for (int64_t scale = 0; scale < 2; scale++) {
        const fab_plot both = {"t", "x", "y", scale, scale, curve, 3};
        char *svg;
        assert_int_equal(fab_plot_svg(&both, &svg), FAB_OK);
        assert_int_equal(read_places(svg, "<polygon", &band[0], &band[1]), 6);
        const char *second = strstr(svg, "<polyline");
        assert_int_equal(read_places(second, "<polyline", &low[0], &low[1]), 3);
        assert_int_equal(read_places(second + 1, "<polyline", &high[0], &high[1]), 3);
        assert_float_equal(band[0], high[0], 0);
        assert_float_equal(band[1], low[1], 0);
        fab_text_free(svg);
    }
}

static void bars_reach_from_y_to_upper(void **state)
{
    (void)state;
    const double upper[] = {7.1, 0.7, 0.9};
    const fab_curve curve[] = {
        {"bars", xs, ys, 3, FAB_CURVE_BARS, upper},
        {.name = "points", .x = xs, .y = ys, .n = 3, .style = FAB_CURVE_POINTS},
    };
    const fab_plot p = plot_of(curve, 2);
    char *svg;
    assert_int_equal(fab_plot_svg(&p, &svg), FAB_OK);
    const char *bars = strstr(svg, "<g class=\"bars\""),
               *points = strstr(svg, "<g class=\"points\"");
    assert_true(bars && bars < points);
    assert_int_equal(count(bars, "<line "), 3);
    assert_non_null(strstr(bars, "<title>1: 2.385 to 7.1</title>"));
    assert_non_null(strstr(svg, "<desc>y against x: bars from 0.01 to 7.1; points from"));
    fab_text_free(svg);
}

static void a_forest_has_a_row_for_each_name(void **state)
{
    (void)state;
    const char *const name[] = {"a < b", "a name that is far too long to be drawn whole"};
    const double mean[] = {2.385, -1}, lower[] = {1, -3}, upper[] = {4, 0.5}, low[] = {1, 0};
    fab_forest f = {"t", "x", 2, name, mean, lower, upper};
    char *svg;
    assert_int_equal(fab_forest_svg(&f, &svg), FAB_OK);
    assert_int_equal(count(svg, "class=\"interval\""), 2);
    assert_non_null(strstr(svg, "<title>a &lt; b: 2.385, 90 % from 1 to 4</title>"));
    assert_non_null(strstr(svg, "<title>a name that is far too long to be drawn whole: "));
    assert_non_null(strstr(svg, "a name that is far too lo\xe2\x80\xa6</text>"));
    assert_null(strstr(svg, "nan"));
    fab_text_free(svg);
    f.lower = low; /* above the mean */
    assert_int_equal(fab_forest_svg(&f, &svg), FAB_BAD_DATA);
    assert_null(svg);
    f.n = 0;
    assert_int_equal(fab_forest_svg(&f, &svg), FAB_BAD_ARGUMENT);
}

static void a_heat_map_colours_by_size_and_leaves_small_numbers_unwritten(void **state)
{
    (void)state;
    const char *const row[] = {"r", "s"}, *const column[] = {"1", "2"};
    const double value[] = {0.5, -1, 0.05, 0}, hole[] = {0.5, NAN, 0, 0};
    fab_heat h = {.title = "t",
                  .row_label = "rows",
                  .column_label = "columns",
                  .rows = 2,
                  .columns = 2,
                  .row = row,
                  .column = column,
                  .value = value,
                  .blank = 0.1,
                  .decimals = 2};
    char *svg;
    assert_int_equal(fab_heat_svg(&h, &svg), FAB_OK);
    assert_int_equal(count(svg, "<rect class=\"cell\""), 4);
    assert_int_equal(count(svg, "class=\"number\""), 2);
    assert_non_null(strstr(svg, "fill=\"#0072B2\" fill-opacity=\"0.325\"")); /* half of 0.65 */
    assert_non_null(strstr(svg, "fill=\"#D55E00\" fill-opacity=\"0.650\""));
    assert_non_null(strstr(svg, "<title>s, 1: 0.05</title>"));
    fab_text_free(svg);
    h.value = hole;
    assert_int_equal(fab_heat_svg(&h, &svg), FAB_BAD_DATA);
    assert_non_null(strstr(fab_detail(), "'r' and '2'"));
    h.columns = FAB_HEAT_COLUMNS + 1;
    assert_int_equal(fab_heat_svg(&h, &svg), FAB_BAD_ARGUMENT);
}

static void refuses(fab_curve curve, fab_status status, const char *says)
{
    const fab_plot p = plot_of(&curve, 1);
    char *svg;
    assert_int_equal(fab_plot_svg(&p, &svg), status);
    assert_null(svg);
    assert_non_null(strstr(fab_detail(), "'the curve'"));
    assert_non_null(strstr(fab_detail(), says));
}

static void odd_curves_are_refused_by_name(void **state)
{
    (void)state;
    const double crossing[] = {3, 0.1, 0.02}, hole[] = {3, NAN, 0.02};
    fab_curve odd = line_of("the curve", xs, ys, 3);
    refuses(band_of("the curve", ys, crossing, 3), FAB_BAD_DATA, "from 0.7 up to 0.1 at point 1");
    refuses(band_of("the curve", ys, hole, 3), FAB_BAD_DATA, "nan at point 1");
    refuses(band_of("the curve", ys, NULL, 3), FAB_BAD_ARGUMENT, "no upper edge");
    refuses(band_of("the curve", ys, ys, 1), FAB_BAD_ARGUMENT, "expected 2 or more");
    odd.upper = ys;
    refuses(odd, FAB_BAD_ARGUMENT, "is no band");
    odd.upper = NULL;
    odd.style = (fab_curve_style)4;
    refuses(odd, FAB_BAD_ARGUMENT, "style 4");
    odd.n = 0;
    refuses(odd, FAB_BAD_ARGUMENT, "no points");
}

static void text_is_escaped(void **state)
{
    (void)state;
    const fab_curve curve = line_of("<name>", xs, ys, 3);
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
        const fab_curve curve = line_of("the curve", xs, y, 2);
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
        const fab_curve curve = line_of("flat", y, y, 2), level = line_of("level", NULL, y, 1);
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
    const fab_curve curve = line_of("bad", xs, y, 2);
    const fab_plot p = plot_of(&curve, 1);
    fab_page *page;
    assert_int_equal(fab_page_create(&page, "t"), FAB_OK);
    assert_int_equal(fab_page_plot(page, &p, "caption"), FAB_BAD_DATA);
    assert_int_equal(fab_page_write(page, "never.html"), FAB_BAD_DATA);
    assert_null(fopen("never.html", "r"));
    fab_page_free(page);
    fab_page_free(NULL);
}

/* The file, or "" where there is none; lent until the next call. */
static const char *text_of(const char *path)
{
    static char text[20000];
    FILE *f = fopen(path, "r");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = 0;
    return text;
}

static void headings_stand_under_the_parts_of_a_page(void **state)
{
    (void)state;
    fab_page *page;
    assert_int_equal(fab_page_create(&page, "t"), FAB_OK);
    fab_page_heading(page, "alone");
    fab_page_part(page, "a < b");
    fab_page_heading(page, "below");
    assert_int_equal(fab_page_write(page, "parts.html"), FAB_OK);
    fab_page_free(page);
    const char *text = text_of("parts.html");
    assert_non_null(strstr(text, "<h2>alone</h2>"));
    assert_non_null(strstr(text, "<h2 class=\"part\">a &lt; b</h2>"));
    assert_non_null(strstr(text, "<h3>below</h3>"));
    remove("parts.html");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_plot_has_a_line_for_each_curve_and_a_dash_for_a_level),
        cmocka_unit_test(bands_lie_under_lines_and_points_on_top),
        cmocka_unit_test(a_band_reaches_from_its_lower_to_its_upper_edge),
        cmocka_unit_test(bars_reach_from_y_to_upper),
        cmocka_unit_test(a_forest_has_a_row_for_each_name),
        cmocka_unit_test(a_heat_map_colours_by_size_and_leaves_small_numbers_unwritten),
        cmocka_unit_test(odd_curves_are_refused_by_name),
        cmocka_unit_test(text_is_escaped),
        cmocka_unit_test(numbers_without_a_place_are_refused),
        cmocka_unit_test(a_range_of_no_width_is_drawn),
        cmocka_unit_test(a_page_with_a_bad_plot_is_not_written),
        cmocka_unit_test(headings_stand_under_the_parts_of_a_page),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
