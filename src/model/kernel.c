/* kernel.c - a Gaussian process as a fab_model: a kernel and a likelihood, and the JSON object of both.
 *
 * It has no loss by theta and no outputs: what the rows say of f is the method's, and theta only has the parameters.
 *
 * SPDX-License-Identifier: MIT */
#include "model/kernel.h"
#include "base/fail.h"
#include "base/json.h"
#include "base/text.h"
#include "fabayes/settings.h"
#include "model/likelihoods/likelihood.h"
#include <math.h>
#include <string.h>

enum { MOST_CLASSES = 1000 }; /* that a target has */

int64_t fab_process_noise_at(const fab_glm *m, const fab_kernel *k)
{
    return fab_likelihood_row_of(m->likelihood)->noise ? fab_kernel_size(k) : -1;
}

int64_t fab_process_size(const fab_glm *m, const fab_kernel *k)
{
    return fab_kernel_size(k) + (fab_process_noise_at(m, k) >= 0);
}

static fab_status fix_beta(void *self, double beta)
{
    fab_glm *g = self;
    if (!fab_glm_likelihood(g)->noise)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "Gaussian process: beta = %g of a %s target", beta,
                        fab_likelihood_name(g->likelihood));
    g->beta = beta;
    return FAB_OK;
}

fab_model fab_model_kernel(fab_glm *g, const fab_kernel *k)
{
    if (!(g->beta > 0)) g->beta = 1;
    return (fab_model){.D = fab_process_size(g, k),
                       .head = *g,
                       .outputs = 1,
                       .batch = 1,
                       .type = FAB_F64,
                       .self = g,
                       .fix_beta = fix_beta,
                       .kernel = k};
}

/* ---- in a file ------------------------------------------------------------------------------------------ */

fab_status fab_process_json(const fab_glm *m, const fab_kernel *k, char **text)
{
    fab_text t = {0};
    char beta[32];
    fab_print_double(beta, sizeof beta, m->beta);
    fab_text_add(&t, "{\"kind\": \"gp\", \"kernel\": ");
    fab_text_add_json(&t, fab_kernel_text(k));
    fab_text_add(&t, ", \"likelihood\": \"%s\", \"features\": %lld, \"beta\": %s",
                 fab_likelihood_name(m->likelihood), (long long)m->D, beta);
    if (fab_likelihood_row_of(m->likelihood)->several)
        fab_text_add(&t, ", \"classes\": %lld", (long long)m->classes);
    fab_text_add(&t, "}");
    return fab_text_give(&t, text);
}

static fab_status take(fab_glm *m, fab_kernel **k, json_t *o, int64_t D, const char *const *column)
{
    const char *kind = json_string_value(json_object_get(o, "kind"));
    const char *kernel = json_string_value(json_object_get(o, "kernel"));
    if (!kind || strcmp(kind, "gp") != 0)
        return FAB_FAIL(FAB_BAD_FILE, "model: its kind is not 'gp'");
    if (fab_likelihood_find(json_string_value(json_object_get(o, "likelihood")), &m->likelihood) !=
        FAB_OK)
        return FAB_FAIL(FAB_BAD_FILE, "model: the likelihood is not known");
    m->D = json_integer_value(json_object_get(o, "features"));
    m->beta = json_number_value(json_object_get(o, "beta"));
    m->classes = 1;
    if (fab_likelihood_row_of(m->likelihood)->several)
        m->classes = json_integer_value(json_object_get(o, "classes"));
    if (m->classes < 1 || (fab_likelihood_row_of(m->likelihood)->several && m->classes < 2) ||
        m->classes > MOST_CLASSES)
        return FAB_FAIL(FAB_BAD_FILE, "model: the number of classes is missing or impossible");
    if (m->D != D || !(m->beta > 0 && isfinite(m->beta)) || !kernel)
        return FAB_FAIL(FAB_BAD_FILE, "model: kernel, features or beta is missing or impossible");
    const fab_status s = fab_kernel_create(k, kernel, D, column);
    return s == FAB_BAD_ARGUMENT ? fab_prefix(FAB_BAD_FILE, "model: ") : s;
}

fab_status fab_process_from_json(fab_glm *m, fab_kernel **k, const char *json, int64_t D,
                                 const char *const *column)
{
    const int64_t before = fab_json_failures();
    json_t *o;
    *k = NULL;
    *m = (fab_glm){0};
    FAB_TRY(fab_json_read_string(&o, "model", json));
    const fab_status s = take(m, k, o, D, column);
    json_decref(o);
    if (fab_json_failures() == before) return s;
    fab_kernel_free(*k);
    *k = NULL;
    return FAB_FAIL(FAB_NO_MEMORY, "model: takes more memory than there is");
}
