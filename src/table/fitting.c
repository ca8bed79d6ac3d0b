/* fitting.c - a model and its inference while rows come in.
 *
 * SPDX-License-Identifier: MIT */
#include "table/fitting.h"
#include "base/fail.h"

fab_glm_settings *fab_fitting_glm(const fab_fitting *f)
{
    return f->what.method->infer->init ? f->settings : NULL;
}

fab_status fab_fitting_model(fab_fitting *f)
{
    const fab_recipe *w = &f->what;
    const int64_t classes = w->likelihood == FAB_LIKELIHOOD_CATEGORICAL ? f->units->levels : 1;
    fab_glm_settings *glm = fab_fitting_glm(f);
    if (glm) {
        glm->D = f->units->D;
        glm->likelihood = w->likelihood;
        glm->intercept = w->intercept;
        glm->classes = classes;
        return FAB_OK;
    }
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
    return fab_net_init(&f->net, &plan, &f->exec);
}

fab_status fab_fitting_model_of(fab_fitting *f, const fab_tensors *file)
{
    const fab_model_settings *s = f->settings;
    if (fab_fitting_glm(f)) return FAB_OK; /* the settings have it */
    FAB_TRY(fab_net_from_json(&f->net, fab_tensors_get(file, "model"), s->batch, &f->exec));
    if (fab_net_model(f->net)->head.D != f->units->D)
        return FAB_FAIL(FAB_BAD_FILE, "its network and its scaling do not belong together");
    return FAB_OK;
}

double fab_fitting_bytes(const fab_fitting *f, int64_t n)
{
    const fab_method *m = f->what.method;
    if (!f->net) return m->bytes(f->settings, n, &f->exec);
    return fab_net_bytes(f->net) + fab_infer_model_bytes(m, f->settings, fab_net_model(f->net), n);
}

fab_status fab_fitting_open(fab_fitting *f)
{
    const fab_method *m = f->what.method;
    if (!f->net) return fab_fit_create(&f->infer, fab_method_name(m), f->settings, sizeof *f->settings, &(fab_input){.model = &LINEAR, .prior = f->prior}, &f->exec);
    return fab_fit_create(&f->infer, fab_method_name(m), f->settings, sizeof *f->settings, &(fab_input){.model = fab_net_model(f->net), .prior = f->prior}, &f->exec);
}

fab_status fab_fitting_resume(fab_fitting *f, const fab_tensors *file)
{
    if (!f->net) return fab_fit_load(&f->infer, file, NULL, &f->exec);
    return fab_fit_load(&f->infer, file, &(fab_input){.model = fab_net_model(f->net), .prior = f->prior}, &f->exec);
}

void fab_fitting_close(fab_fitting *f)
{
    fab_fit_free(f->infer);
    fab_net_free(f->net);
    f->infer = NULL;
    f->net = NULL;
}

fab_status fab_fitting_update(fab_fitting *f, const fab_dataset *t)
{
    const fab_examples e = {fab_dataset_rows(t), t->y, t->weight, t->offset};
    return fab_fit_update(f->infer, &e);
}

fab_status fab_fitting_finish(fab_fitting *f)
{
    const fab_gauss *q;
    return fab_fit_gauss(f->infer, &q);
}

fab_status fab_fitting_mixture(const fab_fitting *f, fab_mixture *m)
{
    return fab_infer_mixture(f->infer, m);
}

fab_status fab_fitting_glm_of(const fab_fitting *f, fab_glm *m)
{
    return fab_fit_glm(f->infer, m);
}

fab_status fab_fitting_report(const fab_fitting *f, fab_report *i)
{
    return fab_fit_report(f->infer, i);
}

const void *fab_fitting_settings(const fab_fitting *f)
{
    return fab_fit_settings(f->infer);
}

fab_status fab_fitting_save(const fab_fitting *f, const char *path, const fab_tensors *more,
                            int unfinished)
{
    return unfinished ? fab_fit_checkpoint(f->infer, path, more)
                      : fab_fit_save(f->infer, path, more);
}
