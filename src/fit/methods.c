/* methods.c - the list of methods, and what each of them takes.
 *
 * SPDX-License-Identifier: MIT */
#include "fit/method.h"
#include "base/settings.h"
#include "model/likelihoods/likelihood.h"
#include <string.h>

static const fab_method *const list[] = {
#define FAB_METHOD(name) &fab_##name##_method,
#include "fit/list.h"
#undef FAB_METHOD
};

int64_t fab_method_count(void)
{
    return (int64_t)(sizeof list / sizeof *list);
}

const fab_method *fab_method_at(int64_t i)
{
    return i >= 0 && i < fab_method_count() ? list[i] : NULL;
}

const fab_method *fab_method_find(const char *name)
{
    for (int64_t i = 0; i < fab_method_count(); i++)
        if (strcmp(list[i]->name, name) == 0) return list[i];
    return NULL;
}

const fab_method *fab_method_of_networks(const fab_method *m)
{
    return m->general ? m->general : m;
}

const fab_method *fab_method_of_vectors(const fab_method *m)
{
    return m->vectors ? m->vectors : m;
}

const char *fab_method_name(const fab_method *m)
{
    return m->name;
}

const char *fab_method_summary(const fab_method *m)
{
    return m->summary;
}

const fab_fields *fab_method_fields(const fab_method *m)
{
    return m->fields;
}

void fab_method_defaults(const char *method, void *settings, size_t size)
{
    const fab_method *m = fab_method_find(method);
    memset(settings, 0, size);
    if (!m) return;
    fab_settings_add_defaults(m->fields, settings, size);
    if (m->general && m->general->fields->size == m->fields->size) /* one struct for both */
        fab_settings_add_defaults(m->general->fields, settings, size);
}

int fab_method_streams(const fab_method *m)
{
    return (int)m->streams;
}

int fab_method_clusters(const fab_method *m)
{
    return m->mixture != NULL;
}

int fab_method_continues(const fab_method *m)
{
    return m->streams || m->appends;
}

int64_t fab_method_takes(const fab_method *m)
{
    return m->takes | FAB_TAKES_SPARSE; /* all of them read rows through base/rows.h */
}

int64_t fab_method_asks(const fab_method *m)
{
    int64_t asks = m->asks;
    if (m->takes & FAB_TAKES_GRADIENT) asks |= FAB_ASKS_GRADIENT;
    if (m->takes & FAB_TAKES_EXAMPLES) asks |= FAB_ASKS_EXAMPLES;
    return asks;
}

/* What keeps m from this kind of model. */
const char *fab_method_lacks_model(const fab_method *m, const fab_model *model)
{
    const int64_t takes = m->takes;
    if (!model)
        return takes & FAB_TAKES_VECTORS || m->vectors ? NULL : "needs a model, not vectors alone";
    if (takes & FAB_TAKES_LINEAR && model->glm) return NULL;
    if (takes & FAB_TAKES_KERNEL) return model->kernel ? NULL : "needs a model with a kernel";
    if (model->kernel) return "knows no Gaussian process; gp, vfe, dtc and fitc do";
    if (takes & FAB_TAKES_GRADIENT && model->loss) return NULL;
    if (takes & FAB_TAKES_EXAMPLES && model->loss && (model->examples || model->gradients))
        return NULL;
    if (takes & FAB_TAKES_JACOBIAN && model->predict && model->jacobian) return NULL;
    if (takes & FAB_TAKES_GRADIENT) return "needs a model with a loss and its gradient";
    if (takes & FAB_TAKES_EXAMPLES) return "needs a model with gradients of single examples";
    if (takes & FAB_TAKES_JACOBIAN) return "needs a model with outputs and their Jacobian";
    if (takes & FAB_TAKES_LINEAR) return "needs a model with a linear predictor";
    return "fits vectors, it knows no model";
}

/* Does it take this likelihood of the models that it takes? */
static int suits(const fab_method *m, const fab_likelihood_row *l)
{
    if (l->dispersion && !m->dispersion) return 0;
    return !m->suits || m->suits(l);
}

int64_t fab_method_likelihoods(const fab_method *m)
{
    int64_t all = 0;
    if (m->takes & FAB_TAKES_VECTORS) return 0;
    for (int l = 0; l < FAB_LIKELIHOODS; l++)
        if (suits(m, fab_likelihood_row_of((fab_likelihood)l))) all |= (int64_t)1 << l;
    return all;
}

const char *fab_method_lacks(const fab_method *m, const fab_model *model)
{
    const char *lack = fab_method_lacks_model(m, model);
    if (lack || !model || (int)model->head.likelihood < 0 ||
        (int)model->head.likelihood >= FAB_LIKELIHOODS)
        return lack; /* a likelihood that is none has a sentence of its own */
    if (suits(m, fab_glm_likelihood(&model->head))) return NULL;
    return "needs another likelihood of the target: fab_method_likelihoods says which";
}

/* What `suits` of methods may say. */
int fab_suits_normal(const fab_likelihood_row *l)
{
    return l->normal;
}

int fab_suits_recursion(const fab_likelihood_row *l)
{
    return l->update || l->several;
}

int fab_suits_expectations(const fab_likelihood_row *l)
{
    return l->mean_loglik || l->several;
}

int64_t fab_method_setting(const fab_method *m, const void *settings, const char *name)
{
    int64_t v = 0;
    const fab_field *f = fab_settings_find(m->fields, name);
    if (f) memcpy(&v, (const char *)settings + f->offset, sizeof v);
    return v;
}
