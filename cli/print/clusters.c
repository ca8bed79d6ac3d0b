/* clusters.c - what is said of clusters, and of rows in them.
 *
 * SPDX-License-Identifier: MIT */
#include "print/clusters.h"
#include "print/convergence.h"
#include "print/csv.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 6, PARTS = 40 }; /* columns and parts that a person sees */

int clusters_failed(const char *who, fab_status s)
{
    if (s == FAB_STOPPED) return say_failed("%s: stopped", who);
    return say_status(s);
}

/* ---- what was found --------------------------------------------------------------------------------- */

static json_t *json_candidates(const fab_clusters *f)
{
    const fab_clusters_candidate *c;
    const int64_t n = fab_clusters_candidates(f, &c);
    json_t *list = json_array();
    for (int64_t i = 0; i < n; i++) {
        json_t *j = json_object();
        json_put(j, "k", json_integer(c[i].G));
        json_put(j, "q", json_integer(c[i].q));
        json_put(j, "loglik_mean", json_number(c[i].loglik_mean));
        json_put(j, "bic", json_number(c[i].bic));
        if (is_finite(c[i].bound)) json_put(j, "bound", json_number(c[i].bound));
        if (c[i].collapsed) json_put(j, "collapsed", json_true());
        json_array_append_new(list, j);
    }
    return list;
}

static json_t *json_parts(const fab_mixture *q)
{
    json_t *list = json_array();
    for (int64_t g = 0; g < q->n; g++) {
        json_t *j = json_object(), *mean = json_array();
        for (int64_t d = 0; d < q->part[g]->D; d++)
            json_array_append_new(mean, json_number(q->part[g]->mu[d]));
        json_put(j, "weight", json_number(q->weight[g]));
        json_put(j, "K", json_integer(q->part[g]->K));
        json_put(j, "mean", mean);
        json_array_append_new(list, j);
    }
    return list;
}

static int say_json(const clusters_summary *s, const fab_clusters_report *r, const fab_mixture *q)
{
    char *text = NULL;
    const fab_method *m = fab_clusters_method(s->f);
    json_t *j = json_object();
    json_put(j, "method", json_text(fab_method_name(m)));
    if (fab_settings_json(fab_method_fields(m), fab_clusters_settings(s->f), &text) == FAB_OK)
        json_put(j, "settings", json_loads(text, 0, NULL));
    fab_text_free(text);
    json_put(j, "D", json_integer(q->part[0]->D));
    json_put(j, "clusters", json_integer(q->n));
    json_put(j, "n", json_integer(r->n));
    json_put(j, "rows", json_integer(r->n - r->before));
    json_put(j, "dropped", json_integer(r->dropped));
    json_put(j, "loglik_mean", json_number(r->loglik_mean));
    json_put(j, "loglik_rows", json_integer(r->loglik_rows));
    json_put(j, "cost", json_number(r->cost));
    json_put(j, "parameters", json_number(r->parameters));
    json_put(j, "bic", json_number(r->bic));
    if (is_finite(r->bound)) json_put(j, "bound", json_number(r->bound));
    json_put(j, "floored", json_integer(r->floored));
    json_put(j, "iterations", json_integer(r->iterations));
    json_put(j, "converged", r->converged < 0 ? json_null() : json_boolean(r->converged));
    json_put(j, "gain", json_number(r->gain));
    json_put(j, "candidates", json_candidates(s->f));
    json_put(j, "parts", json_parts(q));
    json_put(j, "seconds", json_number(r->seconds));
    if (s->output) json_put(j, "output", json_text(s->output));
    return json_say(j);
}

/* The bound decides: what each has found, and that. */
static void print_bounds(const fab_clusters_candidate *c, int64_t n)
{
    printf("\n%8s %8s %14s %14s\n", "clusters", "found", "loglik a row", "bound");
    for (int64_t i = 0; i < n; i++)
        printf("%8" PRId64 " %8" PRId64 " %14.6g %14.8g%s\n", c[i].G, c[i].parts, c[i].loglik_mean,
               c[i].bound, c[i].chosen ? "  <- chosen" : "");
    printf("the bound of the log evidence counts the orders of the clusters, which are as many "
           "optima\n");
}

static void print_candidates(const fab_clusters *f)
{
    const fab_clusters_candidate *c;
    const int64_t n = fab_clusters_candidates(f, &c);
    int64_t collapsed = 0;
    if (!n) return;
    if (is_finite(c[0].bound)) {
        print_bounds(c, n);
        return;
    }
    printf("\n%8s %8s %14s %14s\n", "clusters", "factors", "loglik a row", "BIC");
    for (int64_t i = 0; i < n; i++) {
        printf("%8" PRId64 " %8" PRId64 " %14.6g %14.8g%s%s\n", c[i].G, c[i].q, c[i].loglik_mean,
               c[i].bic, c[i].collapsed ? "  *" : "", c[i].chosen ? "  <- chosen" : "");
        collapsed += c[i].collapsed;
    }
    if (collapsed)
        printf("* a cluster has collapsed on rows that are alike: the likelihood has no upper "
               "limit, and the candidate is "
               "taken only where all are so\n");
}

static void print_parts(const clusters_summary *s, const fab_mixture *q)
{
    const int64_t D = q->part[0]->D, shown = D < SHOWN ? D : SHOWN;
    printf("\ncluster    share  mean of");
    for (int64_t d = 0; d < shown; d++) printf(" %11.11s", one_line(fab_clusters_name(s->f, d)));
    printf(D > shown ? " ..\n" : "\n");
    for (int64_t g = 0; g < q->n && g < PARTS; g++) {
        printf("%7" PRId64 " %8.4f         ", g, q->weight[g]);
        for (int64_t d = 0; d < shown; d++) printf(" %11.5g", q->part[g]->mu[d]);
        putchar('\n');
    }
    if (q->n > PARTS) printf("and %" PRId64 " more; --json has all of them\n", q->n - PARTS);
}

static int say_table(const clusters_summary *s, const fab_clusters_report *r, const fab_mixture *q)
{
    const fab_method *m = fab_clusters_method(s->f);
    char seconds[32];
    printf("%s: %" PRId64 " clusters of %" PRId64 " columns, %" PRId64 " rows, %s\n",
           fab_method_name(m), q->n, q->part[0]->D, r->n,
           human_seconds(r->seconds, seconds, sizeof seconds));
    if (r->dropped) printf("%" PRId64 " rows were left out: a value is missing\n", r->dropped);
    if (is_finite(r->loglik_mean)) printf("log-likelihood %.8g a row", r->loglik_mean);
    if (is_finite(r->loglik_mean) && r->loglik_rows != r->n)
        printf(", of %" PRId64 " rows, each before it was learned", r->loglik_rows);
    if (is_finite(r->bic)) printf("; BIC %.8g with %.0f parameters", r->bic, r->parameters);
    if (is_finite(r->loglik_mean)) putchar('\n');
    if (is_finite(r->bound)) printf("bound of the log evidence %.8g\n", r->bound);
    if (is_finite(r->cost)) printf("sum of squared distances %.8g\n", r->cost);
    if (r->floored)
        printf("%" PRId64 " variances stand at their floor: clusters of rows that are alike\n",
               r->floored);
    convergence_print(
        m, fab_clusters_settings(s->f),
        &(fab_report){.converged = r->converged, .iterations = r->iterations, .gain = r->gain});
    print_candidates(s->f);
    print_parts(s, q);
    if (s->output) printf("\nsaved: %s\n", s->output);
    return DONE;
}

int clusters_say(const clusters_summary *s)
{
    const fab_mixture *q;
    fab_clusters_report r;
    fab_status status = fab_clusters_result(s->f, &q);
    if (status == FAB_OK) status = fab_clusters_report_of(s->f, &r);
    if (status != FAB_OK) return clusters_failed("cluster", status);
    if (s->json) return say_json(s, &r, q);
    return s->quiet ? DONE : say_table(s, &r, q);
}

/* ---- rows in the clusters of a file ------------------------------------------------------------------ */

int clusters_file(const fab_tensors *t)
{
    const char *name = fab_tensors_get(t, "method");
    const fab_method *m = name ? fab_method_find(name) : NULL;
    return m && fab_method_clusters(m);
}

/* A file of clusters with DATA. */
typedef struct opened {
    fab_posterior *p;
    fab_clusters_view *v;
    fab_source *s;
} opened;

static void close_all(opened *o)
{
    fab_source_close(o->s);
    fab_clusters_view_free(o->v);
    fab_posterior_free(o->p);
}

static int open_all(opened *o, const char *file, const data_options *d, int64_t quiet)
{
    progress_open(quiet);
    fab_set_progress(progress_tick, NULL);
    fab_status s = fab_posterior_load(&o->p, file);
    if (s == FAB_OK) s = fab_clusters_view_open(&o->v, file, o->p, NULL);
    return s == FAB_OK ? data_open(&o->s, d) : say_status(s);
}

static int next_rows(const opened *o, fab_clusters_rows *r)
{
    const fab_status s = fab_clusters_view_next(o->v, o->s, r);
    if (s == FAB_MISSING_VALUE) return say_failed("%s; leave the row out", fab_detail());
    return s == FAB_OK ? DONE : clusters_failed("rows", s);
}

static int print_rows(FILE *f, const opened *o, int full, int64_t *n)
{
    const int64_t G = o->p->mix.n, q = fab_clusters_view_factors(o->v);
    fab_clusters_rows r;
    *n = 0;
    int status = next_rows(o, &r); /* before the header, which a refusal shall not leave behind */
    if (status != DONE) return status;
    fputs("cluster", f);
    for (int64_t g = 0; g < G; g++) fprintf(f, ",p_%" PRId64, g);
    fputs(",logdensity", f);
    for (int64_t k = 1; k <= q; k++) fprintf(f, ",z_%" PRId64, k);
    fputc('\n', f);
    for (; status == DONE && r.n > 0 && !ferror(f); status = next_rows(o, &r)) {
        for (int64_t j = 0; j < r.n; j++) {
            fprintf(f, "%" PRId64, r.cluster[j]);
            for (int64_t g = 0; g < G; g++)
                fprintf(f, full ? ",%.17g" : ",%.4g", r.share[j * G + g]);
            fprintf(f, full ? ",%.17g" : ",%.8g", r.density[j]);
            for (int64_t k = 0; k < q; k++)
                fprintf(f, full ? ",%.17g" : ",%.6g", r.scores[j * q + k]);
            fputc('\n', f);
        }
        *n += r.n;
    }
    return status;
}

int clusters_predict(const char *file, const data_options *d, const char *output, int full,
                     int64_t json, int64_t quiet)
{
    opened o = {0};
    csv c;
    int64_t n = 0;
    int status = open_all(&o, file, d, quiet);
    if (status == DONE && output) {
        status = csv_open(&c, output);
        if (status == DONE) status = csv_close(&c, print_rows(c.f, &o, full, &n));
    } else if (status == DONE) {
        status = print_rows(stdout, &o, full, &n);
        if (status == DONE) status = output_flush();
    }
    progress_close();
    if (status == DONE && json) {
        json_t *j = json_object();
        json_put(j, "file", json_text(file));
        json_put(j, "output", json_text(output));
        json_put(j, "n", json_integer(n));
        status = json_say(j);
    }
    close_all(&o);
    return status;
}

/* ---- score ------------------------------------------------------------------------------------------- */

typedef struct answer {
    int64_t n, labelled;
    double loglik, cost, bic, rand, information;
} answer;

/* Labels and clusters of the rows, as they grow. */
typedef struct partitions {
    int64_t n, room;
    int64_t *cluster, *label;
} partitions;

static int grow(partitions *p, int64_t more)
{
    if (p->n + more <= p->room) return DONE;
    p->room = 2 * (p->n + more);
    int64_t *a = realloc(p->cluster, (size_t)p->room * sizeof *a);
    if (a) p->cluster = a;
    int64_t *b = realloc(p->label, (size_t)p->room * sizeof *b);
    if (b) p->label = b;
    return a && b ? DONE : say_failed("out of memory");
}

/* The next n labels of a table of one column, words or whole numbers. */
static int read_labels(fab_source *s, const char *file, int64_t n, int64_t *out)
{
    double x[1024];
    int64_t got;
    const fab_status status = fab_source_next(s, n, x, &got);
    if (status != FAB_OK) return say_status(status);
    if (got != n) return say_failed("%s: has fewer labels than DATA has rows", file);
    for (int64_t j = 0; j < n; j++) {
        out[j] = (int64_t)x[j];
        if ((double)out[j] != x[j])
            return say_failed("%s: label %g is no whole number and no word", file, x[j]);
    }
    return DONE;
}

static int open_labels(fab_source **s, const char *file)
{
    const data_options d = {.file = file, .words = 1};
    const int status = table_open(s, &d);
    if (status != DONE) return status;
    if (fab_source_columns(*s) == 1) return DONE;
    return say_failed("%s: has %" PRId64 " columns, expected one of labels", file,
                      fab_source_columns(*s));
}

static int collect(answer *a, const opened *o, const char *labels)
{
    fab_source *s = NULL;
    partitions p = {0};
    fab_clusters_rows r;
    double x;
    int64_t more = 0;
    int status = labels ? open_labels(&s, labels) : DONE;
    while (status == DONE && (status = next_rows(o, &r)) == DONE && r.n > 0) {
        for (int64_t j = 0; j < r.n; j++) {
            a->loglik += r.density[j];
            a->cost += r.cost[j];
        }
        a->n += r.n;
        if (!labels) continue;
        status = grow(&p, r.n);
        if (status != DONE || !p.cluster || !p.label) break;
        memcpy(p.cluster + p.n, r.cluster, (size_t)r.n * sizeof *p.cluster);
        status = read_labels(s, labels, r.n, p.label + p.n);
        p.n += r.n;
    }
    if (status == DONE && labels && fab_source_next(s, 1, &x, &more) == FAB_OK && more)
        status = say_failed("%s: has more labels than DATA has rows", labels);
    if (status == DONE && a->n == 0) status = say_failed("there are no rows to score");
    if (status == DONE && labels) {
        const fab_status done =
            fab_partitions_compare(p.n, p.label, p.cluster, &a->rand, &a->information);
        a->labelled = 1;
        if (done != FAB_OK) status = say_status(done);
    }
    if (status == DONE) a->bic = fab_clusters_view_bic(o->v, a->loglik, (double)a->n);
    free(p.cluster);
    free(p.label);
    fab_source_close(s);
    return status;
}

static int say_score(const answer *a, int64_t json)
{
    const double mean = a->loglik / (double)a->n;
    if (json) {
        json_t *j = json_object();
        json_put(j, "n", json_integer(a->n));
        json_put(j, "loglik_mean", json_number(mean));
        json_put(j, "cost", json_number(a->cost));
        json_put(j, "bic", json_number(a->bic));
        if (a->labelled) json_put(j, "ari", json_number(a->rand));
        if (a->labelled) json_put(j, "nmi", json_number(a->information));
        return json_say(j);
    }
    printf("%-12s %" PRId64 "\n", "rows", a->n);
    printf("%-12s %.8g a row\n", "loglik", mean);
    printf("%-12s %.8g, the sum of squared distances from the means\n", "cost", a->cost);
    if (is_finite(a->bic)) printf("%-12s %.8g\n", "bic", a->bic);
    if (!a->labelled) return DONE;
    printf("%-12s %.6g, the Rand index with the labels, adjusted for chance\n", "ari", a->rand);
    printf("%-12s %.6g, the information that they share\n", "nmi", a->information);
    return DONE;
}

int clusters_score(const char *file, const data_options *d, int64_t json, int64_t quiet)
{
    opened o = {0};
    answer a = {0};
    data_options rows = *d;
    rows.labels = NULL;
    int status = open_all(&o, file, &rows, quiet);
    if (status == DONE) status = collect(&a, &o, d->labels);
    progress_close();
    close_all(&o);
    return status == DONE ? say_score(&a, json) : status;
}

/* ---- two files on the same rows ------------------------------------------------------------------------ */

/* The cluster of each row: out->cluster, out->n. */
static int clusters_of(const char *file, const fab_posterior *p, const data_options *d,
                       partitions *out)
{
    opened o = {0};
    fab_clusters_rows r;
    const fab_status s = fab_clusters_view_open(&o.v, file, p, NULL);
    int status = s == FAB_OK ? data_open(&o.s, d) : say_status(s);
    while (status == DONE && (status = next_rows(&o, &r)) == DONE && r.n > 0) {
        status = grow(out, r.n);
        if (status != DONE || !out->cluster) break;
        memcpy(out->cluster + out->n, r.cluster, (size_t)r.n * sizeof *out->cluster);
        out->n += r.n;
    }
    close_all(&o); /* o.p is NULL: p is borrowed */
    return status;
}

int clusters_agree(const char *const *file, const fab_posterior *a, const fab_posterior *b,
                   const data_options *d, clusters_agreement *out)
{
    partitions p = {0}, q = {0};
    int status = clusters_of(file[0], a, d, &p);
    if (status == DONE) status = clusters_of(file[1], b, d, &q);
    if (status == DONE && p.n == 0) status = say_failed("%s: there are no rows", d->file);
    if (status == DONE && p.n != q.n)
        status = say_failed("%s: has changed while it was read", d->file);
    if (status == DONE) {
        const fab_status s =
            fab_partitions_compare(p.n, p.cluster, q.cluster, &out->rand, &out->information);
        out->n = p.n;
        if (s != FAB_OK) status = say_status(s);
    }
    free(p.cluster);
    free(p.label);
    free(q.cluster);
    free(q.label);
    return status;
}
