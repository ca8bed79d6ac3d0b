/* factor.c - the iterates of swag as a stream of vectors: columns = the name of a factor-analysis method.
 *
 * SPDX-License-Identifier: MIT */
#include "methods/swag/factor.h"
#include "base/fail.h"
#include "fabayes/methods.h"
#include "fit/fit.h"
#include <string.h>

const char *const fab_swag_columns_names[] = {"last",          "recursive-em", "online-em",
                                              "stochastic-em", "online-sga",   NULL};

typedef union any_settings {
    fab_recursive_em_settings recursive_em;
    fab_online_em_settings online_em;
    fab_stochastic_em_settings stochastic_em;
    fab_online_sga_settings online_sga;
} any_settings;

/* ---- settings ----------------------------------------------------------------------------------------- */

enum { WARMUP_FACTORS = 2 }; /* iterates for each factor */
enum { WARMUP_MOST = 100 };  /* the methods' own default */

int64_t fab_swag_factor_warmup(const fab_swag_settings *s)
{
    if (s->columns == FAB_SWAG_LAST || s->columns == FAB_SWAG_BY_RECURSIVE_EM) return 0;
    const int64_t rows = WARMUP_FACTORS * s->K;
    return rows < WARMUP_MOST ? rows : WARMUP_MOST;
}

static void set(const fab_fields *t, any_settings *s, const char *name, int64_t value)
{
    memcpy((char *)s + fab_settings_find(t, name)->offset, &value, sizeof value);
}

static any_settings settings_of(const fab_method *m, const fab_swag_settings *s)
{
    const int64_t warmup = fab_swag_factor_warmup(s);
    any_settings any = {0};
    fab_settings_defaults(m->fields, &any);
    set(m->fields, &any, "K", s->K);
    set(m->fields, &any, "seed", s->swa.train.seed);
    set(m->fields, &any, "held", 0); /* nobody asks for the likelihood of iterates */
    if (fab_settings_find(m->fields, "inner_rank"))
        set(m->fields, &any, "inner_rank", 2 * s->K); /* they are few */
    if (warmup == 0) return any;
    set(m->fields, &any, "warmup", warmup);
    fab_settings_parse(m->fields, &any, "start", "variance");
    return any;
}

/* ---- life --------------------------------------------------------------------------------------------- */

/* A method's sentence begins with its name. */
static fab_status named(fab_status s)
{
    return s == FAB_OK ? s : fab_prefix(s, "swag: columns by ");
}

fab_status fab_swag_factor_init(fab_fit **f, const fab_swag_settings *s, int64_t D,
                                const fab_exec *x)
{
    *f = NULL;
    if (s->columns == FAB_SWAG_LAST) return FAB_OK;
    const fab_method *m = fab_method_find(fab_swag_columns_names[s->columns]);
    const any_settings any = settings_of(m, s);
    return named(fab_fit_create(f, m->name, &any, m->fields->size, &(fab_input){.vectors = D}, x));
}

double fab_swag_factor_bytes(const fab_swag_settings *s, int64_t D, int64_t n)
{
    if (s->columns == FAB_SWAG_LAST) return 0;
    const fab_method *m = fab_method_find(fab_swag_columns_names[s->columns]);
    const any_settings any = settings_of(m, s);
    return fab_fit_bytes(m->name, &any, m->fields->size, &(fab_input){.vectors = D}, n, NULL);
}

/* ---- the iterates ------------------------------------------------------------------------------------- */

fab_status fab_swag_factor_take(fab_fit *f, const fab_rows *row)
{
    const fab_status s = fab_fit_update(f, &(fab_examples){.x = *row});
    return s == FAB_STOPPED ? FAB_OK : named(s); /* the row is in; the run hears of the stop next */
}

fab_status fab_swag_factor_result(fab_fit *f, const fab_gauss **q, int64_t *floored)
{
    const fab_mixture *all;
    fab_report r;
    FAB_TRY(named(fab_fit_result(f, &all)));
    FAB_TRY(named(fab_fit_report(f, &r)));
    *q = all->part[0];
    *floored = r.floored;
    return FAB_OK;
}
