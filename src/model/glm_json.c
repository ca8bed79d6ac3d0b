/* glm_json.c - a linear model as the JSON object that stands in a file, and back.
 *
 * SPDX-License-Identifier: MIT */
#include "base/fail.h"
#include "base/text.h"
#include "fabayes/model.h"
#include "fabayes/settings.h"
#include <jansson.h>
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
    fab_text_add(&t, "\"intercept\": %s, \"beta\": %s}", m->intercept ? "true" : "false", beta);
    return fab_text_give(&t, text);
}

static int find_likelihood(const char *name, fab_likelihood *l)
{
    for (int i = 0; name && fab_likelihood_names[i]; i++)
        if (strcmp(name, fab_likelihood_names[i]) == 0) {
            *l = (fab_likelihood)i;
            return 1;
        }
    return 0;
}

static int sensible(const fab_glm *m)
{
    const int64_t most = (int64_t)1 << 40;
    if (m->D < 1 || m->D > most || !(m->beta > 0 && isfinite(m->beta))) return 0;
    if (m->likelihood != FAB_LIKELIHOOD_CATEGORICAL) return m->classes == 1;
    return m->classes >= 2 && m->classes <= most / (m->D + 1);
}

static fab_status take(fab_glm *m, json_t *o)
{
    const char *kind = json_string_value(json_object_get(o, "kind"));
    if (!kind || strcmp(kind, "linear") != 0)
        return FAB_FAIL(FAB_BAD_FILE, "model: its kind is not 'linear'");
    if (!find_likelihood(json_string_value(json_object_get(o, "likelihood")), &m->likelihood))
        return FAB_FAIL(FAB_BAD_FILE, "model: the likelihood is not known");
    m->D = json_integer_value(json_object_get(o, "features"));
    m->classes = json_integer_value(json_object_get(o, "classes"));
    m->intercept = json_is_true(json_object_get(o, "intercept"));
    m->beta = json_number_value(json_object_get(o, "beta"));
    if (!sensible(m))
        return FAB_FAIL(FAB_BAD_FILE, "model: features, classes or beta is missing or impossible");
    return FAB_OK;
}

fab_status fab_glm_from_json(fab_glm *m, const char *json)
{
    json_t *o = json_loads(json, JSON_REJECT_DUPLICATES, NULL);
    if (!o) return FAB_FAIL(FAB_BAD_FILE, "model: this is not JSON");
    *m = (fab_glm){0};
    const fab_status s = take(m, o);
    json_decref(o);
    return s;
}
