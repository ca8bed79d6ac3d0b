/* compare.c - `fabayes compare`: how far A, the estimate, is from B, the reference.
 *
 * SPDX-License-Identifier: MIT */
#include "options.h"
#include "print/clusters.h"
#include "print/output.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct pair {
    const fab_gauss *a, *b;
    fab_exec exec;
} pair;

/* ---- the distances -------------------------------------------------------------------------------- */

static fab_status mean_distance(const pair *p, double *out)
{
    return fab_distance_mean(p->a, p->b, out);
}

static fab_status covariance_distance(const pair *p, double *out)
{
    return fab_distance_covariance(p->a, p->b, &p->exec, out);
}

static fab_status kl_ab(const pair *p, double *out)
{
    return fab_distance_kl(p->a, p->b, &p->exec, out);
}

static fab_status kl_ba(const pair *p, double *out)
{
    return fab_distance_kl(p->b, p->a, &p->exec, out);
}

static fab_status w2(const pair *p, double *out)
{
    return fab_distance_w2(p->a, p->b, &p->exec, out);
}

typedef struct distance {
    const char *key;
    fab_status (*find)(const pair *p, double *out); /* NULL: w2 of the row before, over D */
    const char *meaning;
} distance;

// clang-format off
static const distance distances[] = {
    {"mean_distance",       mean_distance,       "|mu_a - mu_b| / |mu_b|"},
    {"covariance_distance", covariance_distance, "|S_a - S_b| / |S_b|, Frobenius"},
    {"kl_ab",               kl_ab,               "KL(A || B), nats"},
    {"kl_ba",               kl_ba,               "KL(B || A), nats"},
    {"w2",                  w2,                  "2-Wasserstein distance"},
    {"w2_per_dim",          NULL,                "w2 / D"},
};
// clang-format on

typedef struct answer {
    int known;
    double value;
    char reason[512]; /* when not known */
} answer;

/* All distances; a failure that is more than "not offered here" ends with its exit status. */
static int find_all(const pair *p, answer *all)
{
    for (int i = 0; i < COUNT(distances); i++) {
        answer *x = &all[i];
        if (!distances[i].find) {
            *x = all[i - 1];
            x->value /= (double)p->a->D;
            continue;
        }
        const fab_status s = distances[i].find(p, &x->value);
        if (s != FAB_OK && s != FAB_UNSUPPORTED) return say_status(s);
        x->known = s == FAB_OK;
        snprintf(x->reason, sizeof x->reason, "%s", s == FAB_OK ? "" : fab_detail());
    }
    return DONE;
}

/* ---- what is said --------------------------------------------------------------------------------- */

static int say_json(const answer *all)
{
    json_t *j = json_object(), *reasons = json_object();
    for (int i = 0; i < COUNT(distances); i++) {
        json_put(j, distances[i].key, all[i].known ? json_number(all[i].value) : json_null());
        if (!all[i].known) json_put(reasons, distances[i].key, json_text(all[i].reason));
    }
    json_put(j, "reasons", reasons);
    return json_say(j);
}

static int say_table(const char *const *file, const pair *p, const answer *all)
{
    printf("A  %s: %s, K = %" PRId64 "\n", file[0], fab_form_name(p->a->form), p->a->K);
    printf("B  %s: %s, K = %" PRId64 "\n", file[1], fab_form_name(p->b->form), p->b->K);
    printf("D = %" PRId64 "\n\n", p->a->D);
    for (int i = 0; i < COUNT(distances); i++) {
        if (all[i].known)
            printf("%-20s %-14.6g %s\n", distances[i].key, all[i].value, distances[i].meaning);
        else
            printf("%-20s not available: %s\n", distances[i].key, all[i].reason);
    }
    return DONE;
}

/* ---- the two files -------------------------------------------------------------------------------- */

static int load_one(fab_posterior **p, const char *file)
{
    const fab_status s = fab_posterior_load(p, file);
    if (s != FAB_OK) return say_status(s);
    if (fab_file_kind((*p)->file) == FAB_KIND_GP)
        return say_failed(
            "%s: is a Gaussian process, whose parameters say little of its functions; "
            "compare what files predict: `fabayes score FILE DATA`",
            file);
    if (fab_file_kind((*p)->file) == FAB_KIND_SVM)
        return say_failed("%s: is a support vector machine, and no Gaussian; compare what files "
                          "predict: `fabayes score FILE DATA`",
                          file);
    if ((*p)->mix.n == 1 || clusters_file((*p)->file)) return DONE;
    return say_failed("%s: is a mixture of %" PRId64 " Gaussians; compare takes single Gaussians",
                      file, (*p)->mix.n);
}

/* The same coordinates of the same theta? */
static int same_space(const char *const *file, const fab_gauss *a, const fab_gauss *b)
{
    if (a->D != b->D)
        return say_failed("%s has D = %" PRId64 " and %s has D = %" PRId64, file[0], a->D, file[1],
                          b->D);
    if (a->total != b->total)
        return say_failed("%s is over part of %" PRId64 " coordinates and %s over part of %" PRId64
                          " (0: over all of theta)",
                          file[0], a->total, file[1], b->total);
    if (a->index && memcmp(a->index, b->index, (size_t)a->D * sizeof *a->index) != 0)
        return say_failed("%s and %s are over different coordinates of theta", file[0], file[1]);
    return DONE;
}

/* ---- units ------------------------------------------------------------------------------------------ */

typedef struct side {
    fab_posterior *p;
    fab_regression *r; /* of a linear model; otherwise NULL */
    fab_gauss *user;   /* in the user's units; NULL: as in the file */
} side;

static int same_scaling(const side *s)
{
    const char *a = fab_tensors_get(s[0].p->file, "scaling"),
               *b = fab_tensors_get(s[1].p->file, "scaling");
    return a && b ? strcmp(a, b) == 0 : !a && !b;
}

/* The Gaussian of a linear model in the user's units; FAB_UNSUPPORTED: it has none there. */
static fab_status take_linear(side *s, const char *file)
{
    fab_status done = fab_regression_take(&s->r, file, s->p, NULL);
    if (done == FAB_OK) done = fab_regression_gauss(s->r, &s->user);
    return done;
}

/* Two linear models are compared in the user's units. */
static int to_user(side *s, const char *const *file)
{
    const int linear = fab_posterior_is_linear(s[0].p);
    if (linear != fab_posterior_is_linear(s[1].p))
        return say_failed("%s is a file of `fabayes fit` and %s is not: they have different units",
                          file[!linear], file[linear]);
    if (!linear) {
        if (same_scaling(s)) return DONE;
        return say_failed("%s and %s were scaled differently: their weights cannot be compared",
                          file[0], file[1]);
    }
    char why[256] = "";
    for (int i = 0; i < 2; i++) {
        const fab_status done = take_linear(&s[i], file[i]);
        if (done != FAB_OK && done != FAB_UNSUPPORTED) return say_status_of(file[i], done);
        if (done == FAB_UNSUPPORTED) snprintf(why, sizeof why, "%s", fab_detail());
    }
    if (!*why) return DONE;
    for (int i = 0; i < 2; i++) { /* the same units: those of the fit will do */
        fab_gauss_free(s[i].user);
        s[i].user = NULL;
    }
    if (same_scaling(s)) return DONE;
    return say_failed("%s and %s were scaled differently, and cannot be brought to the same units: "
                      "%s",
                      file[0], file[1], why);
}

static const fab_gauss *gauss_of(const side *s)
{
    return s->user ? s->user : s->p->mix.part[0];
}

static void close_side(side *s)
{
    fab_regression_free(s->r);
    fab_gauss_free(s->user);
    fab_posterior_free(s->p);
}

/* ---- clusters ------------------------------------------------------------------------------------------ */

enum { DRAWS = 20000 };

typedef struct likeness {
    double kl[2], se[2]; /* A || B, B || A */
    int64_t *match;      /* of the parts of A */
    double *distance;
} likeness;

static int clusters_json(const fab_mixture *a, const fab_mixture *b, const likeness *l,
                         const clusters_agreement *rows)
{
    json_t *j = json_object(), *parts = json_array();
    json_put(j, "kl_ab", json_number(l->kl[0]));
    json_put(j, "kl_ab_se", json_number(l->se[0]));
    json_put(j, "kl_ba", json_number(l->kl[1]));
    json_put(j, "kl_ba_se", json_number(l->se[1]));
    json_put(j, "draws", json_integer(DRAWS));
    if (rows) {
        json_put(j, "n", json_integer(rows->n));
        json_put(j, "ari", json_number(rows->rand));
        json_put(j, "nmi", json_number(rows->information));
    }
    for (int64_t i = 0; i < a->n; i++) {
        json_t *part = json_object();
        json_put(part, "a", json_integer(i));
        json_put(part, "b", l->match[i] < 0 ? json_null() : json_integer(l->match[i]));
        json_put(part, "weight_a", json_number(a->weight[i]));
        json_put(part, "weight_b",
                 l->match[i] < 0 ? json_null() : json_number(b->weight[l->match[i]]));
        json_put(part, "distance", json_number(l->distance[i]));
        json_array_append_new(parts, part);
    }
    json_put(j, "parts", parts);
    return json_say(j);
}

static int clusters_table(const char *const *file, const fab_mixture *a, const fab_mixture *b,
                          const likeness *l, const clusters_agreement *rows)
{
    printf("A  %s: %" PRId64 " clusters\n", file[0], a->n);
    printf("B  %s: %" PRId64 " clusters\n", file[1], b->n);
    printf("D = %" PRId64 "\n\n", a->part[0]->D);
    printf("%-20s %-14.6g KL(A || B), nats, standard error %.2g, by %d draws\n", "kl_ab", l->kl[0],
           l->se[0], DRAWS);
    printf("%-20s %-14.6g KL(B || A), nats, standard error %.2g\n", "kl_ba", l->kl[1], l->se[1]);
    if (rows) {
        printf("%-20s %-14.6g Rand index of the two on %" PRId64 " rows, adjusted for chance\n",
               "ari", rows->rand, rows->n);
        printf("%-20s %-14.6g the information that they share\n", "nmi", rows->information);
    }
    printf("\n%6s %6s %9s %9s  between means, in standard deviations of B\n", "A", "B", "share",
           "share");
    for (int64_t i = 0; i < a->n; i++) {
        if (l->match[i] < 0)
            printf("%6" PRId64 " %6s %9.4f\n", i, "-", a->weight[i]);
        else
            printf("%6" PRId64 " %6" PRId64 " %9.4f %9.4f  %.3g\n", i, l->match[i], a->weight[i],
                   b->weight[l->match[i]], l->distance[i]);
    }
    return DONE;
}

static int compare_clusters(const char *const *file, const side *s, const data_options *d,
                            const fab_exec *x, int64_t json)
{
    const fab_mixture *a = &s[0].p->mix, *b = &s[1].p->mix;
    likeness l = {.match = malloc((size_t)a->n * sizeof *l.match),
                  .distance = malloc((size_t)a->n * sizeof *l.distance)};
    int status = l.match && l.distance ? DONE : say_failed("out of memory");
    if (status == DONE) {
        fab_status done = fab_mixture_kl(a, b, 0, DRAWS, x, &l.kl[0], &l.se[0]);
        if (done == FAB_OK) done = fab_mixture_kl(b, a, 0, DRAWS, x, &l.kl[1], &l.se[1]);
        if (done == FAB_OK) done = fab_mixture_match(a, b, x, l.match, l.distance);
        status = done == FAB_OK ? DONE : say_status(done);
    }
    clusters_agreement rows = {0};
    const clusters_agreement *seen = d->file ? &rows : NULL;
    if (status == DONE && seen) status = clusters_agree(file, s[0].p, s[1].p, d, &rows);
    if (status == DONE)
        status = json ? clusters_json(a, b, &l, seen) : clusters_table(file, a, b, &l, seen);
    free(l.match);
    free(l.distance);
    return status;
}

static int compare(const char *const *file, const data_options *d, int64_t threads, int64_t json)
{
    side s[2] = {{0}};
    answer all[COUNT(distances)] = {{0}};
    int status = load_one(&s[0].p, file[0]);
    if (status == DONE) status = load_one(&s[1].p, file[1]);
    if (status == DONE) status = same_space(file, s[0].p->mix.part[0], s[1].p->mix.part[0]);
    const int first = status == DONE && clusters_file(s[0].p->file),
              second = status == DONE && clusters_file(s[1].p->file), clusters = first || second;
    if (clusters && fab_file_kind(s[first].p->file) != FAB_KIND_VECTORS)
        status = say_failed("%s has clusters and %s is a model: they are over different things",
                            file[!first], file[first]);
    if (status == DONE && d->file && !(first && second))
        status = say_wrong("compare: DATA is for two files of clusters, whose clusters of its rows "
                           "are compared; %s has none",
                           file[first]);
    if (status == DONE && !clusters) status = to_user(s, file);
    if (status == DONE && clusters)
        status = compare_clusters(file, s, d, &(fab_exec){.threads = threads}, json);
    if (status == DONE && !clusters) {
        const pair both = {gauss_of(&s[0]), gauss_of(&s[1]), {.threads = threads}};
        status = find_all(&both, all);
        if (status == DONE) status = json ? say_json(all) : say_table(file, &both, all);
    }
    close_side(&s[0]);
    close_side(&s[1]);
    return status;
}

/* No option may be given and mean nothing. */
static int check_data(const data_options *d)
{
    const char *const text[] = {d->rows,    d->only, d->exclude, d->separator,
                                d->decimal, d->na,   d->comment, d->dates};
    int given = d->format != 0;
    for (int i = 0; i < COUNT(text); i++) given |= text[i] != NULL;
    if (given && !d->file)
        return say_wrong("compare: an option says how DATA is read, and there is no DATA");
    struct stat there;
    if (!d->file || data_is_file(d)) return DONE;
    if (strcmp(d->file, "-") != 0 && stat(d->file, &there) != 0)
        return DONE; /* opening it says why */
    return say_wrong("compare: DATA is read twice, and %s is read once",
                     strcmp(d->file, "-") == 0 ? "standard input" : d->file);
}

static int run(const verb *self, int argc, char **argv)
{
    int64_t threads = 0, json = 0;
    data_options d = {0};
    const char *operand[3];
    const option options[] = {
        OPTION_FORMAT(&d.format), OPTION_ROWS(&d.rows),     OPTIONS_COLUMNS(&d.only, &d.exclude),
        OPTIONS_DIALECT(&d),      OPTION_THREADS(&threads), OPTION_JSON(&json)};
    const call_shape shape = {options, COUNT(options), operand, 2, 3, NULL, NULL, NULL};
    int status, operands;
    if (!options_parse(self, &shape, argc, argv, &operands, &status)) return status;
    if (operands > 2) d.file = operand[2];
    status = check_data(&d);
    return status == DONE ? compare(operand, &d, threads, json) : status;
}

const verb verb_compare = {"compare", "A B [DATA]",
                           "distances of A, the estimate, from B, the reference", run};
