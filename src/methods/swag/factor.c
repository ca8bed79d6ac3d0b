/* factor.c - the iterates of swag as a stream of vectors: columns = the name of a factor-analysis method.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/swag/factor.h"
#include "base/fail.h"
#include "fabayes/methods.h"
#include "fit/estim_methods.h"
#include <assert.h>
#include <string.h>

const char *const fab_swag_columns_names[] = {"last",          "recursive-em", "online-em",
                                              "stochastic-em", "online-sga",   NULL};

/* In the order of the names. */
static const fab_method *const methods[] = {NULL, &fab_recursive_em_method, &fab_online_em_method,
                                            &fab_stochastic_em_method, &fab_online_sga_method};

typedef union any_settings {
    fab_recursive_em_settings recursive_em;
    fab_online_em_settings online_em;
    fab_stochastic_em_settings stochastic_em;
    fab_online_sga_settings online_sga;
} any_settings;

/* ---- settings ----------------------------------------------------------------------------------------- */

enum {
    WARMUP_FACTORS = 2,
    WARMUP_MOST = 100
}; /* iterates for each factor; the methods' own default */

int64_t fab_swag_factor_warmup(const fab_swag_settings *s)
{
    if (s->columns == FAB_LAST || s->columns == FAB_BY_RECURSIVE_EM) return 0;
    const int64_t rows = WARMUP_FACTORS * s->K;
    return rows < WARMUP_MOST ? rows : WARMUP_MOST;
}

static void set(const fab_fields *t, any_settings *s, const char *name, int64_t value)
{
    memcpy((char *)s + fab_settings_find(t, name)->offset, &value, sizeof value);
}

static any_settings settings_of(const fab_method *m, const fab_swag_settings *s, int64_t D)
{
    const int64_t warmup = fab_swag_factor_warmup(s);
    any_settings any = {0};
    fab_settings_defaults(m->table, &any);
    set(m->table, &any, "D", D);
    set(m->table, &any, "K", s->K);
    set(m->table, &any, "seed", s->seed);
    if (warmup == 0) return any;
    set(m->table, &any, "warmup", warmup);
    const fab_status known = fab_settings_parse(m->table, &any, "start", "variance");
    assert(known == FAB_OK);
    (void)known;
    return any;
}

/* ---- life --------------------------------------------------------------------------------------------- */

fab_status fab_swag_factor_init(fab_swag_factor *f, const fab_swag_settings *s, int64_t D,
                                const fab_exec *x)
{
    *f = (fab_swag_factor){.method = methods[s->columns]};
    if (!f->method) return FAB_OK;
    const any_settings any = settings_of(f->method, s, D);
    return f->method->init(&f->handle, &any, x);
}

void fab_swag_factor_free(fab_swag_factor *f)
{
    if (f->handle) f->method->free(f->handle);
    f->handle = NULL;
}

double fab_swag_factor_bytes(const fab_swag_settings *s, int64_t D, int64_t n)
{
    const fab_method *m = methods[s->columns];
    if (!m) return 0;
    const any_settings any = settings_of(m, s, D);
    return m->bytes(&any, n, NULL);
}

/* ---- the iterates ------------------------------------------------------------------------------------- */

/* A method's sentence begins with its name. */
static fab_status named(fab_status s)
{
    return s == FAB_OK ? s : fab_prefix(s, "swag: columns by ");
}

fab_status fab_swag_factor_take(fab_swag_factor *f, const double *x, int64_t D)
{
    const fab_rows row = {.p = x, .type = FAB_F64, .n = 1, .ld = D};
    return named(f->method->update(f->handle, &row));
}

fab_status fab_swag_factor_result(fab_swag_factor *f, const fab_gauss **q, int64_t *floored)
{
    fab_diagnostics d;
    FAB_TRY(named(f->method->result(f->handle, q)));
    FAB_TRY(named(f->method->diagnostics(f->handle, &d)));
    *floored = d.floored;
    return FAB_OK;
}
