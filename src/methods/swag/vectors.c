/* vectors.c - swag of a stream of vectors: the iterates of anyone's optimiser, lines 4 - 7 of swag.c.
 *
 * SPDX-License-Identifier: MIT */
#include "base/rows.h"
#include "fit/method.h"
#include "methods/swag/iterates.h"
#include <math.h>

typedef struct stream {
    fab_iterates it;
    void *far; /* the block of the long arrays, where that is apart */
} stream;

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_swag_settings
static const fab_field fields[] = {
    FIELD_AT(fab_sgd_settings, seed, I64, 1, 0, 0x1p53, "seed of the start of `columns`"),
    GAUSSIAN_FIELDS(FAB_SWAG_LAST),
};
static const fab_fields table = TABLE("swag", fields);
#undef SETTINGS

/* ---- life --------------------------------------------------------------------------------------------- */

static void layout(fab_layout *l, void *handle)
{
    stream *f = handle;
    f->it.x = fab_place_long(l, f->it.D, sizeof(double));
    fab_iterates_layout(l, &f->it);
}

static void release(void *handle)
{
    stream *f = handle;
    if (!f) return;
    fab_iterates_close(&f->it);
    if (f->far) f->it.run.ops->memory->release(f->far);
    fab_release(f);
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    stream proto = {0}, *f;
    *handle = NULL;
    FAB_TRY(fab_check_alone("swag", x));
    FAB_TRY(fab_iterates_init(&proto.it, settings, 0, in->vectors, x));
    void *far;
    FAB_TRY(
        fab_build_apart((void **)&f, sizeof proto, &proto, layout, proto.it.run.ops->memory, &far));
    f->far = far;
    const fab_status s = fab_iterates_open(&f->it, x);
    if (s != FAB_OK) {
        release(f);
        return s;
    }
    *handle = f;
    return FAB_OK;
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const int64_t D = in->vectors;
    stream f;
    if (fab_iterates_init(&f.it, settings, 0, D, x) != FAB_OK) return NAN;
    return (double)fab_build_size(sizeof f, &f, layout) +
           sizeof(double) * (double)D * (double)(f.it.s.K + 2) + /* the result */
           fab_swag_factor_bytes(&f.it.s, D, n);
}

/* ---- the verbs ---------------------------------------------------------------------------------------- */

/* x = the row; kernels read it where it is, and as doubles. */
static fab_status take(stream *f, const fab_rows *row)
{
    const fab_long X = fab_long_vectors(f->it.x, f->it.D, 1, f->it.D);
    fab_run wide = f->it.run;
    wide.ops = wide.ops->by_type[FAB_F64];
    wide.ops->load(&wide, row, NULL, &X);
    double square = fab_iterates_square(&f->it);
    FAB_TRY(fab_sum(&f->it.run, &square, 1)); /* have kernels failed? */
    if (!isfinite(square))
        return FAB_FAIL(FAB_BAD_DATA, "swag: the square of iterate %lld is %g",
                        (long long)f->it.count.iterates + 1, square);
    const fab_rows dense = {.p = f->it.x, .type = FAB_F64, .n = 1, .ld = f->it.D};
    return fab_iterates_take(&f->it, wide.ops->memory ? row : &dense);
}

static fab_status update(void *handle, const fab_examples *e)
{
    for (int64_t i = 0; i < e->x.n; i++) {
        const fab_rows row = fab_rows_part(&e->x, i, 1);
        FAB_TRY(take(handle, &row));
    }
    return FAB_OK;
}

static fab_status result(void *handle, const fab_gauss **q)
{
    stream *f = handle;
    *q = f->it.result;
    return fab_iterates_publish(&f->it, NULL);
}

static fab_status report(void *handle, fab_report *r)
{
    const stream *f = handle;
    *r = (fab_report){.converged = -1, .floored = f->it.floored, .loglik_mean = NAN};
    return FAB_OK;
}

static fab_status save(void *handle, fab_tensors *t)
{
    return fab_iterates_save(&((stream *)handle)->it, t);
}

static fab_status load(void *handle, const fab_tensors *t)
{
    return fab_iterates_load(&((stream *)handle)->it, t);
}

/* ---- the method --------------------------------------------------------------------------------------- */

const fab_method fab_swag_vectors_method = {
    .name = "swag",
    .summary = "the Gaussian of the iterates of anyone's optimiser, rank K plus diagonal",
    .streams = 1,
    .anywhere = 1,
    .takes = FAB_TAKES_VECTORS,
    .iterates = 1,
    .fields = &table,
    .init = init,
    .free = release,
    .bytes = bytes,
    .update = update,
    .result = result,
    .report = report,
    .save = save,
    .load = load,
};
