/* ask.c - steps driven from outside: the method asks for a loss and its gradient at a theta, the caller tells.
 *
 * The run of the method is a coroutine.  It sees a model whose functions put a question and wait, and a table of
 * `rows` examples that hold nothing but their numbers, so that a batch says which rows it wants.  What the method
 * computes is therefore what it computes in one go, to the bit, when it is told the same numbers.
 *
 *   ask    run until the model is called: hand out its theta and the rows   (or until the end)
 *   tell   keep the answer
 *   ask    the model's function returns with it, and the run goes on
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/rows.h"
#include "fit/fit.h"
#include "la/coroutine.h"
#include "la/ops.h"
#include "model/example_rows.h"
#include <stdio.h>
#include <string.h>

typedef enum where { ASKING, ASKED, TOLD, ENDED } where;

struct fab_drive {
    fab_fit *f;
    fab_model user; /* what the caller described: start, self */
    fab_coroutine *run;
    where where;
    int stop;          /* the handle is being freed */
    fab_status status; /* of the run */
    char detail[1024]; /* its sentence */

    fab_question q;
    int64_t draw;
    double loss;        /* the last answer */
    double *gradient;   /* D */
    double *G;          /* batch x D */
    fab_run la;         /* kernels of the model's type */
    int64_t fresh;      /* 1: G is of the last question, and not yet taken */
    int64_t *row;       /* rows at most: numbers of a batch */
    double *number, *y; /* rows each: the phantom table */
};

/* ---- the model that asks --------------------------------------------------------------------------------- */

static fab_status put_question(fab_drive *d, const double *theta, const fab_examples *e,
                               int gradient, int examples)
{
    for (int64_t i = 0; i < e->x.n; i++) d->row[i] = (int64_t)fab_rows_at(&e->x, i, 0);
    d->q = (fab_question){.theta = theta,
                          .draw = d->draw,
                          .n = e->x.n,
                          .row = d->row,
                          .gradient = gradient,
                          .examples = examples};
    d->where = ASKED;
    fab_coroutine_yield(d->run);
    if (d->stop) return FAB_FAIL(FAB_STOPPED, "%s: stopped", d->f->m->name);
    return FAB_OK;
}

static fab_status loss(void *self, const double *theta, const fab_examples *e, double *out,
                       double *gradient)
{
    fab_drive *d = self;
    const int examples = (d->f->m->takes & FAB_TAKES_EXAMPLES) != 0;
    FAB_TRY(put_question(d, theta, e, gradient != NULL && !examples, examples));
    *out = d->loss;
    if (gradient) memcpy(gradient, d->gradient, (size_t)d->user.D * sizeof *gradient);
    d->fresh = examples;
    return FAB_OK;
}

/* The loss of the same theta and rows has brought them already. */
static fab_status gradients(void *self, const double *theta, const fab_examples *e, void *G,
                            int64_t ld)
{
    fab_drive *d = self;
    const int64_t D = d->user.D;
    if (!d->fresh) FAB_TRY(put_question(d, theta, e, 0, 1));
    for (int64_t i = 0; i < e->x.n; i++) {
        const fab_long to =
            fab_long_vectors((char *)G + (size_t)(i * ld) * d->la.ops->size, D, 1, D);
        d->la.ops->put(&d->la, d->G + i * D, &to);
    }
    d->fresh = 0;
    return FAB_OK;
}

static void at(void *self, int draw)
{
    ((fab_drive *)self)->draw = draw;
}

static void start(void *self, uint64_t seed, double *theta)
{
    const fab_drive *d = self;
    d->user.start(d->user.self, seed, theta);
}

/* ---- the run --------------------------------------------------------------------------------------------- */

static void work(void *ctx)
{
    fab_drive *d = ctx;
    fab_fit *f = d->f;
    const fab_examples table = {.x = {.p = d->number, .type = FAB_F64, .n = f->drive_rows, .ld = 1},
                                .y = d->y};
    const fab_mixture *q;
    d->status = fab_fit_update(f, &table);
    if (d->status == FAB_OK) d->status = fab_fit_result(f, &q);
    if (d->status != FAB_OK) snprintf(d->detail, sizeof d->detail, "%s", fab_detail());
    d->where = ENDED;
}

static void layout(fab_layout *l, void *handle)
{
    fab_drive *d = handle;
    const int64_t rows = d->q.n, examples = d->q.examples ? d->user.batch : 0;
    d->gradient = fab_place(l, d->user.D, sizeof *d->gradient);
    d->G = fab_place(l, examples * d->user.D, sizeof *d->G);
    d->row = fab_place(l, rows, sizeof *d->row);
    d->number = fab_place(l, rows, sizeof *d->number);
    d->y = fab_place(l, rows, sizeof *d->y);
    d->la.work = fab_place(l, (int64_t)d->la.ops->work(d->user.D, 1, 1, 1), 1);
}

fab_status fab_drive_create(fab_drive **d, const fab_method *m, const fab_model *user, int64_t rows,
                            fab_model *model)
{
    const int examples = (m->takes & FAB_TAKES_EXAMPLES) != 0;
    fab_drive proto = {.user = *user, .q = {.n = rows, .examples = examples}}, *new;
    *d = NULL;
    if (!(m->takes & (FAB_TAKES_GRADIENT | FAB_TAKES_EXAMPLES)) || m->streams)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: cannot be driven by ask and tell: it does not work by gradients of "
                        "batches",
                        m->name);
    FAB_TRY(fab_run_init(
        &proto.la, &(fab_exec){.ops = fab_ops_find("cpu", user->type), .threads = 1}, user->type));
    FAB_TRY(fab_build((void **)&new, sizeof proto, &proto, layout));
    new->q = (fab_question){0};
    for (int64_t i = 0; i < rows; i++) new->number[i] = (double)i;
    *model = (fab_model){.D = user->D,
                         .free = user->free,
                         .last = user->last,
                         .head = user->head,
                         .outputs = user->outputs,
                         .linear = user->linear,
                         .batch = user->batch,
                         .type = user->type,
                         .self = new,
                         .loss = loss,
                         .at = at,
                         .start = user->start ? start : NULL,
                         .gradients = examples ? gradients : NULL};
    model->head.D = 1; /* the number of the row */
    *d = new;
    return FAB_OK;
}

void fab_drive_free(fab_drive *d)
{
    if (!d) return;
    if (d->run) {
        d->stop = 1;
        if (d->where != ASKING) /* it has begun: let it come to its end */
            while (fab_coroutine_resume(d->run)) {
            }
        fab_coroutine_free(d->run);
    }
    fab_release(d);
}

/* ---- the public verbs ------------------------------------------------------------------------------------ */

static fab_status check_driven(const fab_fit *f)
{
    if (f->drive) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "%s: ask and tell drive a fit that was created with a number of rows",
                    f->m->name);
}

fab_status fab_fit_ask(fab_fit *f, fab_question *q, int *done)
{
    fab_drive *d = f->drive;
    *q = (fab_question){0};
    *done = 0;
    FAB_TRY(check_driven(f));
    if (d->where == ASKED) { /* the same again */
        *q = d->q;
        return FAB_OK;
    }
    if (!d->run) {
        d->f = f;
        FAB_TRY(fab_coroutine_create(&d->run, work, d));
    }
    if (d->where != ENDED) {
        d->where = TOLD;
        fab_coroutine_resume(d->run);
    }
    if (d->where == ASKED) {
        *q = d->q;
        return FAB_OK;
    }
    if (d->status != FAB_OK) return FAB_FAIL(d->status, "%s", d->detail);
    *done = 1;
    return FAB_OK;
}

/* n rows of the answer as doubles. */
static fab_status take(const fab_drive *d, const fab_rows *from, double *to)
{
    FAB_TRY(fab_rows_check(d->f->m->name, from, d->user.D));
    for (int64_t i = 0; i < from->n; i++) fab_rows_get(from, i, d->user.D, to + i * d->user.D);
    return FAB_OK;
}

fab_status fab_fit_tell(fab_fit *f, const fab_answer *a)
{
    fab_drive *d = f->drive;
    FAB_TRY(check_driven(f));
    if (d->where != ASKED) return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: nothing was asked", f->m->name);
    if ((d->q.gradient && !a->gradient) || (d->q.examples && !a->examples))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the answer lacks the %s that was asked for",
                        f->m->name, d->q.gradient ? "gradient" : "gradients of the examples");
    const int64_t D = d->user.D;
    const fab_rows one = {.p = a->gradient, .type = a->type, .n = 1, .ld = D};
    const fab_rows each = {.p = a->examples, .type = a->type, .n = d->q.n, .ld = a->ld ? a->ld : D};
    if (d->q.gradient) FAB_TRY(take(d, &one, d->gradient));
    if (d->q.examples) FAB_TRY(take(d, &each, d->G));
    d->loss = a->loss; /* one that is not finite is the method's to name */
    d->where = TOLD;
    return FAB_OK;
}
