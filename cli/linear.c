/* linear.c - a fitted linear model: from its file to coefficients and predictions in the user's units.
 *
 *     coefficient_j = theta_j s_y / s_j
 *     intercept     = m_y + s_y (theta_0 - sum_j theta_j m_j / s_j)
 *
 * SPDX-License-Identifier: MIT */
#include "linear.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the file --------------------------------------------------------------------------------------- */

int is_linear(const fab_posterior *p)
{
    const char *model = fab_tensors_get(p->file, "model");
    return p->mix.n == 1 && model && strstr(model, "\"linear\"") &&
           !strstr(model, "\"categorical\"") && fab_tensors_get(p->file, "scaling") != NULL;
}

int linear_take(linear *l, const char *file, const fab_posterior *p)
{
    *l = (linear){.file = file, .posterior = p, .q = p->mix.part[0]};
    if (!is_linear(p)) return say_failed("%s: is not a file of `fabayes fit`", file);
    fab_status s = fab_glm_from_json(&l->model, fab_tensors_get(p->file, "model"));
    if (s == FAB_OK) s = fab_scaling_from_json(&l->scaling, fab_tensors_get(p->file, "scaling"));
    if (s != FAB_OK) return say_status_of(file, s);
    const int64_t levels = l->model.likelihood == FAB_BERNOULLI ? 2 : 0;
    if (l->scaling->D != l->model.D || l->q->D != fab_glm_size(&l->model) || l->q->total ||
        l->scaling->levels != levels)
        return say_failed("%s: its Gaussian, model and scaling do not belong together", file);
    return DONE;
}

void linear_close(linear *l)
{
    fab_scaling_free(l->scaling);
    free(l->mean);
    *l = (linear){0};
}

/* ---- coefficients ------------------------------------------------------------------------------------- */

/* The intercept is a . theta + m_y. */
static void intercept_row(const linear *l, double *a)
{
    const fab_scaling *k = l->scaling;
    for (int64_t d = 0; d < k->D; d++) a[d] = -k->target_scale * k->mean[d] / k->scale[d];
    a[k->D] = k->target_scale;
}

static fab_status intercept(linear *l, fab_solver *solver, double *a, double *product)
{
    const int64_t P = l->q->D;
    double mean = l->scaling->target_mean, variance = 0;
    const fab_rows row = {a, FAB_F64, 1, P};
    fab_status s = FAB_OK;
    intercept_row(l, a);
    if (l->q->form != FAB_POINT) s = fab_solver_times_covariance(solver, &row, product);
    for (int64_t i = 0; s == FAB_OK && i < P; i++) {
        mean += a[i] * l->q->mu[i];
        if (l->q->form != FAB_POINT) variance += a[i] * product[i];
    }
    l->mean[P - 1] = mean;
    l->sd[P - 1] = sqrt(fmax(0, variance));
    return s;
}

static fab_status coefficients(linear *l, fab_solver *solver, double *work)
{
    const fab_scaling *k = l->scaling;
    const int point = l->q->form == FAB_POINT;
    const fab_status s = point ? FAB_OK : fab_solver_variances(solver, work);
    for (int64_t d = 0; s == FAB_OK && d < k->D; d++) {
        const double unit = k->target_scale / k->scale[d];
        l->mean[d] = unit * l->q->mu[d];
        l->sd[d] = point ? 0 : unit * sqrt(work[d]);
    }
    return s == FAB_OK && l->model.intercept ? intercept(l, solver, work, work + l->q->D) : s;
}

int linear_coefficients(linear *l)
{
    const int64_t P = l->q->D;
    fab_solver *solver = NULL;
    l->mean = malloc(4 * (size_t)P * sizeof *l->mean); /* means, sds, and room for two rows */
    if (!l->mean) return say_failed("%s: no memory for the coefficients", l->file);
    l->sd = l->mean + P;
    fab_status s = fab_solver_init(&solver, l->q, NULL);
    if (s == FAB_OK) s = coefficients(l, solver, l->sd + P);
    fab_solver_free(solver);
    return s == FAB_OK ? DONE : say_status_of(l->file, s);
}

static const char *coefficient_name(const linear *l, int64_t i)
{
    return i < l->model.D ? l->scaling->name[i] : "intercept";
}

json_t *linear_json(const linear *l)
{
    json_t *all = json_array();
    for (int64_t i = 0; i < l->q->D; i++) {
        json_t *one = json_object();
        json_put(one, "name", json_text(coefficient_name(l, i)));
        json_put(one, "mean", json_number(l->mean[i]));
        json_put(one, "sd", json_number(l->sd[i]));
        json_array_append_new(all, one);
    }
    return all;
}

void linear_print(const linear *l)
{
    enum { SHOWN = 40 };
    const int64_t P = l->q->D;
    printf("\n%-24s %14s %12s\n", "coefficient", "mean", "sd");
    for (int64_t i = 0; i < P; i++) {
        if (i == SHOWN && P > SHOWN + 1) {
            printf("... %" PRId64 " more; `fabayes info --json` shows all\n", P - 1 - i);
            i = P - 1;
        }
        printf("%-24s %14.6g %12.4g\n", coefficient_name(l, i), l->mean[i], l->sd[i]);
    }
}

/* ---- predictions ---------------------------------------------------------------------------------------- */

int table_open(fab_source **s, const data_options *o)
{
    const fab_source_options options = {
        .format = (fab_format)o->format, .features = o->features, .rows = o->rows};
    const fab_status opened = fab_source_open(s, o->file, &options);
    return opened == FAB_OK ? DONE : say_status(opened);
}

static int read_table(outlook *o, const linear *l, const data_options *d, int with_target)
{
    fab_source *source = NULL;
    data_options sized = *d;
    if (l->scaling->sparse) sized.features = l->scaling->D;
    int status = table_open(&source, &sized);
    if (status != DONE) return status;
    fab_status s = fab_dataset_read_as(&o->data, source, l->scaling, with_target);
    if (s == FAB_OK) s = fab_scaling_apply(l->scaling, o->data);
    fab_source_close(source);
    return s == FAB_OK ? DONE : say_status_of(d->file, s);
}

/* From fitting units to the user's. */
static void to_user(outlook *o, const fab_scaling *k)
{
    const double u = k->target_scale;
    for (int64_t i = 0; i < o->data->n; i++) {
        o->eta[i] = k->target_mean + u * o->eta[i];
        o->variance[i] *= u * u;
        if (o->data->y) o->data->y[i] = k->target_mean + u * o->data->y[i];
    }
    if (o->model.likelihood == FAB_GAUSSIAN) o->model.beta /= u * u;
}

int outlook_open(outlook *o, const linear *l, const data_options *d, int with_target)
{
    *o = (outlook){.model = l->model};
    const int status = read_table(o, l, d, with_target);
    if (status != DONE) return status;
    const fab_dataset *t = o->data;
    const fab_rows x = {t->x, FAB_F64, t->n, t->D};
    const fab_examples e = {x, t->y, NULL, t->offset};
    o->eta = malloc(2 * (size_t)t->n * sizeof *o->eta);
    if (!o->eta) return say_failed("%s: no memory for the predictions", d->file);
    o->variance = o->eta + t->n;
    fab_status s = with_target ? fab_examples_check(d->file, &o->model, &e) : FAB_OK;
    if (s == FAB_OK) s = fab_predict_eta(l->q, &o->model, &x, t->offset, NULL, o->eta, o->variance);
    if (s != FAB_OK) return say_status_of(d->file, s);
    to_user(o, l->scaling);
    return DONE;
}

void outlook_close(outlook *o)
{
    fab_dataset_free(o->data);
    free(o->eta);
    *o = (outlook){0};
}

int outlook_of(const char *file, const data_options *d, int with_target, fab_posterior **p,
               linear *l, outlook *o)
{
    const fab_status s = fab_posterior_load(p, file);
    if (s != FAB_OK) return say_status(s);
    const int status = linear_take(l, file, *p);
    return status == DONE ? outlook_open(o, l, d, with_target) : status;
}
