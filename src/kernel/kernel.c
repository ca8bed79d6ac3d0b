/* kernel.c - life and parameters of a kernel.
 *
 * SPDX-License-Identifier: MIT */
#include "kernel/kernel.h"
#include "base/memory.h"
#include "base/text.h"
#include "kernel/pairs.h"
#include <math.h>
#include <string.h>

static void layout(fab_layout *l, void *handle)
{
    fab_kernel *k = handle;
    k->leaf = fab_place(l, k->leaves, sizeof *k->leaf);
    k->term = fab_place(l, k->terms, sizeof *k->term);
    k->parameter = fab_place(l, k->size, sizeof *k->parameter);
    k->column = fab_place(l, k->columns, sizeof *k->column);
    k->text = fab_place(l, k->letters, 1);
}

fab_status fab_kernel_build(fab_kernel **k, const fab_kernel *sizes)
{
    return fab_build((void **)k, sizeof **k, sizes, layout);
}

fab_status fab_kernel_create(fab_kernel **k, const char *text, int64_t D, const char *const *column)
{
    *k = NULL;
    if (!text) return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: no text is given");
    if (D < 1) return FAB_FAIL(FAB_BAD_ARGUMENT, "kernel: %lld columns", (long long)D);
    return fab_kernel_parse(k, text, D, column);
}

fab_status fab_kernel_copy(fab_kernel **k, const fab_kernel *from)
{
    FAB_TRY(fab_kernel_build(k, from));
    fab_kernel *to = *k;
    memcpy(to->leaf, from->leaf, (size_t)from->leaves * sizeof *to->leaf);
    memcpy(to->term, from->term, (size_t)from->terms * sizeof *to->term);
    memcpy(to->parameter, from->parameter, (size_t)from->size * sizeof *to->parameter);
    memcpy(to->column, from->column, (size_t)from->columns * sizeof *to->column);
    memcpy(to->text, from->text, (size_t)from->letters);
    return FAB_OK;
}

void fab_kernel_free(fab_kernel *k)
{
    fab_release(k);
}

/* ---- text --------------------------------------------------------------------------------------------- */

const char *fab_kernel_text(const fab_kernel *k)
{
    return k->text;
}

static void add_number(fab_text *t, const char *before, double x)
{
    char number[32];
    fab_print_double(number, sizeof number, x);
    fab_text_add(t, "%s%s", before, number);
}

static void add_leaf(fab_text *t, const fab_kernel *k, const fab_leaf *f)
{
    fab_text_add(t, "*%s", k->text + f->head);
    for (int64_t i = 0; i < f->lengths; i++)
        add_number(t, i ? "," : ":l=", k->parameter[f->at + i].value);
    if (f->own < 0) return;
    fab_text_add(t, ":%s", k->parameter[f->own].name);
    add_number(t, "=", f->value);
}

fab_status fab_kernel_describe(const fab_kernel *k, char **text)
{
    fab_text t = {0};
    for (int64_t i = 0; i < k->terms; i++) {
        add_number(&t, i ? " + " : "", k->parameter[k->term[i].s2].value);
        for (int64_t j = 0; j < k->leaves; j++)
            if (k->term[i].leaves >> j & 1) add_leaf(&t, k, &k->leaf[j]);
    }
    return fab_text_give(&t, text);
}

int64_t fab_kernel_columns(const fab_kernel *k)
{
    return k->D;
}

/* ---- parameters --------------------------------------------------------------------------------------- */

int64_t fab_kernel_size(const fab_kernel *k)
{
    return k->size;
}

void fab_kernel_parameter_at(const fab_kernel *k, int64_t i, fab_kernel_parameter *p)
{
    const fab_parameter *from = &k->parameter[i];
    *p = (fab_kernel_parameter){.name = from->name,
                                .kernel = k->text + from->kernel,
                                .column = from->column,
                                .value = from->value,
                                .lo = from->lo,
                                .hi = from->hi,
                                .fixed = from->fixed};
}

void fab_kernel_get(const fab_kernel *k, double *theta)
{
    for (int64_t i = 0; i < k->size; i++) theta[i] = log(k->parameter[i].value);
}

void fab_kernel_settle(fab_kernel *k)
{
    for (int64_t i = 0; i < k->leaves; i++) {
        fab_leaf *f = &k->leaf[i];
        f->length = f->lengths > 0 && !f->ard ? k->parameter[f->at].value : 1;
        f->value = f->own >= 0 ? k->parameter[f->own].value : 0;
    }
}

fab_status fab_kernel_set(fab_kernel *k, const double *theta)
{
    for (int64_t i = 0; i < k->size; i++) {
        const double value = exp(theta[i]);
        if (!(value >= 1e-150 && value <= 1e150)) /* their squares are numbers too */
            return FAB_FAIL(FAB_BAD_ARGUMENT,
                            "kernel: theta[%lld] = %g, the logarithm of %s of %s, is none of a "
                            "number from 1e-150 to 1e150",
                            (long long)i, theta[i], k->parameter[i].name,
                            k->text + k->parameter[i].kernel);
    }
    for (int64_t i = 0; i < k->size; i++) k->parameter[i].value = exp(theta[i]);
    fab_kernel_settle(k);
    return FAB_OK;
}

int fab_kernel_is_stationary(const fab_kernel *k)
{
    for (int64_t i = 0; i < k->leaves; i++)
        if (!k->leaf[i].kind->stationary) return 0;
    return 1;
}
