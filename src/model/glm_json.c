/* glm_json.c - a linear model as the JSON object that stands in a file, and back.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/json.h"
#include "base/text.h"
#include "fabayes/settings.h"
#include "model/likelihoods/likelihood.h"
#include <math.h>
#include <string.h>

fab_status fab_glm_json(const fab_glm *m, char **text)
{
    fab_text t = {0};
    char beta[32];
    fab_print_double(beta, sizeof beta, m->beta);
    fab_text_add(
        &t,
        "{\"kind\": \"linear\", \"likelihood\": \"%s\", \"features\": %lld, \"classes\": %lld, ",
        fab_likelihood_name(m->likelihood), (long long)m->D, (long long)m->classes);
    fab_text_add(&t, "\"intercept\": %s, \"beta\": %s", m->intercept ? "true" : "false", beta);
    if (m->nu > 0) {
        char nu[32];
        fab_print_double(nu, sizeof nu, m->nu);
        fab_text_add(&t, ", \"nu\": %s", nu);
    }
    fab_text_add(&t, "}");
    return fab_text_give(&t, text);
}

static int sensible(const fab_glm *m)
{
    const int64_t most = (int64_t)1 << 40;
    if (m->D < 1 || m->D > most || !(m->beta > 0 && isfinite(m->beta))) return 0;
    if (m->nu != 0 && !(m->nu > 2 && isfinite(m->nu) && fab_glm_likelihood(m)->normals)) return 0;
    if (!fab_glm_likelihood(m)->several) return m->classes == 1;
    return m->classes >= 2 && m->classes <= most / (m->D + 1);
}

static fab_status take(fab_glm *m, json_t *o)
{
    const char *kind = json_string_value(json_object_get(o, "kind"));
    if (!kind || strcmp(kind, "linear") != 0)
        return FAB_FAIL(FAB_BAD_FILE, "model: its kind is not 'linear'");
    if (fab_likelihood_find(json_string_value(json_object_get(o, "likelihood")), &m->likelihood) !=
        FAB_OK)
        return FAB_FAIL(FAB_BAD_FILE, "model: the likelihood is not known");
    m->D = json_integer_value(json_object_get(o, "features"));
    m->classes = json_integer_value(json_object_get(o, "classes"));
    m->intercept = json_is_true(json_object_get(o, "intercept"));
    m->beta = json_number_value(json_object_get(o, "beta"));
    m->nu = json_number_value(json_object_get(o, "nu"));
    if (!sensible(m))
        return FAB_FAIL(FAB_BAD_FILE, "model: features, classes or beta is missing or impossible");
    return FAB_OK;
}

fab_status fab_glm_from_json(fab_glm *m, const char *json)
{
    json_t *o;
    FAB_TRY(fab_json_read_string(&o, "model", json));
    *m = (fab_glm){0};
    const fab_status s = take(m, o);
    json_decref(o);
    return s;
}
