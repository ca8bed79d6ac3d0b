/* ask.c - steps driven from outside: the method asks for numbers of a model at a theta, the caller tells.
 *
 * The run of the method is a coroutine.  It sees a model whose functions put a question and wait, and a table of
 * `rows` examples that hold nothing but their numbers (and their targets, where the method wants these), so that a
 * batch says which rows it wants.  What the method computes is therefore what it computes in one go, to the bit, when it
 * is told the same numbers.
 *
 *   ask    run until the model is called: hand out its theta and the rows   (or until the end)
 *   tell   keep the answer
 *   ask    the model's function returns with it, and the run goes on
 *   withdraw   the model's function returns FAB_STOPPED, and the run leaves the step undone
 *   save   after a tell: the same, but the next question is answered by FAB_STOPPED, so that the method leaves its
 *          state as after a stop; the next ask begins a new coroutine that goes on from there
 *
 * A linear model is no functions but rows.  They are in its Jacobian: ask for some, feed them to the stream, go on.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "fit/fit.h"
#include "la/coroutine.h"
#include "la/ops.h"
#include "model/net/examples.h"
#include <stdio.h>
#include <string.h>

enum { CHUNK_NUMBERS = 1 << 20 }; /* of a Jacobian asked for at a time, or those of one row */

typedef enum where { ASKING, ASKED, TOLD, ENDED } where;

struct fab_drive {
    fab_fit *f;
    fab_model user; /* what the caller described: start, self */
    int64_t asks;   /* fab_asks */
    int linear;     /* the rows of a linear model, through their Jacobian */
    fab_run la;     /* kernels of the model's type */
    fab_run far;    /* kernels of the fit, where they have memory of their own */
    void *block;    /* their workspace */
    void *to;       /* where the gradient goes */

    fab_coroutine *run;
    where where;
    int running;       /* the coroutine has control */
    int stop;          /* the next question is not put: leave */
    fab_status status; /* of the run */
    fab_sentence why;  /* its sentence */

    int64_t rows,
        chunk; /* examples there are; of which a question has one each at most, but for the loss */
    fab_examples table; /* their numbers, y, weight, offset */
    double *number, *y; /* rows each: of the table; y where the caller has none */

    fab_question q;
    int64_t *row; /* rows at most: numbers of a batch */
    int draw;

    struct { /* the last answer */
        double loss;
        double *gradient;    /* D */
        double *G;           /* chunk x D */
        double *outputs, *J; /* chunk x outputs; chunk outputs x D */
        int has_G, has_J;    /* 1: of the last question, and not yet taken */
    } answer;
    double *x; /* chunk x features: rows of a linear model */
};

/* ---- the model that asks --------------------------------------------------------------------------------- */

/* Hand out `what`, about the rows x at theta, and wait. */
static fab_status put_question(fab_drive *d, const double *theta, const fab_rows *x,
                               fab_question what)
{
    if (d->stop) return FAB_FAIL(FAB_STOPPED, "%s: stopped", d->f->m->name);
    for (int64_t i = 0; i < x->n; i++) d->row[i] = (int64_t)fab_rows_at(x, i, 0);
    d->q = what;
    d->q.theta = theta;
    d->q.draw = d->draw;
    d->q.n = x->n;
    d->q.row = d->row;
    d->answer.has_G = d->answer.has_J = 0;
    d->where = ASKED;
    fab_coroutine_yield(d->run);
    if (d->where == ASKED) return FAB_FAIL(FAB_STOPPED, "%s: stopped", d->f->m->name);
    return FAB_OK;
}

/* n rows of an answer become rows of the model's type. */
static void put_rows(const fab_drive *d, const double *from, int64_t n, void *to, int64_t ld)
{
    const int64_t D = d->user.D;
    for (int64_t i = 0; i < n; i++) {
        const fab_long row =
            fab_long_vectors((char *)to + (size_t)(i * ld) * d->la.ops->size, D, 1, D);
        d->la.ops->put(&d->la, from + i * D, &row);
    }
}

/* A method of gradients of single examples has them with the loss. */
static fab_status loss(void *self, const double *theta, const fab_examples *e, double *out,
                       double *gradient)
{
    fab_drive *d = self;
    const int examples = !(d->asks & FAB_ASKS_GRADIENT);
    FAB_TRY(put_question(
        d, theta, &e->x,
        (fab_question){.loss = 1, .gradient = gradient && !examples, .examples = examples}));
    *out = d->answer.loss;
    if (gradient) memcpy(gradient, d->answer.gradient, (size_t)d->user.D * sizeof *gradient);
    return FAB_OK;
}

static fab_status loss_there(void *self, const void *theta, const fab_examples *e, double *out,
                             void *gradient)
{
    fab_drive *d = self;
    d->to = gradient;
    FAB_TRY(put_question(
        d, NULL, &e->x,
        (fab_question){.loss = 1, .gradient = 1, .there = theta, .there_type = d->far.ops->type}));
    *out = d->answer.loss;
    return FAB_OK;
}

static fab_status gradients(void *self, const double *theta, const fab_examples *e, void *G,
                            int64_t ld)
{
    fab_drive *d = self;
    const double *y = d->asks & FAB_ASKS_OUTPUTS ? e->y : NULL; /* drawn by the method */
    if (!d->answer.has_G)
        FAB_TRY(put_question(d, theta, &e->x, (fab_question){.examples = 1, .y = y}));
    d->answer.has_G = 0;
    put_rows(d, d->answer.G, e->x.n, G, ld);
    return FAB_OK;
}

static fab_status predict(void *self, const double *theta, const fab_rows *x, double *out)
{
    fab_drive *d = self;
    FAB_TRY(put_question(d, theta, x, (fab_question){.outputs = 1}));
    memcpy(out, d->answer.outputs, (size_t)(x->n * d->user.outputs) * sizeof *out);
    return FAB_OK;
}

static fab_status jacobian(void *self, const double *theta, const fab_rows *x, void *J, int64_t ld)
{
    fab_drive *d = self;
    if (!d->answer.has_J) FAB_TRY(put_question(d, theta, x, (fab_question){.jacobian = 1}));
    d->answer.has_J = 0;
    put_rows(d, d->answer.J, x->n * d->user.outputs, J, ld);
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

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The rows that are left, from the Jacobian of the predictors: the first of a row has its features. */
static fab_status feed_linear(fab_drive *d)
{
    fab_fit *f = d->f;
    const int64_t D = d->user.D, features = d->user.head.D, C = d->user.outputs;
    while (f->n < d->rows) {
        fab_examples part = fab_examples_part(&d->table, f->n, least(d->rows - f->n, d->chunk));
        const double *zero = d->answer.gradient; /* nobody has told one */
        FAB_TRY(put_question(d, zero, &part.x, (fab_question){.jacobian = 1}));
        for (int64_t i = 0; i < part.x.n; i++)
            memcpy(d->x + i * features, d->answer.J + i * C * D, (size_t)features * sizeof *d->x);
        part.x = (fab_rows){.p = d->x, .type = FAB_F64, .n = part.x.n, .ld = features};
        FAB_TRY(fab_fit_update(f, &part));
    }
    return FAB_OK;
}

/* A stream takes one row at a time, so that it is known which are in when it is left; those that stay together, whole. */
static fab_status feed(fab_drive *d)
{
    fab_fit *f = d->f;
    if (d->linear) return feed_linear(d);
    while (f->n < d->rows) {
        const int single = f->m->work && f->m->work(f->handle[0]) > 0;
        const fab_examples part = fab_examples_part(&d->table, f->n, single ? 1 : d->rows - f->n);
        FAB_TRY(fab_fit_update(f, &part));
    }
    return FAB_OK;
}

static void work(void *ctx)
{
    fab_drive *d = ctx;
    const fab_mixture *q;
    d->status = feed(d);
    if (d->status == FAB_OK) d->status = fab_fit_result(d->f, &q);
    if (d->status != FAB_OK) fab_sentence_keep(&d->why);
    d->where = ENDED;
}

/* Let it run until it asks or returns. */
static void advance(fab_drive *d)
{
    d->running = 1;
    const int more = fab_coroutine_resume(d->run);
    d->running = 0;
    if (more) return;
    fab_coroutine_free(d->run);
    d->run = NULL;
    if (d->status == FAB_STOPPED) d->where = ASKING; /* and goes on */
}

static fab_status failed(const fab_drive *d)
{
    return d->status == FAB_OK ? FAB_OK : fab_sentence_raise(d->status, &d->why);
}

/* As after a stop; a question that waits is not answered. */
static void leave(fab_drive *d)
{
    d->stop = 1;
    while (d->run) advance(d);
    d->stop = 0;
}

fab_status fab_drive_rest(fab_drive *d)
{
    if (d->where == ASKED)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: a question waits for its answer: tell it, and save before the next "
                        "ask; or withdraw it",
                        d->f->m->name);
    if (d->where == TOLD) leave(d);
    return d->where == ENDED ? failed(d) : FAB_OK;
}

fab_status fab_drive_check_result(const fab_drive *d)
{
    if (d->running || d->where == ENDED) return failed(d);
    if (d->linear) return FAB_OK; /* a stream: that of the rows so far */
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "%s: the result of a fit that is driven by ask and tell is there when ask says "
                    "done",
                    d->f->m->name);
}

fab_status fab_drive_check_update(const fab_drive *d)
{
    if (d->running) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT,
                    "%s: an update of a fit that is driven by ask and tell: it takes answers",
                    d->f->m->name);
}

/* ---- life ------------------------------------------------------------------------------------------------ */

static void layout(fab_layout *l, void *handle)
{
    fab_drive *d = handle;
    const int64_t D = d->user.D, rows = d->rows, chunk = d->chunk, C = d->user.outputs;
    const int outputs = (d->asks & FAB_ASKS_OUTPUTS) != 0;
    d->number = fab_place(l, rows, sizeof *d->number);
    d->y = fab_place(l, d->table.y ? 0 : rows, sizeof *d->y);
    d->row = fab_place(l, rows, sizeof *d->row);
    d->answer.gradient = fab_place(l, d->far.ops ? 0 : D, sizeof(double));
    d->answer.G = fab_place(l, d->asks & FAB_ASKS_EXAMPLES ? chunk * D : 0, sizeof(double));
    d->answer.outputs = fab_place(l, outputs ? chunk * C : 0, sizeof(double));
    d->answer.J = fab_place(l, outputs ? chunk * C * D : 0, sizeof(double));
    d->x = fab_place(l, d->linear ? chunk * d->user.head.D : 0, sizeof *d->x);
    d->la.work = fab_place(l, d->far.ops ? 0 : (int64_t)d->la.ops->work(D, 1, 1, 1), 1);
    if (d->far.ops) d->far.work = fab_place_long(l, (int64_t)d->far.ops->work(D, 1, 1, 1), 1);
}

/* What the caller must have said for such a method. */
static fab_status check_described(const fab_method *m, const fab_model *user, const fab_input *in)
{
    const int64_t asks = fab_method_asks(m);
    if (!asks)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: cannot be driven by ask and tell: it works neither by gradients of "
                        "batches nor by slopes of outputs",
                        m->name);
    if (asks & FAB_ASKS_OUTPUTS) {
        if (!in->y)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "%s: asks for outputs, and needs the targets of the %lld rows itself: "
                            "set y of the input",
                            m->name, (long long)in->rows);
        if (user->outputs < 1 || user->batch < 1)
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "%s: the model has %lld outputs of batches of %lld rows; both must be "
                            "> 0",
                            m->name, (long long)user->outputs, (long long)user->batch);
    } else if (in->y || in->weight || in->offset) {
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: asks for gradients, which have the targets in them: no y, weight or "
                        "offset of the input",
                        m->name);
    }
    return FAB_OK;
}

fab_status fab_drive_create(fab_drive **d, fab_fit *f, const fab_input *in, fab_model *model,
                            const fab_exec *x)
{
    const fab_model user = f->model;
    const fab_method *m = f->m;
    const int64_t asks = fab_method_asks(m);
    fab_drive proto = {.f = f,
                       .user = user,
                       .asks = asks,
                       .linear = user.glm && m->takes & FAB_TAKES_LINEAR,
                       .rows = in->rows,
                       .chunk = user.batch,
                       .table = {.y = in->y, .weight = in->weight, .offset = in->offset}};
    *d = NULL;
    FAB_TRY(check_described(m, &user, in));
    if (asks & FAB_ASKS_OUTPUTS) {
        const int64_t fit = CHUNK_NUMBERS / (user.outputs * user.D);
        proto.chunk = least(user.batch, fit > 0 ? fit : 1);
    }
    FAB_TRY(fab_run_init(
        &proto.la, &(fab_exec){.ops = fab_ops_find("cpu", user.type), .threads = 1}, user.type));
    fab_drive *new;
    void *block;
    const int far = x && x->ops && x->ops->memory;
    if (far) FAB_TRY(fab_run_init_anywhere(&proto.far, x, x->ops->type));
    FAB_TRY(fab_build_apart((void **)&new, sizeof proto, &proto, layout,
                            far ? proto.far.ops->memory : NULL, &block));
    new->block = block;
    for (int64_t i = 0; i < in->rows; i++) new->number[i] = (double)i;
    new->table.x = (fab_rows){.p = new->number, .type = FAB_F64, .n = in->rows, .ld = 1};
    if (!in->y) new->table.y = new->y;
    *d = new;
    fab_glm head = user.head;
    head.D = 1; /* the number of the row */
    if (in->weight)
        for (int64_t i = 0; i < in->rows; i++)
            if (!(in->weight[i] > 0))
                return FAB_FAIL(
                    FAB_BAD_DATA,
                    "%s: row %lld has weight %g, expected a number > 0: there is an answer "
                    "for every row",
                    m->name, (long long)i, in->weight[i]);
    if (in->y) FAB_TRY(fab_examples_check(m->name, &head, &new->table));
    if (new->linear) return FAB_OK; /* it stays what it is */
    const int outputs = (asks & FAB_ASKS_OUTPUTS) != 0;
    *model = (fab_model){.D = user.D,
                         .free = user.free,
                         .last = user.last,
                         .head = head,
                         .outputs = user.outputs,
                         .linear = user.linear,
                         .batch = new->chunk,
                         .type = user.type,
                         .self = new,
                         .loss = loss,
                         .at = at,
                         .start = user.start ? start : NULL,
                         .predict = outputs ? predict : NULL,
                         .jacobian = outputs ? jacobian : NULL,
                         .gradients = asks &FAB_ASKS_EXAMPLES ? gradients : NULL,
                         .loss_there = far ? loss_there : NULL};
    return FAB_OK;
}

void fab_drive_free(fab_drive *d)
{
    if (!d) return;
    if (d->run) d->where = ASKED; /* and never answered: the run comes to its end */
    leave(d);
    if (d->block) d->far.ops->memory->release(d->block);
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
    if (d->where == ASKING || d->where == TOLD) {
        if (!d->run) FAB_TRY(fab_coroutine_create(&d->run, work, d));
        d->status = FAB_OK;
        advance(d);
    }
    if (d->where == ASKED) { /* now, or the same again */
        *q = d->q;
        return FAB_OK;
    }
    FAB_TRY(failed(d));
    *done = 1;
    return FAB_OK;
}

fab_status fab_fit_withdraw(fab_fit *f)
{
    fab_drive *d = f->drive;
    FAB_TRY(check_driven(f));
    if (d->where == ASKED) leave(d);
    return FAB_OK;
}

/* n rows of `width` numbers of the answer as doubles. */
static fab_status take(const fab_drive *d, fab_rows from, int64_t width, double *to)
{
    if (from.ld == 0) from.ld = width;
    FAB_TRY(fab_rows_check(d->f->m->name, &from, width));
    for (int64_t i = 0; i < from.n; i++) fab_rows_get(&from, i, width, to + i * width);
    return FAB_OK;
}

/* The gradient of an answer, wherever it is, to where it is wanted. */
static fab_status take_gradient(fab_drive *d, const fab_answer *a)
{
    const int64_t D = d->user.D;
    const fab_rows row = {.p = a->gradient, .type = a->type, .n = 1, .ld = D};
    if (a->there && !d->q.there)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: a gradient in the memory of kernels, and this fit works in the host's",
                        d->f->m->name);
    if (!d->q.there) return take(d, row, D, d->answer.gradient);
    if (!fab_ops_as(d->far.ops, a->type))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the gradient is %s, expected f64 or f32",
                        d->f->m->name, fab_dtype_name(a->type));
    if (!a->there) FAB_TRY(fab_rows_check(d->f->m->name, &row, D));
    const fab_long to = fab_long_vectors(d->to, D, 1, D);
    const int64_t bad = d->far.ops->vectors->bring(&d->far, &row, &to);
    double number = (double)bad;
    FAB_TRY(fab_sum(&d->far, &number, 1)); /* have kernels failed? */
    if (bad == 0) return FAB_OK;
    return FAB_FAIL(FAB_BAD_DATA, "%s: %lld numbers of the gradient are not finite", d->f->m->name,
                    (long long)bad);
}

/* The Jacobian of linear predictors: (x_i, 1) in the place of class c in row i classes + c, and 0 elsewhere? */
static fab_status check_linear(const fab_drive *d)
{
    const fab_glm *g = &d->user.head;
    const int64_t D = d->user.D, part = g->D + g->intercept;
    for (int64_t i = 0; i < d->q.n; i++) {
        const double *x = d->answer.J + i * g->classes * D;
        for (int64_t c = 0; c < g->classes; c++)
            for (int64_t k = 0; k < D; k++) {
                const double is = x[c * D + k];
                double expected = 0;
                if (k / part == c) expected = k % part < g->D ? x[k % part] : 1;
                if (is != expected)
                    return FAB_FAIL(FAB_BAD_DATA,
                                    "%s: coordinate %lld of the gradient of output %lld of row "
                                    "%lld is %g, expected %g of a linear model",
                                    d->f->m->name, (long long)k, (long long)c, (long long)d->row[i],
                                    is, expected);
            }
    }
    return FAB_OK;
}

fab_status fab_fit_tell(fab_fit *f, const fab_answer *a)
{
    fab_drive *d = f->drive;
    FAB_TRY(check_driven(f));
    if (d->where != ASKED) return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: nothing was asked", f->m->name);
    const fab_question *q = &d->q;
    const char *lacks = NULL;
    if (q->gradient && !a->gradient) lacks = "gradient";
    if (q->examples && !a->examples) lacks = "gradients of the examples";
    if (q->outputs && !a->outputs) lacks = "outputs";
    if (q->jacobian && !a->jacobian) lacks = "Jacobian of the outputs";
    if (lacks)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the answer lacks the %s that was asked for",
                        f->m->name, lacks);
    const int64_t D = d->user.D, C = d->user.outputs;
    const int has_J = q->jacobian || (q->outputs && a->jacobian);
    if (q->gradient) FAB_TRY(take_gradient(d, a));
    if (q->examples)
        FAB_TRY(take(d, (fab_rows){.p = a->examples, .type = a->type, .n = q->n, .ld = a->ld}, D,
                     d->answer.G));
    if (q->outputs)
        FAB_TRY(
            take(d, (fab_rows){.p = a->outputs, .type = FAB_F64, .n = q->n}, C, d->answer.outputs));
    if (has_J)
        FAB_TRY(take(d, (fab_rows){.p = a->jacobian, .type = a->type, .n = q->n * C, .ld = a->ld},
                     D, d->answer.J));
    if (d->linear) FAB_TRY(check_linear(d));
    d->answer.loss = a->loss; /* one that is not finite is the method's to name */
    d->answer.has_G = q->examples != 0;
    d->answer.has_J = has_J;
    d->where = TOLD;
    return FAB_OK;
}
