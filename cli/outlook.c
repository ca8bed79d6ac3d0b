/* outlook.c - predictions of a fitted model for the rows of DATA, piece by piece.
 *
 * SPDX-License-Identifier: MIT */
#include "outlook.h"
#include <inttypes.h>
#include <stdlib.h>

enum { PIECE_NUMBERS = 1 << 21 }; /* of the features read at a time: 16 MB */

typedef struct reading {
    const char *file;
    fab_source *source;
    fab_feed *feed;
    fab_dataset *table;
    int with_target;
    int64_t samples, seed;
} reading;

static int several(const outlook *o)
{
    return o->model.classes > 1;
}

/* ---- room ------------------------------------------------------------------------------------------- */

static int grow(double **p, int64_t numbers)
{
    double *new = realloc(*p, (size_t)numbers * sizeof *new);
    if (new) *p = new;
    return new != NULL;
}

static int make_room(outlook *o, const reading *r, int64_t n)
{
    if (n <= o->room) return DONE;
    const int64_t room = n > 2 * o->room ? n : 2 * o->room;
    int made = !r->with_target || grow(&o->y, room);
    if (several(o))
        made = made && grow(&o->logp, room * o->model.classes);
    else
        made = made && grow(&o->eta, room) && grow(&o->variance, room);
    if (!made) return say_failed("%s: no memory for %" PRId64 " predictions", r->file, n);
    o->room = room;
    return DONE;
}

/* ---- a piece ---------------------------------------------------------------------------------------- */

static fab_status predict(outlook *o, const reading *r)
{
    const fab_dataset *t = r->table;
    const fab_gauss *q = o->linear.q;
    const fab_rows x = {.p = t->x, .type = FAB_F64, .n = t->n, .ld = t->D};
    if (several(o)) /* each row has draws of its own, whatever the pieces */
        return fab_predict_classes(q, &o->linear.model, &x, t->offset, r->samples, r->seed + o->n,
                                   NULL, o->logp + o->n * o->model.classes);
    return fab_predict_eta(q, &o->linear.model, &x, t->offset, NULL, o->eta + o->n,
                           o->variance + o->n);
}

/* From fitting units to the user's. */
static void to_user(outlook *o, const fab_dataset *t)
{
    const fab_scaling *k = o->linear.scaling;
    const double u = k->target_scale;
    for (int64_t i = 0; i < t->n; i++) {
        const int64_t at = o->n + i;
        if (o->eta) o->eta[at] = k->target_mean + u * o->eta[at];
        if (o->variance) o->variance[at] *= u * u;
        if (o->y) o->y[at] = k->target_mean + u * t->y[i];
    }
}

static int take_piece(outlook *o, reading *r)
{
    const fab_dataset *t = r->table;
    const fab_examples e = {
        {.p = t->x, .type = FAB_F64, .n = t->n, .ld = t->D}, t->y, NULL, t->offset};
    const int status = make_room(o, r, o->n + t->n);
    if (status != DONE) return status;
    fab_status s = r->with_target ? fab_examples_check(r->file, &o->linear.model, &e) : FAB_OK;
    if (s == FAB_OK) s = predict(o, r);
    if (s != FAB_OK) return say_status_of(r->file, s);
    to_user(o, t);
    o->n += t->n;
    return DONE;
}

static int next_piece(outlook *o, reading *r)
{
    const int64_t most = PIECE_NUMBERS / r->table->columns;
    fab_dataset_clear(r->table);
    fab_status s = fab_feed_read(r->feed, most > 0 ? most : 1, r->table);
    if (s == FAB_OK) s = fab_scaling_apply(o->linear.scaling, r->table);
    if (s != FAB_OK) return say_status_of(r->file, s);
    return r->table->n > 0 ? take_piece(o, r) : DONE;
}

/* ---- all -------------------------------------------------------------------------------------------- */

static int read_all(outlook *o, reading *r, const data_options *d)
{
    const fab_scaling *k = o->linear.scaling;
    int status = table_open_as(&r->source, d, k);
    if (status != DONE) return status;
    fab_status s = fab_feed_open_as(&r->feed, r->source, k,
                                    r->with_target ? FAB_READ_TARGET : FAB_READ_FEATURES);
    if (s == FAB_OK) s = fab_feed_table(r->feed, &r->table);
    if (s != FAB_OK) return say_status_of(r->file, s);
    while (status == DONE && !fab_feed_at_end(r->feed)) status = next_piece(o, r);
    if (status != DONE) return status;
    o->dropped = r->table->dropped;
    if (o->n == 0) return say_failed("%s: there are no rows", r->file);
    if (o->dropped && !r->with_target)
        return say_failed("%s: offset '%s' is missing in %" PRId64 " rows", r->file, k->offset,
                          o->dropped);
    return DONE;
}

int outlook_open(outlook *o, const char *file, const data_options *d, int with_target,
                 int64_t samples, int64_t seed)
{
    reading r = {.file = d->file, .with_target = with_target, .samples = samples, .seed = seed};
    *o = (outlook){0};
    const fab_status s = fab_posterior_load(&o->posterior, file);
    if (s != FAB_OK) return say_status(s);
    int status = linear_take(&o->linear, file, o->posterior);
    if (status != DONE) return status;
    o->model = o->linear.model;
    if (o->model.likelihood == FAB_GAUSSIAN)
        o->model.beta /= o->linear.scaling->target_scale * o->linear.scaling->target_scale;
    status = read_all(o, &r, d);
    fab_dataset_free(r.table);
    fab_feed_close(r.feed);
    fab_source_close(r.source);
    return status;
}

void outlook_close(outlook *o)
{
    linear_close(&o->linear);
    fab_posterior_free(o->posterior);
    free(o->y);
    free(o->eta);
    free(o->variance);
    free(o->logp);
    *o = (outlook){0};
}
