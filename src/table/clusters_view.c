/* clusters_view.c - clusters that were saved: which one a row is in, how sure that is, its density and factors; and how well two
 * partitions agree.
 *
 *   1  log p_g = log w_g + log N(x; mu_g, S_g),  log p = log sum p_g,  share_g = p_g / p
 *   2  cluster = the g of the largest share; of clusters around means the nearest mean, in units of psi
 *   3  adjusted Rand index of two partitions (Hubert and Arabie 1985):  (A - E) / ((B + C) / 2 - E),  A the pairs that are together in
 *      both, B and C those in each, E = B C / all pairs
 *   4  normalised mutual information: I(a; b) over the mean of their entropies
 *
 * SPDX-License-Identifier: MIT */
#include "table/clusters.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/settings.h"
#include "data/source/names.h"
#include "data/source/source.h"
#include "fit/method.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1024 }; /* rows at a time */

struct fab_clusters_view {
    const char *file;
    const fab_posterior *p;
    int64_t D, G, q; /* q: columns of F that all parts have, and are factors; 0: none */
    int nearest;
    double parameters;   /* free ones; NaN: unknown */
    fab_solver **solver; /* G */
    double *x;           /* PIECE x columns */
    int64_t columns;
    double *l, *far, *z; /* PIECE x G, PIECE x G, PIECE x q */
    fab_rows seen;       /* of the last next */
    int64_t *cluster;
    double *density, *cost;
};

/* Factors are those of mfa: fewer than coordinates, and as many in each part. */
static int64_t factors_of(const fab_mixture *m)
{
    const int64_t K = m->part[0]->K;
    for (int64_t g = 0; g < m->n; g++)
        if (m->part[g]->K != K) return 0;
    return K < m->part[0]->D ? K : 0;
}

static fab_status read_method(fab_clusters_view *v)
{
    const char *name = fab_tensors_get(v->p->file, "method"),
               *json = fab_tensors_get(v->p->file, "settings");
    const fab_method *m = name ? fab_method_find(name) : NULL;
    void *settings;
    v->parameters = NAN;
    if (!m || !fab_method_clusters(m)) return FAB_OK;
    v->nearest = fab_clusters_nearest(m);
    FAB_TRY(fab_alloc_array(&settings, 1, m->fields->size, "clusters"));
    fab_settings_defaults(m->fields, settings);
    if (json && fab_settings_from_json(m->fields, settings, json) == FAB_OK)
        v->parameters = fab_clusters_parameters(m, settings, v->G, v->D);
    fab_release(settings);
    return FAB_OK;
}

static fab_status fill(fab_clusters_view *v, const fab_exec *x)
{
    const int64_t G = v->G;
    FAB_TRY(read_method(v));
    FAB_TRY(fab_alloc_array((void **)&v->solver, G, sizeof(fab_solver *), "clusters"));
    memset(v->solver, 0, (size_t)G * sizeof(fab_solver *));
    for (int64_t g = 0; g < G; g++) FAB_TRY(fab_solver_create(&v->solver[g], v->p->mix.part[g], x));
    FAB_TRY(fab_alloc_array((void **)&v->l, PIECE * (2 * G + v->q + 2), sizeof *v->l, "clusters"));
    v->far = v->l + PIECE * G;
    v->z = v->far + PIECE * G;
    v->density = v->z + PIECE * v->q;
    v->cost = v->density + PIECE;
    return fab_alloc_array((void **)&v->cluster, PIECE, sizeof *v->cluster, "clusters");
}

fab_status fab_clusters_view_open(fab_clusters_view **v, const char *file, const fab_posterior *p,
                                  const fab_exec *x)
{
    const fab_mixture *m = &p->mix;
    fab_clusters_view *new;
    *v = NULL;
    for (int64_t g = 0; g < m->n; g++)
        if (m->part[g]->form == FAB_FORM_POINT || m->part[g]->total)
            return FAB_FAIL(FAB_BAD_DATA, "%s: has no clusters of vectors: part %" PRId64 " is %s",
                            file, g,
                            m->part[g]->total ? "over some of its coordinates" : "a point");
    FAB_TRY(fab_alloc_array((void **)&new, 1, sizeof *new, "clusters"));
    *new = (fab_clusters_view){
        .file = file, .p = p, .D = m->part[0]->D, .G = m->n, .q = factors_of(m)};
    const fab_status s = fill(new, x);
    if (s != FAB_OK) {
        fab_clusters_view_free(new);
        return s;
    }
    *v = new;
    return FAB_OK;
}

void fab_clusters_view_free(fab_clusters_view *v)
{
    if (!v) return;
    for (int64_t g = 0; v->solver && g < v->G; g++) fab_solver_free(v->solver[g]);
    fab_release(v->solver);
    fab_release(v->l);
    fab_release(v->cluster);
    fab_release(v->x);
    fab_release(v);
}

int64_t fab_clusters_view_factors(const fab_clusters_view *v)
{
    return v->q;
}

double fab_clusters_view_bic(const fab_clusters_view *v, double loglik, double n)
{
    return -2 * loglik + v->parameters * log(n);
}

/* ---- 1, 2 ------------------------------------------------------------------------------------------- */

static void assign(fab_clusters_view *v, int64_t n)
{
    const int64_t G = v->G;
    for (int64_t j = 0; j < n; j++) {
        double *l = v->l + j * G, high = -INFINITY, sum = 0;
        int64_t best = 0;
        for (int64_t g = 0; g < G; g++) high = l[g] > high ? l[g] : high;
        for (int64_t g = 0; g < G; g++) {
            if (v->nearest ? v->far[j * G + g] < v->far[j * G + best] : l[g] > l[best]) best = g;
            sum += high > -INFINITY ? exp(l[g] - high) : 1;
        }
        v->density[j] = high + log(sum > 0 ? sum : 1);
        for (int64_t g = 0; g < G; g++) l[g] = high > -INFINITY ? exp(l[g] - high) / sum : 1 / sum;
        v->cluster[j] = best;
    }
}

fab_status fab_clusters_view_assign(fab_clusters_view *v, const fab_rows *x, fab_clusters_rows *r)
{
    const int64_t n = x->n, G = v->G;
    if (n > PIECE)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: %" PRId64 " rows at a time, expected %d at most",
                        v->file, n, PIECE);
    for (int64_t g = 0; g < G; g++) {
        FAB_TRY(fab_solver_logpdf(v->solver[g], x, v->density));
        if (v->nearest) FAB_TRY(fab_solver_mahalanobis(v->solver[g], x, v->cost));
        for (int64_t j = 0; j < n; j++) {
            v->l[j * G + g] = log(v->p->mix.weight[g]) + v->density[j];
            v->far[j * G + g] = v->cost[j];
        }
    }
    assign(v, n);
    for (int64_t j = 0; j < n; j++) {
        const fab_gauss *part = v->p->mix.part[v->cluster[j]];
        v->cost[j] = 0;
        for (int64_t d = 0; d < v->D; d++) {
            const double e = fab_rows_at(x, j, d) - part->mu[d];
            v->cost[j] += e * e;
        }
        const fab_rows one = fab_rows_part(x, j, 1);
        if (v->q) FAB_TRY(fab_solver_scores(v->solver[v->cluster[j]], NULL, &one, v->z + j * v->q));
    }
    *r = (fab_clusters_rows){n, G, v->q, v->cluster, v->l, v->density, v->q ? v->z : NULL, v->cost};
    return FAB_OK;
}

fab_status fab_clusters_view_next(fab_clusters_view *v, fab_source *s, fab_clusters_rows *r)
{
    const int64_t label = fab_source_format(s) == FAB_FORMAT_LIBSVM,
                  columns = fab_source_columns(s);
    int64_t got = 0;
    *r = (fab_clusters_rows){0};
    if (columns - label != v->D)
        return FAB_FAIL(FAB_BAD_DATA,
                        "%s has D = %" PRId64 " coordinates and %s has D = %" PRId64 "%s", v->file,
                        v->D, s->in.name, columns - label,
                        columns - label > v->D ? "; --exclude leaves columns out" : "");
    FAB_TRY(fab_source_names_check(s, label, -1, v->file, fab_tensors_get(v->p->file, "features")));
    if (!v->x || v->columns != columns) {
        fab_release(v->x);
        v->x = NULL;
        FAB_TRY(fab_alloc_array((void **)&v->x, PIECE * columns, sizeof *v->x, "rows"));
        v->columns = columns;
    }
    FAB_TRY(fab_source_next(s, PIECE, v->x, &got));
    v->seen = (fab_rows){.p = v->x + label, .type = FAB_F64, .n = got, .ld = columns};
    return got ? fab_clusters_view_assign(v, &v->seen, r) : FAB_OK;
}

fab_rows fab_clusters_view_rows(const fab_clusters_view *v)
{
    return v->seen;
}

/* ---- 3, 4 ------------------------------------------------------------------------------------------- */

typedef struct pair {
    int64_t a, b;
} pair;

static int by_both(const void *x, const void *y)
{
    const pair *p = x, *q = y;
    if (p->a != q->a) return p->a < q->a ? -1 : 1;
    if (p->b != q->b) return p->b < q->b ? -1 : 1;
    return 0;
}

static int by_second(const void *x, const void *y)
{
    const pair *p = x, *q = y;
    return p->b < q->b ? -1 : p->b > q->b;
}

static double pairs_of(double n)
{
    return n * (n - 1) / 2;
}

/* Sums over the runs of equal elements of a sorted list: pairs, and -sum (c / n) log (c / n). */
static void count_runs(const pair *p, int64_t n, int which, double *pairs, double *entropy)
{
    *pairs = *entropy = 0;
    for (int64_t i = 0, j; i < n; i = j) {
        for (j = i + 1; j < n; j++) {
            const int same = which == 2 ? p[i].b == p[j].b
                                        : p[i].a == p[j].a && (which == 1 || p[i].b == p[j].b);
            if (!same) break;
        }
        const double c = (double)(j - i), share = c / (double)n;
        *pairs += pairs_of(c);
        *entropy -= share * log(share);
    }
}

fab_status fab_partitions_compare(int64_t n, const int64_t *a, const int64_t *b, double *rand,
                                  double *information)
{
    pair *p;
    double both, first, second, joint, one, other;
    if (n < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "two partitions of %" PRId64 " rows, expected at least 1",
                        n);
    FAB_TRY(fab_alloc_array((void **)&p, n, sizeof *p, "partitions"));
    for (int64_t i = 0; i < n; i++) p[i] = (pair){a[i], b[i]};
    qsort(p, (size_t)n, sizeof *p, by_both);
    count_runs(p, n, 0, &both, &joint);
    count_runs(p, n, 1, &first, &one);
    qsort(p, (size_t)n, sizeof *p, by_second);
    count_runs(p, n, 2, &second, &other);
    fab_release(p);
    const double all = pairs_of((double)n), expected = all > 0 ? first * second / all : 0;
    const double most = (first + second) / 2;
    *rand = most == expected ? 1 : (both - expected) / (most - expected); /* 3 */
    const double mean = (one + other) / 2, mutual = one + other - joint;
    *information = mean > 0 ? (mutual > 0 ? mutual : 0) / mean : 1; /* 4 */
    return FAB_OK;
}
