/* fitting.c - a model and its inference while rows come in.
 *
 * SPDX-License-Identifier: MIT */
#include "table/fitting.h"
#include "base/fail.h"
#include "base/memory.h"
#include "fit/fit.h"
#include "model/kernel.h"
#include "model/net/examples.h"
#include "base/settings.h"
#include "fit/method.h"
#include "model/likelihoods/likelihood.h"
#include <math.h>

#define LEAST_NOISE 0.1 /* of what was learned */

int fab_fitting_is_linear(const fab_fitting *f)
{
    return (f->what.method->takes & FAB_TAKES_LINEAR) != 0;
}

int fab_fitting_is_process(const fab_fitting *f)
{
    return (f->what.method->takes & FAB_TAKES_KERNEL) != 0;
}

fab_status fab_fitting_columns(const fab_scaling *k, const char ***names)
{
    FAB_TRY(fab_alloc_array((void **)names, k->D, sizeof **names, "columns"));
    for (int64_t d = 0; d < k->D; d++) (*names)[d] = k->name[d];
    for (int64_t c = 0; c < k->columns && !k->formula; c++) {
        const fab_column *p = &k->column[c];
        const int64_t features = p->levels ? p->levels : 1 + p->steps;
        for (int64_t i = 0; i < features; i++) (*names)[p->first + i] = p->name;
    }
    return FAB_OK;
}

static fab_status open_kernel(fab_fitting *f)
{
    const char **names;
    const int several = fab_likelihood_row_of(f->what.likelihood)->several;
    f->glm = (fab_glm){.likelihood = f->what.likelihood,
                       .D = f->units->D,
                       .classes = several ? f->units->levels : 1,
                       .beta = 1};
    FAB_TRY(fab_fitting_columns(f->units, &names));
    const fab_status s = fab_kernel_create(&f->kernel, f->what.kernel, f->units->D, names);
    fab_release((void *)names);
    return s;
}

fab_status fab_fitting_model(fab_fitting *f)
{
    const fab_recipe *w = &f->what;
    const int64_t classes = fab_likelihood_row_of(w->likelihood)->several ? f->units->levels : 1;
    if (fab_fitting_is_linear(f)) {
        f->glm = (fab_glm){.likelihood = w->likelihood,
                           .D = f->units->D,
                           .classes = classes,
                           .intercept = w->intercept,
                           .nu = w->nu};
        return FAB_OK;
    }
    if (fab_fitting_is_process(f)) return open_kernel(f);
    const fab_model_settings *s = f->settings;
    const fab_net_plan plan = {.layers = w->layers ? w->layers : "linear",
                               .features = f->units->D,
                               .likelihood = w->likelihood,
                               .classes = classes,
                               .noise = w->noise,
                               .beta = s->beta > 0 ? s->beta : 1,
                               .nu = w->nu,
                               .floor = w->floor / f->units->target_scale,
                               .batch = s->batch};
    return fab_net_create(&f->net, &plan, &f->exec);
}

int64_t fab_fitting_levels(const fab_glm *m)
{
    if (fab_likelihood_target(m->likelihood) != FAB_TARGET_CLASSES) return 0;
    return m->classes > 1 ? m->classes : 2;
}

fab_status fab_fitting_model_of(fab_fitting *f, const fab_tensors *file)
{
    const fab_model_settings *s = f->settings;
    if (fab_fitting_is_linear(f)) return fab_glm_from_json(&f->glm, fab_tensors_get(file, "model"));
    if (fab_fitting_is_process(f)) {
        const char **names;
        FAB_TRY(fab_fitting_columns(f->units, &names));
        const fab_status done = fab_process_from_json(
            &f->glm, &f->kernel, fab_tensors_get(file, "model"), f->units->D, names);
        fab_release((void *)names);
        return done;
    }
    FAB_TRY(fab_net_from_json(&f->net, fab_tensors_get(file, "model"), s->batch, &f->exec));
    const fab_glm *head = &fab_net_model(f->net)->head;
    if (head->D != f->units->D || f->units->levels != fab_fitting_levels(head))
        return FAB_FAIL(FAB_BAD_FILE, "its network and its scaling do not belong together");
    return FAB_OK;
}

/* The model as a fit takes it; *room is where one that is no network stands during the call.  glm: room for its own, which
 * the fit of a process borrows. */
static fab_input input_of(const fab_fitting *f, fab_model *room, fab_glm *glm)
{
    if (glm != &f->glm) *glm = f->glm;
    if (!f->net) *room = f->kernel ? fab_model_kernel(glm, f->kernel) : fab_model_linear(glm);
    return (fab_input){
        .model = f->net ? fab_net_model(f->net) : room, .prior = f->prior, .beta = f->guess};
}

double fab_fitting_bytes(const fab_fitting *f, int64_t n)
{
    const fab_method *m = f->what.method;
    fab_model room;
    fab_glm glm;
    const fab_input in = input_of(f, &room, &glm);
    return (f->net ? fab_net_bytes(f->net) : 0) +
           fab_fit_bytes(m->name, f->settings, m->fields->size, &in, n, &f->exec);
}

fab_status fab_fitting_open(fab_fitting *f)
{
    const fab_method *m = f->what.method;
    fab_model room;
    fab_glm glm;
    const fab_input in = input_of(f, &room, f->kernel ? &f->glm : &glm);
    return fab_fit_create(&f->fit, m->name, f->settings, m->fields->size, &in, &f->exec);
}

fab_status fab_fitting_resume(fab_fitting *f, const fab_tensors *file)
{
    fab_model room;
    fab_glm glm;
    const fab_input in = input_of(f, &room, f->kernel ? &f->glm : &glm);
    return fab_fit_load(&f->fit, file, f->net || f->kernel ? &in : NULL, &f->exec);
}

void fab_fitting_close(fab_fitting *f)
{
    fab_fit_free(f->fit);
    fab_net_free(f->net);
    fab_kernel_free(f->kernel);
    f->fit = NULL;
    f->net = NULL;
    f->kernel = NULL;
}

static void add_left(fab_fitting *f, const fab_dataset *t, int64_t first, int64_t n)
{
    for (int64_t i = first; i < first + n && t->residual; i++) {
        const double w = t->weight ? t->weight[i] : 1;
        f->left.sum += w * (f->left.most > 0 ? fmin(t->residual[i], f->left.most) : t->residual[i]);
        f->left.rows += w;
    }
}

/* The difference of two means says no more than that where little is left of the first. */
void fab_fitting_take_off(const fab_fitting *f, fab_glm *m)
{
    if (!(f->left.rows > 0) || !fab_likelihood_row_of(m->likelihood)->noise) return;
    const double all = 1 / m->beta, rest = all - f->left.sum / f->left.rows;
    m->beta = 1 / fmax(rest, LEAST_NOISE * all);
}

static int learns_noise(const fab_fitting *f)
{
    return !(fab_settings_number(f->what.method->fields, f->settings, "beta") > 0);
}

fab_status fab_fitting_update_part(fab_fitting *f, const fab_dataset *t, int64_t first, int64_t n)
{
    const fab_examples all = {fab_dataset_rows(t), t->y, t->weight, t->offset},
                       e = fab_examples_part(&all, first, n);
    FAB_TRY(fab_fit_update(f->fit, &e));
    if (learns_noise(f)) add_left(f, t, first, n);
    return FAB_OK;
}

fab_status fab_fitting_update(fab_fitting *f, const fab_dataset *t)
{
    return fab_fitting_update_part(f, t, 0, t->n);
}

fab_status fab_fitting_so_far(const fab_fitting *f, const fab_gauss **q, int *root, fab_glm *m)
{
    const fab_mixture *all = NULL;
    fab_status s = fab_fit_rough(f->fit, q, root, m);
    const int rough = s == FAB_OK && *q;
    if (rough) fab_fitting_take_off(f, m);
    if (s == FAB_OK && !rough) s = fab_fit_so_far(f->fit, &all);
    if (s == FAB_OK && !rough) s = fab_fitting_glm_of(f, m);
    if (s != FAB_OK) *q = NULL;
    if (s == FAB_NO_MEMORY || s == FAB_STOPPED) return s;
    if (s == FAB_OK && all && all->n == 1) *q = all->part[0];
    return FAB_OK;
}

fab_status fab_fitting_finish(fab_fitting *f)
{
    const fab_gauss *q;
    return fab_fit_gauss(f->fit, &q);
}

fab_status fab_fitting_mixture(const fab_fitting *f, fab_mixture *m)
{
    const fab_mixture *all;
    FAB_TRY(fab_fit_result(f->fit, &all));
    *m = *all;
    return FAB_OK;
}

fab_status fab_fitting_glm_of(const fab_fitting *f, fab_glm *m)
{
    FAB_TRY(fab_fit_glm(f->fit, m));
    fab_fitting_take_off(f, m);
    return FAB_OK;
}

fab_status fab_fitting_report(const fab_fitting *f, fab_report *i)
{
    return fab_fit_report(f->fit, i);
}

const void *fab_fitting_settings(const fab_fitting *f)
{
    return fab_fit_settings(f->fit);
}

fab_status fab_fitting_save(const fab_fitting *f, const char *path, const fab_tensors *more,
                            int unfinished)
{
    return unfinished ? fab_fit_checkpoint(f->fit, path, more) : fab_fit_save(f->fit, path, more);
}

fab_target fab_likelihood_target(fab_likelihood l)
{
    return fab_likelihood_row_of(l)->target;
}
