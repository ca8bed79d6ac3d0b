/* linear.c - a fitted linear model: from its file to coefficients in the user's units.
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
           fab_tensors_get(p->file, "scaling") != NULL;
}

/* Levels that the target of such a model has. */
static int64_t levels_of(const fab_glm *m)
{
    return m->likelihood == FAB_LIKELIHOOD_BERNOULLI     ? 2
           : m->likelihood == FAB_LIKELIHOOD_CATEGORICAL ? m->classes
                                                         : 0;
}

int linear_take(linear *l, const char *file, const fab_posterior *p)
{
    *l = (linear){.file = file, .posterior = p, .q = p->mix.part[0]};
    if (!is_linear(p)) return say_failed("%s: is not a file of `fabayes fit`", file);
    fab_status s = fab_glm_from_json(&l->model, fab_tensors_get(p->file, "model"));
    if (s == FAB_OK) s = fab_scaling_from_json(&l->scaling, fab_tensors_get(p->file, "scaling"));
    if (s != FAB_OK) return say_status_of(file, s);
    if (l->scaling->D != l->model.D || l->q->D != fab_glm_size(&l->model) || l->q->total ||
        l->scaling->levels != levels_of(&l->model))
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

static int64_t width_of(const linear *l)
{
    return l->model.D + l->model.intercept;
}

void linear_to_user(const linear *l, double *theta)
{
    const fab_scaling *k = l->scaling;
    for (int64_t c = 0; c < l->model.classes; c++, theta += width_of(l)) {
        double shift = 0;
        for (int64_t d = 0; d < k->D; d++) {
            theta[d] *= k->target_scale / k->scale[d];
            shift += theta[d] * k->mean[d];
        }
        if (l->model.intercept)
            theta[k->D] = k->target_mean + k->target_scale * theta[k->D] - shift;
    }
}

/* The intercept of class c is a . theta + m_y. */
static void intercept_row(const linear *l, int64_t c, double *a)
{
    const fab_scaling *k = l->scaling;
    const int64_t first = c * width_of(l);
    memset(a, 0, (size_t)l->q->D * sizeof *a);
    for (int64_t d = 0; d < k->D; d++) a[first + d] = -k->target_scale * k->mean[d] / k->scale[d];
    a[first + k->D] = k->target_scale;
}

static fab_status intercept(linear *l, fab_solver *solver, int64_t c, double *a, double *product)
{
    const int64_t P = l->q->D, at = c * width_of(l) + l->model.D;
    double mean = l->scaling->target_mean, variance = 0;
    const fab_rows row = {.p = a, .type = FAB_F64, .n = 1, .ld = P};
    intercept_row(l, c, a);
    if (l->q->form != FAB_POINT) {
        const fab_status s = fab_solver_times_covariance(solver, &row, product);
        if (s != FAB_OK) return s;
    }
    for (int64_t i = 0; i < P; i++) {
        mean += a[i] * l->q->mu[i];
        if (l->q->form != FAB_POINT) variance += a[i] * product[i];
    }
    l->mean[at] = mean;
    l->sd[at] = sqrt(fmax(0, variance));
    return FAB_OK;
}

static void slopes(linear *l, const double *variance)
{
    const fab_scaling *k = l->scaling;
    for (int64_t i = 0; i < l->q->D; i++) {
        const int64_t d = i % width_of(l);
        if (d == k->D) continue; /* an intercept */
        const double unit = k->target_scale / k->scale[d];
        l->mean[i] = unit * l->q->mu[i];
        l->sd[i] = l->q->form == FAB_POINT ? 0 : unit * sqrt(variance[i]);
    }
}

static fab_status coefficients(linear *l, fab_solver *solver, double *work)
{
    fab_status s = l->q->form == FAB_POINT ? FAB_OK : fab_solver_variances(solver, work);
    if (s == FAB_OK) slopes(l, work);
    for (int64_t c = 0; c < l->model.classes && l->model.intercept && s == FAB_OK; c++)
        s = intercept(l, solver, c, work, work + l->q->D);
    return s;
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
    const int64_t d = i % width_of(l);
    return d < l->model.D ? l->scaling->name[d] : "intercept";
}

/* The class whose coefficient i is, or NULL: there is one predictor. */
static const char *coefficient_class(const linear *l, int64_t i, char buf[32])
{
    if (l->model.classes == 1) return NULL;
    return fab_scaling_class(l->scaling, i / width_of(l), buf);
}

json_t *linear_json(const linear *l)
{
    json_t *all = json_array();
    for (int64_t i = 0; i < l->q->D; i++) {
        char buf[32];
        json_t *one = json_object();
        const char *class = coefficient_class(l, i, buf);
        json_put(one, "name", json_text(coefficient_name(l, i)));
        if (class) json_put(one, "class", json_text(class));
        json_put(one, "mean", json_number(l->mean[i]));
        json_put(one, "sd", json_number(l->sd[i]));
        json_array_append_new(all, one);
    }
    return all;
}

static void print_coefficient(const linear *l, int64_t i)
{
    char buf[32];
    const char *class = coefficient_class(l, i, buf);
    if (class) printf("%-16s ", class);
    printf("%-24s %14.6g %12.4g\n", coefficient_name(l, i), l->mean[i], l->sd[i]);
}

void linear_print(const linear *l)
{
    enum { SHOWN = 40 };
    const int64_t P = l->q->D;
    putchar('\n');
    if (l->model.classes > 1) printf("%-16s ", "class");
    printf("%-24s %14s %12s\n", "coefficient", "mean", "sd");
    for (int64_t i = 0; i < P; i++) {
        if (i == SHOWN && P > SHOWN + 1) {
            printf("... %" PRId64 " more; `fabayes info --json` shows all\n", P - 1 - i);
            i = P - 1;
        }
        print_coefficient(l, i);
    }
}
