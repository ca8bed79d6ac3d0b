/* coefficients.c - a linear model as R's summary shows it, for programs and people.
 *
 * SPDX-License-Identifier: MIT */
#include "print/coefficients.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 40, LEVELS = 8, COLUMNS = 12, NAME = 40 }; /* shown to a person, at most */
#define HELD 1e-9                                         /* of the largest sd */

/* ---- open ------------------------------------------------------------------------------------------- */

const char *coefficients_reference(const char *given, int64_t json)
{
    if (given && strcmp(given, "none") == 0) return NULL;
    return given || json ? given : "auto";
}

int coefficients_of(coefficients *c, const char *file, fab_regression *r, const char *reference)
{
    c->r = r;
    fab_status s = fab_regression_summary(r, &c->summary);
    c->reference = reference;
    if (s == FAB_OK && reference && strcmp(reference, "auto") == 0) {
        s = fab_regression_reference(r, &c->usual);
        c->reference = c->usual;
    }
    if (s != FAB_OK) return say_status_of(file, s);
    if (!fab_regression_has_coefficients(r)) return DONE;
    c->n = fab_regression_size(r);
    c->effect = malloc((size_t)c->n * sizeof *c->effect);
    c->order = malloc((size_t)c->n * sizeof *c->order);
    if (!c->effect || !c->order) return say_failed("%s: no memory for the coefficients", file);
    s = fab_regression_effects(r, c->reference, 0.9, c->effect, c->order);
    if (s == FAB_OK) return DONE;
    return s == FAB_BAD_ARGUMENT ? say_status(s) : say_status_of(file, s);
}

int coefficients_open(coefficients *c, const char *file, const fab_posterior *p,
                      const char *reference)
{
    const fab_status s = fab_regression_take(&c->owned, file, p, NULL);
    return s == FAB_OK ? coefficients_of(c, file, c->owned, reference) : say_status(s);
}

void coefficients_close(coefficients *c)
{
    fab_regression_free(c->owned);
    free(c->effect);
    free(c->order);
    fab_text_free(c->usual);
    *c = (coefficients){0};
}

/* A reference itself: nothing is estimated there. */
static int is_reference(const coefficients *c, int64_t i)
{
    const fab_effect *e = &c->effect[i];
    return c->reference && !(e->mean < 0) && !(e->mean > 0) && !(e->sd > 0);
}

/* ---- for programs ------------------------------------------------------------------------------------ */

json_t *coefficients_json(const coefficients *c)
{
    json_t *all = json_array();
    for (int64_t i = 0; i < c->n; i++) {
        if (is_reference(c, i)) continue;
        char buf[32];
        json_t *one = json_object();
        const char *class = fab_regression_coefficient_class(c->r, i, buf);
        json_put(one, "name", json_text(fab_regression_coefficient_name(c->r, i)));
        if (class) json_put(one, "class", json_text(class));
        json_put(one, "mean", json_number(c->effect[i].mean));
        json_put(one, "sd", json_number(c->effect[i].sd));
        json_put(one, "lower", json_number(c->effect[i].lower));
        json_put(one, "upper", json_number(c->effect[i].upper));
        json_array_append_new(all, one);
    }
    return all;
}

void summary_put(json_t *j, const fab_summary *s)
{
    const int gaussian = strcmp(s->likelihood, "gaussian") == 0;
    if (gaussian) json_put(j, "noise_sd", json_number(s->noise));
    json_put(j, gaussian ? "r_squared" : "deviance_explained", json_number(s->explained));
    if (is_finite(s->accuracy)) json_put(j, "accuracy", json_number(s->accuracy));
}

/* ---- for people --------------------------------------------------------------------------------------- */

/* A name in so many columns of the terminal; UTF-8 is not cut inside a letter. */
static void print_name(const char *name, int width)
{
    int letters = 0;
    size_t bytes = 0;
    while (name[bytes] && letters < width) {
        bytes++;
        while (((unsigned char)name[bytes] & 0xc0) == 0x80) bytes++;
        letters++;
    }
    printf("%.*s%*s", (int)bytes, name, width - letters, "");
}

static int name_width(const char *name)
{
    int letters = 0;
    for (; *name; name++) letters += ((unsigned char)*name & 0xc0) != 0x80;
    return letters;
}

/* A coefficient that a penalty holds at 0 has no width beside the others. */
static int is_held(const coefficients *c, int64_t i)
{
    double most = 0;
    for (int64_t k = 0; k < c->n; k++)
        if (c->effect[k].sd > most) most = c->effect[k].sd;
    return !(c->effect[i].mean < 0) && !(c->effect[i].mean > 0) && c->effect[i].sd < HELD * most;
}

static void print_effect(const coefficients *c, int64_t i, int class_width, int width)
{
    const fab_effect *e = &c->effect[i];
    const int places = decimals_of(e->sd, 2);
    char buf[32], mean[40], sd[40], lower[40], upper[40];
    const char *class = fab_regression_coefficient_class(c->r, i, buf);
    if (class) {
        print_name(one_line(class), class_width);
        printf("  ");
    }
    print_name(one_line(fab_regression_coefficient_name(c->r, i)), width);
    number_text(e->mean, is_held(c, i) ? 0 : places, mean, sizeof mean);
    if (!(e->sd > 0) || is_held(c, i)) { /* a mode has no width */
        printf(" %12s %10s\n", mean, "-");
        return;
    }
    printf(" %12s %10s   %10s to %s\n", mean, number_text(e->sd, places, sd, sizeof sd),
           number_text(e->lower, places, lower, sizeof lower),
           number_text(e->upper, places, upper, sizeof upper));
}

/* What the coefficients add up to. */
static void print_scale(const coefficients *c)
{
    const fab_scaling *k = fab_regression_scaling(c->r);
    const char *l = c->summary.likelihood;
    char buf[32];
    if (strcmp(l, "bernoulli") == 0)
        printf("effects on the log odds of '%s'", one_line(fab_scaling_class(k, 1, buf)));
    else if (strcmp(l, "categorical") == 0)
        printf("effects on the score of each class, the log of its probability up to a constant");
    else if (strcmp(l, "gaussian") == 0)
        printf("effects on '%s', in its units", one_line(k->target));
    else
        printf("effects on the log of the rate of '%s'", one_line(k->target));
    if (c->reference) printf("; levels against %s", one_line(c->reference));
    printf("\n");
}

/* All of them, or the strongest in their order and the intercepts. */
static void print_effects(const coefficients *c)
{
    int class_width = 5, width = 11;
    char buf[32];
    const int64_t classes = fab_regression_coefficient_class(c->r, 0, buf) ? 2 : 1;
    int64_t usual = 0, shown = 0;
    for (int64_t i = 0; i < c->n; i++) usual += !is_reference(c, i);
    const int all = usual <= SHOWN + 2;
    for (int64_t k = 0; k < (all ? c->n : SHOWN); k++) {
        const int64_t i = all ? k : c->order[k];
        if (is_reference(c, i)) continue;
        const int w = name_width(one_line(fab_regression_coefficient_name(c->r, i)));
        if (w > width) width = w < NAME ? w : NAME;
        const char *class = fab_regression_coefficient_class(c->r, i, buf);
        const int cw = class ? name_width(one_line(class)) : 0;
        if (cw > class_width) class_width = cw < NAME / 2 ? cw : NAME / 2;
    }
    if (classes > 1) {
        print_name("class", class_width);
        printf("  ");
    }
    print_name("coefficient", width);
    printf(" %12s %10s   %s\n", "mean", "sd", "90 % interval");
    for (int64_t k = 0; k < c->n && (all || shown < SHOWN); k++) {
        const int64_t i = all ? k : c->order[k];
        if (is_reference(c, i)) continue;
        print_effect(c, i, class_width, width);
        shown++;
    }
    if (shown < usual)
        printf("the %" PRId64 " strongest (|mean| / sd) of %" PRId64
               "; `fabayes info FILE --json` shows all\n",
               shown, usual);
}

/* "district: hill, lake, port" */
static void print_levels(const fab_scaling *k)
{
    int64_t columns = 0;
    for (int64_t c = 0; c < k->columns; c++) {
        if (!k->column[c].levels) continue;
        if (++columns > COLUMNS) continue;
        printf("%-14s %s:", columns == 1 ? "levels" : "", one_line(k->column[c].name));
        for (int64_t l = 0; l < k->column[c].levels && l < LEVELS; l++)
            printf("%s %s", l ? "," : "", one_line(k->column[c].level[l]));
        if (k->column[c].levels > LEVELS) printf(", .. (%" PRId64 " in all)", k->column[c].levels);
        putchar('\n');
    }
    if (columns > COLUMNS) printf("%-14s and of %" PRId64 " more columns\n", "", columns - COLUMNS);
}

static void print_chosen(const coefficients *c)
{
    const fab_summary *s = &c->summary;
    const char *between = "";
    if (!s->guessed && !s->method_chosen && !s->alpha_chosen) return;
    printf("%-14s ", "chosen for you");
    if (s->guessed) {
        printf("likelihood %s, by the values of '%s'", s->likelihood,
               one_line(fab_regression_scaling(c->r)->target));
        between = "; ";
    }
    if (s->method_chosen && s->method) {
        printf("%smethod %s", between, s->method);
        between = "; ";
    }
    if (s->alpha_chosen && is_finite(s->alpha))
        printf("%salpha %.4g, the precision of the prior", between, s->alpha);
    putchar('\n');
}

void coefficients_print(const coefficients *c)
{
    const fab_summary *s = &c->summary;
    const fab_scaling *k = fab_regression_scaling(c->r);
    putchar('\n');
    if (c->n) {
        print_scale(c);
        print_effects(c);
        putchar('\n');
    }
    if (is_finite(s->noise))
        printf("%-14s %.4g: sd of '%s' around its prediction, in its units\n", "noise", s->noise,
               one_line(k->target));
    if (is_finite(s->explained) && strcmp(s->likelihood, "gaussian") == 0)
        printf("%-14s %.4f of the rows of the fit\n", "R^2", s->explained);
    else if (is_finite(s->explained))
        printf("%-14s %.1f %% explained, of the rows of the fit\n", "deviance", 100 * s->explained);
    if (is_finite(s->accuracy))
        printf("%-14s %.1f %% of the rows of the fit; the most frequent class alone has %.1f %%\n",
               "accuracy", 100 * s->accuracy, 100 * s->frequent);
    print_levels(k);
    print_chosen(c);
}

void next_print(const char *output)
{
    if (output)
        printf("%-14s fabayes predict %s NEW_DATA\n", "next", output);
    else
        printf("%-14s -o FILE saves the fit, for `fabayes predict FILE NEW_DATA`\n", "next");
}
