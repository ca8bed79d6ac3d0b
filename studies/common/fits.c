/* fits.c - fits of regressions whose settings are words.
 *
 * SPDX-License-Identifier: MIT */
#include "fits.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SETTINGS = 512 };

static void set_words(const fab_fields *fields, void *settings, const char *const *words,
                      int64_t rank)
{
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)rank);
    for (int i = 0; words[i]; i += 2) {
        const char *value = strcmp(words[i + 1], "K") == 0 ? number : words[i + 1];
        must(fab_settings_parse(fields, settings, words[i], value));
    }
}

fab_fit *begin_variant(const char *method, fab_glm model, const char *const *base, const variant *v,
                       int64_t rank)
{
    const fab_fields *fields = fab_method_fields(fab_method_find(method));
    const fab_model linear = fab_model_linear(&model);
    double settings[MAX_SETTINGS];
    fab_fit *f;
    fab_settings_defaults(fields, settings);
    set_words(fields, settings, base, rank);
    set_words(fields, settings, v->settings, rank);
    must(fab_fit_create(&f, method, settings, fields->size, &(fab_input){.model = &linear},
                        &(fab_exec){.threads = 1}));
    return f;
}

fab_fit *fit_variant(const char *method, fab_glm model, const char *const *base, const variant *v,
                     int64_t rank, const fab_examples *e, double *seconds)
{
    fab_fit *f = begin_variant(method, model, base, v, rank);
    const fab_gauss *q;
    const double before = fab_clock();
    must(fab_fit_update(f, e));
    must(fab_fit_gauss(f, &q));
    *seconds = fab_clock() - before;
    return f;
}

variant variant_of_words(const char *label, char *words)
{
    variant v = {.label = label};
    int n = 0;
    for (char *w = strtok(words, " "); w && n < MAX_WORDS - 1; w = strtok(NULL, " "))
        v.settings[n++] = w;
    return v;
}
