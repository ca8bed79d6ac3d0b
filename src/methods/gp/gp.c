/* gp.c - a Gaussian process from the whole table: the method gp.
 *
 * Of numbers, exactly:
 *
 * y_i = f(x_i) + offset_i + noise of variance s^2 / w_i, f a process with mean 0 and covariance k:
 *
 *   1  the rows, without their offsets, become a process (kernel.h)
 *   2  parameters of the kernel and s^2 where log p(y) is largest (train/evidence.h); those that the kernel's text or beta
 *      gives stay
 *   3  L L' = K + s^2 / w, a = (K + s^2 / w)^-1 y on all rows: f at any row is Gaussian
 *   4  more rows: each is a row more of L, in O(N^2); the parameters stay.  The evidence is then that of all rows
 *
 * Of two classes and counts by Laplace's method (laplace.c): 2 without noise, 3 at the mode of f, which 4 finds again for all
 * rows.  Of more classes so too, with a process for each of them and one kernel (classes.c).
 *
 * With mean_only, and as kernel-ridge, which has no covariance: L goes into no file, and
 *
 *   5  sd of a prediction: the root of the mean of w_i e_i^2 / mean of w, e_i by how much row i is missed by the others
 *   6  kernel-ridge by rows: the noise where 5 is least, on a grid of powers of 10, then by golden section
 *
 * The result is theta, the logarithms of the parameters, as a point; X, a, L, y and weights stand beside it.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/methods.h"
#include "base/fail.h"
#include "base/hooks.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/settings.h"
#include "fit/method.h"
#include "kernel/process.h"
#include "model/kernel.h"
#include "model/likelihoods/likelihood.h"
#include "methods/gp/average.h"
#include "methods/gp/classes.h"
#include "methods/gp/gp.h"
#include "methods/gp/laplace.h"
#include "train/evidence.h"
#include "train/state.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_PLACES = 33 }; /* of an average */

typedef struct gp {
    const char *who; /* the method */
    fab_gp_settings s;
    int by_rows; /* the noise is that by which rows left out are missed least */
    fab_glm m;
    const fab_kernel *kernel; /* the model's, borrowed */
    fab_exec exec;            /* its progress is `hear` */
    fab_watch watch;
    struct { /* of the search, while there is one: what its process tells is a part of it */
        int64_t done, total;
    } told;
    int normal;                 /* numbers; otherwise by Laplace's method, */
    int several;                /* with a process for each class */
    fab_process *p;             /* NULL: none yet */
    fab_class_process *classes; /* the same of several; p is then its base */
    int64_t n, room;
    double *y, *weight, *offset; /* room each; weight 1 and offset 0 where there are none */
    double *X;                   /* room x D; NULL of numbers, whose process has them */
    double *theta; /* found, of the kernel and, of numbers, the noise's precision; NULL: not yet */
    int stands;    /* the process is that of all rows */
    double lml, missed;  /* 5 */
    fab_gp_average *mix; /* NULL: there is one place */
    int64_t mixed;       /* rows that its places have learned */
    fab_gp_search search;
    fab_gauss *q;
    fab_report report;
} gp;

/* ---- settings ----------------------------------------------------------------------------------------- */

#define SETTINGS fab_gp_settings
static const char *const averages[] = {"none", "laplace", "starts", NULL};
static const fab_field fields[] = {
    AUTOMATIC(beta, F64, 1e-300, 1e300,
              "precision of the noise of a gaussian target; auto: by the evidence"),
    FIELD(seed, I64, 1, 0, 0x1p53,
          "seed of the rows that parameters are looked for on, and of the starts"),
    AUTOMATIC(starts, I64, 1, 1000,
              "searches; auto: 5 and one for each free parameter, 10 at most, one of long l, "
              "and more for a sum"),
    FIELD(search_rows, I64, 2000, 1, 1e6, "rows that parameters are looked for on, at most"),
    FIELD(exact_limit, I64, 10000, 1, 1e6, "rows that are taken"),
    FIELD(tol, F64, 1e-9, 0, 1, "relative change of the log evidence at which a search ends"),
    SWITCH(mean_only, 0, "keep the mean without the factor: sd is the error of rows left out"),
    CHOICE(average, FAB_AVERAGE_NONE, averages,
           "predictions are a mixture over parameters: by Laplace around the maximum, or over the "
           "ends of searches that differ"),
};
static const fab_fields table = TABLE("gp", fields);
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
#undef SETTINGS

#define SETTINGS fab_kernel_ridge_settings
static const char *const choices[] = {"evidence", "rows", NULL};
static const fab_field ridge_fields[] = {
    AUTOMATIC(lambda, F64, 1e-300, 1e300, "weight of the norm of f; auto: as choose says"),
    CHOICE(choose, FAB_RIDGE_EVIDENCE, choices,
           "lambda by the evidence, or by the error of rows left out one by one"),
    FIELD(seed, I64, 1, 0, 0x1p53,
          "seed of the rows that parameters are looked for on, and of the starts"),
    AUTOMATIC(starts, I64, 1, 1000,
              "searches; auto: 5 and one for each free parameter, 10 at most, one of long l, "
              "and more for a sum"),
    FIELD(search_rows, I64, 2000, 1, 1e6, "rows that parameters are looked for on, at most"),
    FIELD(exact_limit, I64, 10000, 1, 1e6, "rows that are taken"),
    FIELD(tol, F64, 1e-9, 0, 1, "relative change of the log evidence at which a search ends"),
};
static const fab_fields ridge_table = TABLE("kernel-ridge", ridge_fields);
_Static_assert(sizeof(SETTINGS) == 8 * sizeof ridge_fields / sizeof *ridge_fields,
               "every setting has its row");
#undef SETTINGS

/* Those of gp that it stands for. */
static fab_gp_settings of_ridge(const fab_kernel_ridge_settings *s)
{
    return (fab_gp_settings){.beta = fab_is_auto_f64(s->lambda) ? FAB_AUTO_F64 : 1 / s->lambda,
                             .seed = s->seed,
                             .starts = s->starts,
                             .search_rows = s->search_rows,
                             .exact_limit = s->exact_limit,
                             .tol = s->tol,
                             .mean_only = 1};
}

/* ---- who watches -------------------------------------------------------------------------------------- */

static int hear(void *ctx, const char *what, int64_t done, int64_t total)
{
    gp *f = ctx;
    if (strcmp(what, "evidence") == 0) {
        f->told.done = done;
        f->told.total = total;
    }
    if (f->told.total == 0) return fab_watch_tick(&f->watch, what, done, total) != FAB_OK;
    return fab_watch_tick(&f->watch, "evidence", f->told.done, f->told.total) != FAB_OK;
}

/* ---- life --------------------------------------------------------------------------------------------- */

static fab_status open_gp(void **handle, const char *who, const fab_gp_settings *s,
                          const fab_input *in, const fab_exec *x)
{
    const fab_likelihood_row *row = fab_likelihood_row_of(in->model->head.likelihood);
    gp *f;
    *handle = NULL;
    if (in->model->head.nu != 0)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: nu = %g: noise of Student's t is not offered", who,
                        in->model->head.nu);
    if (row->dispersion)
        return FAB_FAIL(FAB_UNSUPPORTED, "%s: a %s target is not offered", who, row->name);
    if (s->mean_only && !row->normal)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: a mean alone is for numbers; a %s target needs the variance for its "
                        "probabilities",
                        who, row->name);
    if (s->average && !row->normal)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: an average over parameters is for numbers, not for a %s target", who,
                        row->name);
    if (s->average && s->mean_only)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: mean_only keeps one mean, and average asks for several", who);
    if (in->prior)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "%s: a prior over the parameters of a kernel is not offered", who);
    FAB_TRY(fab_check_alone(who, x));
    FAB_TRY(fab_alloc_array((void **)&f, 1, sizeof *f, "gp"));
    *f = (gp){.who = who,
              .s = *s,
              .m = in->model->head,
              .kernel = in->model->kernel,
              .normal = row->normal,
              .several = row->several,
              .watch = fab_watch_of(x)};
    if (x) f->exec = *x;
    f->exec.progress = hear;
    f->exec.progress_ctx = f;
    *handle = f;
    return FAB_OK;
}

static fab_status init(void **handle, const void *settings, const fab_input *in, const fab_exec *x)
{
    return open_gp(handle, "gp", settings, in, x);
}

static fab_status init_ridge(void **handle, const void *settings, const fab_input *in,
                             const fab_exec *x)
{
    const fab_kernel_ridge_settings *s = settings;
    const fab_gp_settings mine = of_ridge(s);
    FAB_TRY(open_gp(handle, "kernel-ridge", &mine, in, x));
    ((gp *)*handle)->by_rows = fab_is_auto_f64(s->lambda) && s->choose == FAB_RIDGE_ROWS;
    return FAB_OK;
}

static void drop_process(gp *f)
{
    if (f->several)
        fab_class_process_free(f->classes); /* with its base */
    else
        fab_process_free(f->p);
    f->p = NULL;
    f->classes = NULL;
}

static void release(void *handle)
{
    gp *f = handle;
    if (!f) return;
    fab_gp_average_free(f->mix);
    drop_process(f);
    fab_gauss_free(f->q);
    fab_release(f->y);
    fab_release(f->weight);
    fab_release(f->offset);
    fab_release(f->X);
    fab_release(f->theta);
    fab_release(f);
}

/* Several classes have C + 3 matrices where a number has 3: as many rows as take the same memory. */
static int64_t rows_allowed(const fab_gp_settings *s, int several, int64_t classes)
{
    if (s->average) return (int64_t)((double)s->exact_limit * sqrt(3.0 / (2 + MOST_PLACES)));
    if (!several) return s->exact_limit;
    return (int64_t)((double)s->exact_limit * sqrt(3 / (double)fab_gp_classes_squares(classes)));
}

static double bytes(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_gp_settings *s = settings;
    const double N = (double)n, D = (double)in->model->head.D;
    (void)x;
    const fab_likelihood_row *row = fab_likelihood_row_of(in->model->head.likelihood);
    const int64_t C = in->model->head.classes;
    if (n > rows_allowed(s, row->several, C)) return 0; /* is refused */
    double squares = row->normal ? 3 : 5;
    if (s->average) squares += MOST_PLACES - 1;
    if (row->several) squares = (double)(fab_gp_classes_squares(C) + C + 2); /* and the result */
    return 8 * (squares * N * N + N * (2 * D + 16) * (double)C);
}

static double bytes_ridge(const void *settings, const fab_input *in, int64_t n, const fab_exec *x)
{
    const fab_gp_settings s = of_ridge(settings);
    return bytes(&s, in, n, x);
}

/* ---- 1 ------------------------------------------------------------------------------------------------ */

static fab_status grow(double **array, int64_t n, int64_t room, int64_t width)
{
    double *new;
    FAB_TRY(fab_alloc_array((void **)&new, room * width, sizeof *new, "gp"));
    if (n) memcpy(new, *array, (size_t)(n * width) * sizeof *new);
    fab_release(*array);
    *array = new;
    return FAB_OK;
}

/* So many rows more have room. */
static fab_status make_room(gp *f, int64_t more)
{
    const int64_t n = f->n + more;
    if (n <= f->room) return FAB_OK;
    const int64_t room = f->n == 0 || n > 2 * f->room ? n : 2 * f->room;
    FAB_TRY(grow(&f->y, f->n, room, 1));
    FAB_TRY(grow(&f->weight, f->n, room, 1));
    FAB_TRY(grow(&f->offset, f->n, room, 1));
    if (!f->normal) FAB_TRY(grow(&f->X, f->n, room, f->m.D));
    f->room = room;
    return FAB_OK;
}

/* Of numbers the offset is part of y. */
static void take_row(gp *f, const fab_examples *e, int64_t i)
{
    const double offset = e->offset ? e->offset[i] : 0;
    f->y[f->n] = e->y[i] - (f->normal ? offset : 0);
    f->offset[f->n] = f->normal ? 0 : offset;
    f->weight[f->n] = e->weight ? e->weight[i] : 1;
    if (!f->normal) fab_rows_get(&e->x, i, f->m.D, f->X + f->n * f->m.D);
}

static void take_rows(gp *f, const fab_examples *e)
{
    for (int64_t i = 0; i < e->x.n; i++, f->n++) take_row(f, e, i);
}

static fab_status check_limit(const gp *f, int64_t n)
{
    const int64_t squares = fab_gp_classes_squares(f->m.classes),
                  most = rows_allowed(&f->s, f->several, f->m.classes);
    if (n <= most) return FAB_OK;
    if (f->s.average)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "gp: %lld rows, expected at most %lld with exact_limit = %lld where "
                        "predictions are averaged over up to %d places",
                        (long long)n, (long long)most, (long long)f->s.exact_limit, MOST_PLACES);
    if (f->several)
        return FAB_FAIL(FAB_UNSUPPORTED,
                        "gp: %lld rows of %lld classes, expected at most %lld with exact_limit = "
                        "%lld: so many take %.3g GB; the models rff:%s:1000 and nystrom:%s:500 "
                        "read any number of rows",
                        (long long)n, (long long)f->m.classes, (long long)most,
                        (long long)f->s.exact_limit, 8e-9 * (double)squares * pow((double)n, 2),
                        fab_kernel_text(f->kernel), fab_kernel_text(f->kernel));
    return FAB_FAIL(
        FAB_UNSUPPORTED,
        "%s: %lld rows, expected at most exact_limit = %lld: an exact process of so "
        "many takes %.3g GB; %sthe models rff:%s:1000 and nystrom:%s:500 read any "
        "number of rows",
        f->who, (long long)n, (long long)f->s.exact_limit, 24e-9 * (double)n * (double)n,
        f->normal ? "the method vfe (-m vfe) goes through 500 inducing inputs, and " : "",
        fab_kernel_text(f->kernel), fab_kernel_text(f->kernel));
}

static fab_status open_rows(gp *f, const fab_examples *e)
{
    const int64_t n = e->x.n, D = f->m.D;
    double *X;
    FAB_TRY(make_room(f, n));
    if (f->normal) {
        FAB_TRY(fab_alloc_array((void **)&X, n * D, sizeof *X, "gp"));
        for (int64_t i = 0; i < n; i++) fab_rows_get(&e->x, i, D, X + i * D);
        const fab_status s = fab_process_create(&f->p, f->kernel, n, X, D, n, &f->exec);
        fab_release(X);
        FAB_TRY(s);
    }
    take_rows(f, e);
    return FAB_OK;
}

/* 4 */
static fab_status append(gp *f, const fab_examples *e)
{
    double *row;
    if (!f->theta)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: more rows are appended after the result, and there is none yet",
                        f->who);
    FAB_TRY(make_room(f, e->x.n));
    if (!f->normal) {
        take_rows(f, e);
        f->stands = 0;
        return FAB_OK;
    }
    FAB_TRY(fab_alloc_array((void **)&row, f->m.D, sizeof *row, "gp"));
    fab_status s = FAB_OK;
    for (int64_t i = 0; i < e->x.n && s == FAB_OK; i++) {
        fab_rows_get(&e->x, i, f->m.D, row);
        take_row(f, e, i);
        s = fab_process_append(f->p, row, f->y[f->n], f->weight[f->n]);
        if (s == FAB_OK) f->n++;
    }
    fab_release(row);
    return s;
}

static fab_status update(void *handle, const fab_examples *e)
{
    gp *f = handle;
    FAB_TRY(check_limit(f, f->n + e->x.n));
    return f->n ? append(f, e) : open_rows(f, e);
}

/* Rows that are appended come one by one. */
static double work(const void *handle)
{
    const gp *f = handle;
    return f->theta && f->normal ? fmax(FAB_WATCH_WORK, (double)f->n * (double)f->n) : 0;
}

/* ---- 2, 3 ----------------------------------------------------------------------------------------------- */

static fab_evidence_plan plan_of(const gp *f)
{
    return (fab_evidence_plan){.starts = fab_is_auto_i64(f->s.starts) ? 0 : f->s.starts,
                               .seed = (uint64_t)f->s.seed,
                               .rows = f->s.search_rows,
                               .tol = f->s.tol,
                               .noise = fab_is_auto_f64(f->s.beta) ? 0 : 1 / f->s.beta};
}

static void note_search(gp *f, const fab_evidence_report *found, double noise)
{
    f->search = (fab_gp_search){.starts = (double)found->starts,
                                .optima = (double)found->optima,
                                .second = found->optima > 1 ? found->second : 0,
                                .evaluations = (double)found->evaluations,
                                .rows = (double)found->rows,
                                .at_bound = (double)found->at_bound,
                                .noise_at_bound = (double)found->noise_at_bound,
                                .noise_given = noise > 0,
                                .converged = (double)found->converged};
}

static const fab_evidence_of *how_of(const gp *f)
{
    return f->several ? &fab_gp_classes : &fab_gp_laplace;
}

/* The mode of f and what follows from it, with the parameters that were found. */
static fab_status settle(gp *f, void *laplace)
{
    FAB_TRY(how_of(f)->at(laplace, f->theta, 0, &f->lml, NULL));
    drop_process(f);
    if (f->several) {
        FAB_TRY(fab_gp_classes_process(laplace, &f->classes));
        f->p = fab_class_process_base(f->classes);
    } else {
        FAB_TRY(fab_gp_laplace_process(laplace, &f->p));
    }
    f->stands = 1;
    return FAB_OK;
}

/* A size of f^2 for the start: log odds are a few, logarithms of rates what those of the counts are. */
static double scale_of(const gp *f)
{
    double sum = 0;
    if (fab_likelihood_row_of(f->m.likelihood)->target == FAB_TARGET_CLASSES) return 4;
    for (int64_t i = 0; i < f->n; i++) sum += pow(log(f->y[i] + 0.5) - f->offset[i], 2);
    return sum / (double)f->n;
}

static fab_status learn_laplace(gp *f)
{
    const fab_evidence_rows rows = {f->n, f->X, f->y, f->weight, f->offset};
    const fab_evidence_plan plan = plan_of(f);
    fab_evidence_report found;
    void *laplace;
    double noise, *theta = f->theta;
    FAB_TRY(how_of(f)->create(&laplace, &f->m, f->kernel, &rows, &f->exec));
    fab_status s = FAB_OK;
    if (!theta) {
        s = fab_alloc_array((void **)&theta, fab_kernel_size(f->kernel), sizeof *theta, "gp");
        if (s == FAB_OK)
            s = fab_evidence_search(how_of(f), &f->m, laplace, f->kernel, &rows, 0, scale_of(f),
                                    &plan, theta, &noise, &found, &f->exec);
        if (s == FAB_OK) {
            note_search(f, &found, 0);
            f->theta = theta;
        } else {
            fab_release(theta);
        }
    }
    if (s == FAB_OK) s = settle(f, laplace);
    how_of(f)->close(laplace);
    return s;
}

/* 5 */
static fab_status find_missed(gp *f)
{
    double *mean, sum = 0, weights = 0;
    FAB_TRY(fab_alloc_array((void **)&mean, f->n, sizeof *mean, f->who));
    const fab_status s = fab_process_leave_one_out(f->p, NULL, mean, NULL);
    for (int64_t i = 0; i < f->n && s == FAB_OK; i++) {
        sum += f->weight[i] * pow(f->y[i] - mean[i], 2);
        weights += f->weight[i];
    }
    fab_release(mean);
    f->missed = sum / weights;
    if (s == FAB_OK && !(isfinite(f->missed) && f->missed > 0)) /* all rows are met */
        f->missed = fab_process_noise(f->p) + fab_process_jitter(f->p);
    if (!(f->missed > 0)) f->missed = 1e-300;
    return s;
}

static fab_status missed_at(gp *f, double log_noise, double *missed)
{
    *missed = INFINITY;
    const fab_status s = fab_process_relearn(f->p, exp(log_noise));
    if (s == FAB_NUMERIC) return FAB_OK; /* no factor there */
    FAB_TRY(s);
    FAB_TRY(find_missed(f));
    *missed = f->missed;
    return FAB_OK;
}

/* 6: where the error is least, from 1e-10 to 100 mean squares of y */
static fab_status noise_by_rows(gp *f)
{
    enum { LOW = -10, HIGH = 2, CLOSER = 20 };
    const double ratio = (sqrt(5) - 1) / 2, ten = log(10);
    double scale = 0, best = INFINITY, at = 0, missed;
    for (int64_t i = 0; i < f->n; i++) scale += f->y[i] * f->y[i] / (double)f->n;
    if (!(scale > 0)) return FAB_OK;
    for (int power = LOW; power <= HIGH; power++) {
        const double u = log(scale) + ten * power;
        FAB_TRY(missed_at(f, u, &missed));
        if (missed < best) {
            best = missed;
            at = u;
        }
    }
    double lo = at - ten, hi = at + ten, a = hi - ratio * (hi - lo), b = lo + ratio * (hi - lo), fa,
           fb;
    FAB_TRY(missed_at(f, a, &fa));
    FAB_TRY(missed_at(f, b, &fb));
    for (int i = 0; i < CLOSER; i++) {
        if (fa <= fb) {
            hi = b;
            b = a;
            fb = fa;
            a = hi - ratio * (hi - lo);
            FAB_TRY(missed_at(f, a, &fa));
        } else {
            lo = a;
            a = b;
            fa = fb;
            b = lo + ratio * (hi - lo);
            FAB_TRY(missed_at(f, b, &fb));
        }
    }
    if (fmin(fa, fb) < best) at = fa <= fb ? a : b;
    FAB_TRY(missed_at(f, at, &missed));
    return FAB_OK;
}

/* The places of an average, while the process stands at the maximum. */
static fab_status find_places(gp *f, const fab_evidence_ends *ends)
{
    if (f->s.average == FAB_AVERAGE_LAPLACE)
        return fab_gp_average_laplace(&f->mix, f->p, fab_is_auto_f64(f->s.beta));
    return ends->n > 1 ? fab_gp_average_ends(&f->mix, ends) : FAB_OK;
}

static fab_status learn_normal(gp *f)
{
    const int64_t numbers = fab_process_size(&f->m, f->kernel);
    fab_evidence_ends ends = {.size = numbers};
    fab_evidence_plan plan = plan_of(f);
    fab_evidence_report found;
    double *theta;
    FAB_TRY(
        fab_alloc_array((void **)&theta, fab_process_size(&f->m, f->kernel), sizeof *theta, "gp"));
    fab_status s = fab_alloc_array((void **)&ends.theta, FAB_EVIDENCE_ENDS * numbers,
                                   sizeof *ends.theta, "gp");
    if (s == FAB_OK && f->s.average == FAB_AVERAGE_STARTS) plan.ends = &ends;
    if (s == FAB_OK) s = fab_evidence_maximise(f->p, f->y, f->weight, &plan, &found, &f->exec);
    if (s == FAB_OK && f->s.average) s = find_places(f, &ends);
    fab_release(ends.theta);
    if (s == FAB_OK && f->by_rows) s = noise_by_rows(f);
    if (s != FAB_OK) {
        fab_release(theta);
        return s;
    }
    note_search(f, &found, plan.noise);
    fab_kernel_get(fab_process_kernel(f->p), theta);
    theta[fab_kernel_size(f->kernel)] = -log(fab_process_noise(f->p));
    f->theta = theta;
    f->stands = 1;
    return FAB_OK;
}

/* Of predictions.  A jitter is noise that had to be there. */
static double noise_of(const gp *f)
{
    return f->s.mean_only ? f->missed : fab_process_noise(f->p) + fab_process_jitter(f->p);
}

static fab_status result(void *handle, const fab_gauss **q)
{
    gp *f = handle;
    const int64_t size = fab_process_size(&f->m, f->kernel);
    if (!f->stands) {
        const fab_status s = f->normal ? learn_normal(f) : learn_laplace(f);
        f->told.done = f->told.total = 0;
        FAB_TRY(s);
    }
    if (f->normal) FAB_TRY(fab_process_evidence(f->p, &f->lml, NULL));
    if (f->mix && f->mixed != f->n) { /* more rows: all places learn them, and are weighed again */
        f->mixed = 0;
        FAB_TRY(fab_gp_average_learn(f->mix, f->p, f->y, f->weight, &f->exec));
        f->mixed = f->n;
    }
    if (f->s.mean_only) {
        FAB_TRY(find_missed(f));
        fab_process_keep_mean(f->p);
    }
    if (!f->q) FAB_TRY(fab_gauss_create(&f->q, FAB_FORM_POINT, FAB_F64, size, 0));
    memcpy(f->q->mu, f->theta, (size_t)size * sizeof *f->theta);
    f->search.lml = f->lml;
    f->search.jitter = f->normal ? fab_process_jitter(f->p) : 0;
    f->report = (fab_report){.alpha = NAN,
                             .beta = f->normal ? 1 / noise_of(f) : 1,
                             .log_evidence = f->lml,
                             .iterations = (int64_t)f->search.evaluations,
                             .converged = (int64_t)f->search.converged};
    FAB_TRY(fab_gauss_check(f->q));
    *q = f->q;
    return FAB_OK;
}

static fab_status report(void *handle, fab_report *r)
{
    *r = ((const gp *)handle)->report;
    return FAB_OK;
}

static fab_status process(void *handle, fab_process **p)
{
    *p = ((gp *)handle)->p;
    return FAB_OK;
}

static fab_status places(void *handle, fab_process_places *p)
{
    const gp *f = handle;
    if (f->mix)
        *p = (fab_process_places){
            .n = f->mix->n, .p = f->mix->p, .weight = f->mix->weight, .noise = f->mix->noise};
    return FAB_OK;
}

static fab_status classes(void *handle, fab_class_process **p)
{
    *p = ((gp *)handle)->classes;
    return FAB_OK;
}

/* ---- in files --------------------------------------------------------------------------------------------- */

static fab_status class_tensors(const gp *f, fab_tensors *t)
{
    const int64_t n = f->n, D = f->m.D, C = f->m.classes, size = FAB_GP_SEARCH;
    fab_class_parts p;
    fab_class_process_parts(f->classes, &p);
    FAB_TRY(fab_tensors_add(t, "X", FAB_F64, 2, (int64_t[]){n, D}, p.X));
    FAB_TRY(fab_tensors_add(t, "a", FAB_F64, 2, (int64_t[]){C, n}, p.a));
    FAB_TRY(fab_tensors_add(t, "s", FAB_F64, 2, (int64_t[]){C, n}, p.s));
    FAB_TRY(fab_tensors_add(t, "L", FAB_F64, 3, (int64_t[]){C, n, n}, p.L));
    FAB_TRY(fab_tensors_add(t, "M", FAB_F64, 2, (int64_t[]){n, n}, p.M));
    FAB_TRY(fab_tensors_add(t, "y", FAB_F64, 1, &n, f->y));
    FAB_TRY(fab_tensors_add(t, "weight", FAB_F64, 1, &n, f->weight));
    FAB_TRY(fab_tensors_add(t, "offset", FAB_F64, 1, &n, f->offset));
    return fab_tensors_add(t, "search", FAB_F64, 1, &size, &f->search);
}

/* The places; those behind the first have a and L of their own, in one tensor each. */
static fab_status mixture_tensors(const gp *f, fab_tensors *t)
{
    const fab_gp_average *m = f->mix;
    const int64_t n = f->n;
    FAB_TRY(fab_tensors_add(t, "places.theta", FAB_F64, 2, (int64_t[]){m->n, m->size}, m->theta));
    FAB_TRY(fab_tensors_add(t, "places.base", FAB_F64, 1, &m->n, m->base));
    FAB_TRY(fab_tensors_add(t, "places.weight", FAB_F64, 1, &m->n, m->weight));
    FAB_TRY(fab_tensors_add(t, "places.noise", FAB_F64, 1, &m->n, m->noise));
    for (int64_t r = 1; r < m->n; r++) {
        const double *a, *L;
        char name[32];
        fab_process_parts(m->p[r], NULL, &a, NULL, &L);
        snprintf(name, sizeof name, "places.%lld.a", (long long)r);
        FAB_TRY(fab_tensors_add(t, name, FAB_F64, 1, &n, a));
        snprintf(name, sizeof name, "places.%lld.L", (long long)r);
        FAB_TRY(fab_tensors_add(t, name, FAB_F64, 2, (int64_t[]){n, n}, L));
    }
    return FAB_OK;
}

static fab_status tensors(void *handle, fab_tensors *t)
{
    const gp *f = handle;
    const int64_t n = f->n, D = f->m.D, size = FAB_GP_SEARCH;
    const double *X, *a, *s, *L;
    if (f->several) return class_tensors(f, t);
    fab_process_parts(f->p, &X, &a, &s, f->s.mean_only ? NULL : &L);
    FAB_TRY(fab_tensors_add(t, "X", FAB_F64, 2, (int64_t[]){n, D}, X));
    FAB_TRY(fab_tensors_add(t, "a", FAB_F64, 1, &n, a));
    if (f->s.mean_only)
        FAB_TRY(fab_tensors_add(t, "missed", FAB_F64, 1, (int64_t[]){1}, &f->missed));
    else
        FAB_TRY(fab_tensors_add(t, "L", FAB_F64, 2, (int64_t[]){n, n}, L));
    FAB_TRY(fab_tensors_add(t, "y", FAB_F64, 1, &n, f->y));
    FAB_TRY(fab_tensors_add(t, "weight", FAB_F64, 1, &n, f->weight));
    if (s) FAB_TRY(fab_tensors_add(t, "s", FAB_F64, 1, &n, s));
    if (f->normal)
        FAB_TRY(fab_tensors_add(t, "centre", FAB_F64, 1, &D, fab_process_centre(f->p)));
    else
        FAB_TRY(fab_tensors_add(t, "offset", FAB_F64, 1, &n, f->offset));
    if (f->mix) FAB_TRY(mixture_tensors(f, t));
    return fab_tensors_add(t, "search", FAB_F64, 1, &size, &f->search);
}

/* Places that a file has; they learn when the result is asked for. */
static fab_status take_places(gp *f, const fab_tensors *t)
{
    const fab_tensor *theta = fab_tensors_find(t, "places.theta");
    const int64_t size = fab_process_size(&f->m, f->kernel);
    if (!theta) return FAB_OK;
    if (theta->ndim != 2 || theta->shape[0] < 1 || theta->shape[1] != size || !f->normal)
        return FAB_FAIL(FAB_BAD_FILE, "gp: the places of its average are of another shape");
    const int64_t n = theta->shape[0];
    FAB_TRY(fab_gp_average_create(&f->mix, n, size));
    FAB_TRY(fab_state_take(t, "places.theta", FAB_F64, 2, theta->shape, f->mix->theta));
    return fab_state_take(t, "places.base", FAB_F64, 1, &n, f->mix->base);
}

/* Without L: it is made again. */
static fab_status relearn(gp *f, const double *X)
{
    const int64_t n = f->n;
    fab_kernel *k;
    FAB_TRY(fab_kernel_copy(&k, f->kernel));
    fab_status s = fab_kernel_set(k, f->theta);
    if (s == FAB_OK) s = fab_process_create(&f->p, k, n, X, f->m.D, n, &f->exec);
    if (s == FAB_OK)
        s = fab_process_learn(f->p, f->y, f->weight, exp(-f->theta[fab_kernel_size(k)]));
    fab_kernel_free(k);
    f->stands = s == FAB_OK;
    return s;
}

/* L goes on as it stands. */
static fab_status resume(gp *f, const fab_tensors *t, const double *X)
{
    const int64_t n = f->n, D = f->m.D;
    const fab_tensor *L = fab_tensors_find(t, "L"), *centre = fab_tensors_find(t, "centre");
    fab_kernel *k;
    if (!L || L->type != FAB_F64 || L->ndim != 2 || L->shape[0] != n || L->shape[1] != n ||
        !centre || centre->type != FAB_F64 || centre->ndim != 1 || centre->shape[0] != D)
        return FAB_FAIL(FAB_BAD_FILE, "gp: the factor or the centre of its rows is absent, or of "
                                      "another shape");
    const fab_process_past past = {.n = n,
                                   .X = X,
                                   .y = f->y,
                                   .weight = f->weight,
                                   .L = L->data,
                                   .centre = centre->data,
                                   .noise = exp(-f->theta[fab_kernel_size(f->kernel)]),
                                   .jitter = f->search.jitter};
    FAB_TRY(fab_kernel_copy(&k, f->kernel));
    fab_status s = fab_kernel_set(k, f->theta);
    if (s == FAB_OK) s = fab_process_resume(&f->p, k, &past, &f->exec);
    fab_kernel_free(k);
    f->stands = s == FAB_OK;
    return s;
}

/* The state is the file itself: rows, y, parameters and factor. */
static fab_status load(void *handle, const fab_tensors *t)
{
    gp *f = handle;
    const fab_tensor *X = fab_tensors_find(t, "X"), *mu = fab_tensors_find(t, "mu");
    const int64_t size = fab_process_size(&f->m, f->kernel), D = f->m.D, searched = FAB_GP_SEARCH;
    if (!X || X->type != FAB_F64 || X->ndim != 2 || X->shape[1] != D || X->shape[0] < 1 || !mu ||
        mu->type != FAB_F64 || mu->ndim != 1 || mu->shape[0] != size)
        return FAB_FAIL(FAB_BAD_FILE, "gp: the rows or the parameters are absent, or of another "
                                      "model");
    const int64_t n = X->shape[0];
    FAB_TRY(check_limit(f, n));
    FAB_TRY(make_room(f, n));
    FAB_TRY(fab_state_take(t, "y", FAB_F64, 1, &n, f->y));
    FAB_TRY(fab_state_take(t, "weight", FAB_F64, 1, &n, f->weight));
    FAB_TRY(fab_state_take(t, "search", FAB_F64, 1, &searched, &f->search));
    FAB_TRY(fab_alloc_array((void **)&f->theta, size, sizeof *f->theta, "gp"));
    memcpy(f->theta, mu->data, (size_t)size * sizeof *f->theta);
    f->n = n;
    memset(f->offset, 0, (size_t)n * sizeof *f->offset);
    if (!f->normal) FAB_TRY(fab_state_take(t, "offset", FAB_F64, 1, &n, f->offset));
    FAB_TRY(take_places(f, t));
    const fab_examples all = {{X->data, FAB_F64, n, D}, f->y, f->weight, f->offset};
    if (fab_examples_check("rows", &f->m, &all) != FAB_OK) return fab_prefix(FAB_BAD_FILE, "gp: ");
    if (!f->normal) { /* the mode is found when the result is asked for */
        memcpy(f->X, X->data, (size_t)(n * D) * sizeof *f->X);
        return FAB_OK;
    }
    return f->s.mean_only ? relearn(f, X->data) : resume(f, t, X->data);
}

/* Nothing else to be learned but the noise. */
static int suits(const fab_likelihood_row *l)
{
    return !l->dispersion;
}

const fab_method fab_gp_method = {
    .name = "gp",
    .summary = "a Gaussian process from all rows: its kernel's parameters by the evidence",
    .takes = FAB_TAKES_KERNEL,
    .appends = 1,
    .suits = suits,
    .fields = &table,
    .init = init,
    .free = release,
    .bytes = bytes,
    .update = update,
    .work = work,
    .result = result,
    .report = report,
    .tensors = tensors,
    .process = process,
    .places = places,
    .classes = classes,
    .load = load,
};

const fab_method fab_kernel_ridge_method = {
    .name = "kernel-ridge",
    .summary = "kernel ridge regression: the mean of gp alone",
    .takes = FAB_TAKES_KERNEL,
    .appends = 1,
    .suits = fab_suits_normal,
    .fields = &ridge_table,
    .init = init_ridge,
    .free = release,
    .bytes = bytes_ridge,
    .update = update,
    .work = work,
    .result = result,
    .report = report,
    .tensors = tensors,
    .process = process,
    .load = load,
};
