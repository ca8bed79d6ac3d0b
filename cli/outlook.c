/* outlook.c - predictions of a fitted model for the rows of DATA, piece by piece.
 *
 * SPDX-License-Identifier: MIT */
#include "outlook.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    PIECE_NUMBERS =
        1 << 21,  /* of the features read, and of draws of predictors, at a time: 16 MB */
    SAMPLES = 100 /* of a network */
};

typedef struct reading {
    const char *file;
    const outlook_options *how;
    fab_source *source, *labels;
    fab_feed *feed;
    fab_dataset *table;
} reading;

static int several(const outlook *o)
{
    return o->model.classes > 1;
}

/* Numbers or counts of a network: mixtures, which two numbers do not describe. */
static int by_draws(const outlook *o)
{
    return o->net && o->model.likelihood != FAB_LIKELIHOOD_BERNOULLI && !several(o);
}

/* ---- room ------------------------------------------------------------------------------------------- */

static int grow(void *p, int64_t count, size_t size)
{
    void *new = realloc(*(void **)p, (size_t)count * size);
    if (new) *(void **)p = new;
    return new != NULL;
}

static int make_room(outlook *o, const reading *r, int64_t n)
{
    if (n <= o->room) return DONE;
    const int64_t room = n > 2 * o->room ? n : 2 * o->room;
    int made = !r->how->with_target || grow(&o->y, room, sizeof *o->y);
    if (several(o))
        made = made && grow(&o->logp, room * o->model.classes, sizeof *o->logp);
    else if (by_draws(o))
        made = made && grow(&o->p, room, sizeof *o->p);
    else
        made = made && grow(&o->eta, room, sizeof *o->eta) &&
               grow(&o->variance, room, sizeof *o->variance);
    if (!made) return say_failed("%s: no memory for %" PRId64 " predictions", r->file, n);
    o->room = room;
    return DONE;
}

/* ---- a piece of a linear model ------------------------------------------------------------------------ */

static fab_status predict_linear(outlook *o, const reading *r, const fab_rows *x)
{
    const fab_gauss *q = o->linear.q;
    const double *offset = r->table->offset;
    if (several(o)) /* each row has draws of its own, whatever the pieces */
        return fab_predict_classes(q, &o->linear.model, x, offset, r->how->samples,
                                   r->how->seed + o->n, NULL, o->logp + o->n * o->model.classes);
    const fab_status s =
        fab_predict_eta(q, &o->linear.model, x, offset, NULL, o->eta + o->n, o->variance + o->n);
    if (s == FAB_OK)
        fab_predict_to_units(o->scaling->target_mean, o->scaling->target_scale, x->n, o->eta + o->n,
                             o->variance + o->n);
    return s;
}

/* ---- a piece of a network ------------------------------------------------------------------------------ */

static void add_scores(fab_scores *sum, const fab_scores *s)
{
    const double n = (double)s->n;
    sum->n += s->n;
    sum->nll += n * s->nll;
    sum->rmse += n * s->rmse * s->rmse;
    sum->mae += n * s->mae;
    sum->crps += n * s->crps;
    sum->coverage50 += n * s->coverage50;
    sum->coverage90 += n * s->coverage90;
    sum->coverage95 += n * s->coverage95;
    sum->dispersion += n * s->dispersion;
}

static fab_status take_draws(outlook *o, const reading *r, fab_draws *d)
{
    fab_scores s;
    fab_draws_to_units(d, o->scaling->target_mean, o->scaling->target_scale);
    for (int64_t i = 0; i < d->n; i++) {
        const int64_t at = o->n + i;
        if (several(o))
            fab_draws_classes(d, i, o->logp + at * o->model.classes);
        else if (by_draws(o))
            fab_draws_predict(d, i, &o->p[at]);
        else { /* two classes: the predictor that gives this probability */
            double logp[2];
            fab_draws_classes(d, i, logp);
            o->eta[at] = logp[1] - logp[0];
            o->variance[at] = 0;
        }
    }
    if (!r->how->with_target || !by_draws(o)) return FAB_OK;
    const fab_status scored = fab_draws_score(d, o->y + o->n, &s);
    if (scored == FAB_OK) add_scores(&o->sum, &s);
    return scored;
}

static fab_status predict_net(outlook *o, const reading *r, const fab_rows *x)
{
    fab_draws *d;
    const fab_model *m = fab_net_model(o->net);
    const fab_mixture *q = &o->posterior->mix;
    const double *offset = r->table->offset;
    const int64_t samples = r->how->samples ? r->how->samples : SAMPLES;
    fab_status s = r->how->linearised ? fab_draws_linearise(&d, m, q, x, offset, NULL)
                                      : fab_draws_create(&d, m, q, x, offset, samples,
                                                         (uint64_t)r->how->seed, NULL);
    if (s != FAB_OK) return s;
    s = take_draws(o, r, d);
    fab_draws_free(d);
    return s;
}

/* ---- pieces -------------------------------------------------------------------------------------------- */

static int take_piece(outlook *o, reading *r)
{
    const fab_dataset *t = r->table;
    const fab_scaling *k = o->scaling;
    const fab_rows x = fab_dataset_rows(t);
    const fab_examples e = {x, t->y, NULL, t->offset};
    const int status = make_room(o, r, o->n + t->n);
    if (status != DONE) return status;
    fab_status s = r->how->with_target ? fab_examples_check(r->file, &o->model, &e) : FAB_OK;
    for (int64_t i = 0; o->y && i < t->n; i++)
        o->y[o->n + i] = k->target_mean + k->target_scale * t->y[i];
    if (s == FAB_OK) s = o->net ? predict_net(o, r, &x) : predict_linear(o, r, &x);
    if (s != FAB_OK) return say_status_of(r->file, s);
    o->n += t->n;
    return DONE;
}

static int64_t piece_rows(const outlook *o, const reading *r)
{
    const int64_t samples = r->how->samples ? r->how->samples : SAMPLES,
                  draws = o->net ? samples * o->model.classes : 0;
    const int64_t numbers = draws > r->table->columns ? draws : r->table->columns;
    return PIECE_NUMBERS / numbers > 0 ? PIECE_NUMBERS / numbers : 1;
}

static int next_piece(outlook *o, reading *r)
{
    fab_dataset_clear(r->table);
    fab_status s = fab_feed_read(r->feed, piece_rows(o, r), r->table);
    if (s == FAB_OK) s = fab_scaling_apply(o->scaling, r->table);
    if (s != FAB_OK) return say_status_of(r->file, s);
    return r->table->n > 0 ? take_piece(o, r) : DONE;
}

static int read_all(outlook *o, reading *r, const data_options *d)
{
    const fab_scaling *k = o->scaling;
    int status = table_open_as(&r->source, d, k);
    if (status != DONE) return status;
    const int target = r->how->with_target && !d->labels;
    fab_status s =
        fab_feed_open_as(&r->feed, r->source, k, target ? FAB_READ_TARGET : FAB_READ_FEATURES);
    if (s != FAB_OK) return say_status_of(r->file, s);
    status = labels_open(&r->labels, r->feed, d);
    if (status != DONE) return status;
    s = fab_feed_table(r->feed, &r->table);
    if (s != FAB_OK) return say_status_of(r->file, s);
    while (status == DONE && !fab_feed_at_end(r->feed)) status = next_piece(o, r);
    if (status != DONE) return status;
    o->dropped = r->table->dropped;
    if (o->n == 0) return say_failed("%s: there are no rows", r->file);
    if (o->dropped && !r->how->with_target)
        return say_failed("%s: offset '%s' is missing in %" PRId64 " rows", r->file, k->offset,
                          o->dropped);
    return DONE;
}

/* ---- the file ------------------------------------------------------------------------------------------- */

static int take_net(outlook *o, const char *file)
{
    const fab_tensors *t = o->posterior->file;
    const char *scaling = fab_tensors_get(t, "scaling");
    if (!scaling) return say_failed("%s: is a network without a scaling", file);
    fab_status s = fab_net_from_json(&o->net, fab_tensors_get(t, "model"), 0, NULL);
    if (s == FAB_OK) s = fab_scaling_from_json(&o->net_scaling, scaling);
    if (s != FAB_OK) return say_status_of(file, s);
    o->scaling = o->net_scaling;
    o->model = fab_net_model(o->net)->head;
    const int64_t levels = o->model.likelihood == FAB_LIKELIHOOD_BERNOULLI ? 2
                           : several(o)                                    ? o->model.classes
                                                                           : 0;
    if (o->scaling->D != o->model.D || o->scaling->levels != levels)
        return say_failed("%s: its network and its scaling do not belong together", file);
    return DONE;
}

static int take_linear(outlook *o, const char *file)
{
    const int status = linear_take(&o->linear, file, o->posterior);
    if (status != DONE) return status;
    o->scaling = o->linear.scaling;
    o->model = o->linear.model;
    if (o->model.likelihood == FAB_LIKELIHOOD_GAUSSIAN)
        o->model.beta /= o->scaling->target_scale * o->scaling->target_scale;
    return DONE;
}

/* No option may be given and mean nothing. */
static int check_options(const outlook *o, const outlook_options *how)
{
    if (how->linearised && !o->net)
        return say_wrong("--linearised is for networks: a linear model needs no draws");
    if (how->linearised && how->samples)
        return say_wrong("--linearised predicts without draws, and --samples asks for some");
    if (how->samples && !o->net && !several(o))
        return say_wrong(
            "--samples is for networks and for several classes: this model needs no draws");
    return DONE;
}

/* The curvature of laplace is that of the network made linear: unless draws are asked for, so are its predictions. */
static int by_slope(const outlook *o, const outlook_options *how)
{
    const char *method = fab_tensors_get(o->posterior->file, "method");
    if (!o->net || how->samples) return 0;
    return how->linearised || (method && strcmp(method, "laplace") == 0);
}

int outlook_open(outlook *o, const char *file, const data_options *d, const outlook_options *how)
{
    outlook_options chosen = *how;
    reading r = {.file = d->file, .how = &chosen};
    *o = (outlook){0};
    const fab_status s = fab_posterior_load(&o->posterior, file);
    if (s != FAB_OK) return say_status(s);
    const char *model = fab_tensors_get(o->posterior->file, "model");
    int status = model && strstr(model, "\"network\"") ? take_net(o, file) : take_linear(o, file);
    if (status == DONE) status = check_options(o, how);
    chosen.linearised = by_slope(o, how);
    if (status == DONE) status = read_all(o, &r, d);
    fab_dataset_free(r.table);
    fab_feed_close(r.feed);
    fab_source_close(r.source);
    fab_source_close(r.labels);
    return status;
}

void outlook_close(outlook *o)
{
    linear_close(&o->linear);
    fab_net_free(o->net);
    fab_scaling_free(o->net_scaling);
    fab_posterior_free(o->posterior);
    free(o->y);
    free(o->eta);
    free(o->variance);
    free(o->logp);
    free(o->p);
    *o = (outlook){0};
}
