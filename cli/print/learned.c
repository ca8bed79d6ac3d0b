/* learned.c - what a regression says when it is made.
 *
 * SPDX-License-Identifier: MIT */
#include "print/learned.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    NAMED = 10,    /* columns that hardly vary, named for a person */
    CLASSES = 1000 /* the most a target has */
};

typedef struct found {
    const fab_gauss *q;
    fab_glm model;
    fab_inference r;
    double loglik, seconds;
    int guessed;
} found;

static double dot_row(const fab_dataset *t, int64_t i, const double *theta)
{
    const fab_sparse *r = &t->cells;
    double sum = 0;
    for (int64_t d = 0; d < t->D && !t->packed; d++) sum += t->x[i * t->D + d] * theta[d];
    for (int64_t k = t->packed ? r->start[i] : 0; t->packed && k < r->start[i + 1]; k++)
        sum += r->value[k] * theta[r->index[k]];
    return sum;
}

/* Mean log p(y | x, the posterior mean) of the table of a batch method, in the user's units. */
static double loglik_mean(const learning *l, const found *f)
{
    const fab_dataset *t = l->table;
    const fab_glm *m = &f->model;
    const int64_t width = m->D + m->intercept;
    double sum = 0, eta[CLASSES];
    if (l->net) return -f->r.loss - log(l->scaling->target_scale); /* in the last epoch */
    if (l->method->streams || m->classes > CLASSES) return NAN;
    for (int64_t i = 0; i < t->n; i++) {
        for (int64_t c = 0; c < m->classes; c++) {
            const double *theta = f->q->mu + c * width;
            eta[c] = (m->intercept ? theta[m->D] : 0) + (t->offset ? t->offset[i] : 0);
            eta[c] += dot_row(t, i, theta);
        }
        sum += fab_glm_loglik(m, t->y[i], eta, NULL, NULL);
    }
    return sum / (double)t->n - log(l->scaling->target_scale);
}

/* ---- for programs ------------------------------------------------------------------------------------ */

static json_t *json_settings(const learning *l, const fab_inference *r)
{
    char *text = NULL;
    fab_glm_settings *s = learning_glm(l);
    if (s && !(s->alpha > 0) && r->alpha > 0) s->alpha = r->alpha; /* as chosen */
    if (s && !(s->beta > 0) && r->beta > 0 && s->likelihood == FAB_LIKELIHOOD_GAUSSIAN)
        s->beta = r->beta;
    const void *in_force = s ? l->settings : fab_infer_settings(l->infer);
    if (fab_settings_json(l->method->table, in_force, &text) != FAB_OK) return json_null();
    json_t *j = json_loads(text, 0, NULL);
    fab_text_free(text);
    return j ? j : json_null();
}

/* A network in its own words. */
static void put_net(json_t *j, const learning *l, const found *f)
{
    char *text = NULL;
    if (!l->net || fab_net_text(l->net, &text) != FAB_OK) return;
    json_put(j, "model", json_text(text));
    json_put(j, "parameters", json_integer(fab_net_model(l->net)->D));
    json_put(j, "held_out", json_number(f->r.held_out));
    json_put(j, "noise_floor", l->floor > 0 ? json_number(l->floor) : json_null());
    json_put(j, "noise_density", l->density != 0 ? json_number(l->density) : json_null());
    fab_text_free(text);
}

static void put_rows(json_t *j, const learning *l, const found *f)
{
    const char *verdict = order_verdict(&l->order);
    json_put(j, "n", json_integer(f->r.n));
    json_put(j, "rows", json_integer(l->rows));
    json_put(j, "dropped", json_integer(l->dropped));
    json_put(j, "order", verdict ? json_text(verdict) : json_null());
}

static int say_json(const learning *l, const found *f)
{
    json_t *j = json_object(), *names = json_array();
    for (int64_t i = 0; i < l->constants; i++)
        json_array_append_new(names, json_text(l->constant[i]));
    json_put(j, "method", json_text(l->method->name));
    json_put(j, "settings", json_settings(l, &f->r));
    json_put(j, "likelihood", json_text(fab_likelihood_name(f->model.likelihood)));
    json_put(j, "guessed", json_boolean(f->guessed));
    json_put(j, "target", json_text(l->scaling->target));
    json_put(j, "D", json_integer(f->model.D));
    json_put(j, "K", json_integer(f->q->K));
    put_rows(j, l, f);
    json_put(j, "alpha", json_number(f->r.alpha));
    json_put(j, "beta", json_number(f->r.beta));
    json_put(j, "log_evidence", json_number(f->r.log_evidence));
    json_put(j, "loglik_mean", json_number(f->loglik));
    put_net(j, l, f);
    json_put(j, "floored", json_integer(f->r.floored));
    json_put(j, "iterations", json_integer(f->r.iterations));
    json_put(j, "converged", f->r.converged < 0 ? json_null() : json_boolean(f->r.converged));
    json_put(j, "constant_names", names);
    json_put(j, "output", l->output ? json_text(l->output) : json_null());
    json_put(j, "bytes", json_number(l->needed));
    json_put(j, "seconds", json_number(f->seconds));
    json_put(j, "rows_per_s", json_number((double)l->rows / f->seconds));
    return json_say(j);
}

/* ---- for people -------------------------------------------------------------------------------------- */

static int is_count(double y)
{
    return y >= 0 && y == floor(y);
}

/* Could a target that is taken for a number be counts? */
static int could_count(const learning *l, const found *f)
{
    const fab_dataset *t = l->table;
    int counts = f->guessed && f->model.likelihood == FAB_LIKELIHOOD_GAUSSIAN && t->n > 0;
    for (int64_t i = 0; i < t->n && counts; i++) {
        const double y = l->scaling->target_mean + l->scaling->target_scale * t->y[i];
        counts = is_count(nearbyint(y)) && fabs(y - nearbyint(y)) < 1e-9 * (1 + fabs(y));
    }
    return counts;
}

static void say_numbers(const found *f)
{
    if (f->r.alpha > 0) printf("alpha = %.4g, ", f->r.alpha);
    if (f->model.likelihood == FAB_LIKELIHOOD_GAUSSIAN) printf("beta = %.4g, ", f->r.beta);
    if (isfinite(f->r.log_evidence)) printf("log evidence = %.6g, ", f->r.log_evidence);
    printf("in fitting units");
    if (isfinite(f->loglik)) printf("; log-likelihood per row = %.6g", f->loglik);
    printf("\n");
}

static void say_net(const learning *l, const found *f)
{
    char *text = NULL;
    if (!l->net || fab_net_text(l->net, &text) != FAB_OK) return;
    printf("%s: %" PRId64 " parameters, %" PRId64 " epochs", text, fab_net_model(l->net)->D,
           f->r.iterations);
    if (isfinite(f->r.held_out)) printf(", held-out loss %.5g", f->r.held_out);
    printf("\n");
    if (l->density != 0)
        printf("noise at least %.5g: rows left out have a mean log density of %.5g\n", l->floor,
               l->density);
    fab_text_free(text);
}

static int is_number(const char *word)
{
    char *end;
    strtod(word, &end);
    return end > word && *end == '\0';
}

/* A word among numbers is more often a slip than a category. */
static void say_words(const learning *l)
{
    for (int64_t c = 0; c < l->table->columns; c++) {
        const fab_words *w = &l->table->words[c];
        const char *odd = NULL;
        int64_t numbers = 0;
        for (int64_t i = 0; i < w->n; i++) {
            const int number = is_number(w->word[i]);
            numbers += number;
            if (!number && !odd) odd = w->word[i];
        }
        if (odd && 2 * numbers > w->n)
            printf("'%s' is read as words, one feature each, because '%s' is not a number\n",
                   l->table->name[c], odd);
    }
}

/* Settings that were auto, as the method chose them for the model. */
static void say_chosen(const learning *l)
{
    const fab_fields *t = l->method->table;
    const void *chosen = fab_infer_settings(l->infer);
    const char *lead = "chosen: ";
    for (int64_t i = 0; i < t->n; i++) {
        char was[64], is[64];
        fab_settings_print(&t->field[i], l->settings, was, sizeof was);
        fab_settings_print(&t->field[i], chosen, is, sizeof is);
        if (strcmp(was, is) == 0) continue;
        printf("%s%s = %s", lead, t->field[i].name, is);
        lead = ", ";
    }
    if (lead[0] == ',') printf("\n");
}

static int say_table(const learning *l, const found *f)
{
    const char *verdict = order_verdict(&l->order);
    if (l->quiet) return DONE;
    printf("%s of '%s' (%s%s) on %" PRId64 " features, %" PRId64 " rows, %.3g s\n", l->method->name,
           l->scaling->target, fab_likelihood_name(f->model.likelihood),
           f->guessed ? ", guessed from its values" : "", f->model.D, f->r.n, f->seconds);
    say_net(l, f);
    say_chosen(l);
    if (could_count(l, f))
        printf("whole numbers: if '%s' counts, say --likelihood poisson\n", l->scaling->target);
    say_words(l);
    say_numbers(f);
    if (l->dropped) printf("%" PRId64 " rows were left out: a value is missing\n", l->dropped);
    if (verdict) printf("%s: a single pass learns better from shuffled rows\n", verdict);
    if (f->r.converged == 0)
        printf("not converged after %" PRId64 " iterations\n", f->r.iterations);
    for (int64_t i = 0; i < l->constants && i < NAMED; i++)
        printf("'%s' hardly varies: its coefficient is left to the prior\n", l->constant[i]);
    return DONE;
}

int learned_say(const learning *l, int guessed, int64_t json)
{
    found f = {.guessed = guessed};
    fab_status s = fab_infer_result(l->infer, &f.q);
    if (s == FAB_OK) s = fab_infer_model(l->infer, &f.model);
    if (s == FAB_OK) s = fab_infer_report(l->infer, &f.r);
    if (s != FAB_OK) return say_status_of(l->data.file, s);
    f.loglik = loglik_mean(l, &f);
    f.seconds = fab_clock() - l->start;
    progress_close();
    return json ? say_json(l, &f) : say_table(l, &f);
}
