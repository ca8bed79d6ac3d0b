/* fuzz_net.c - any bytes as a network, in text or in JSON: refused with a sentence, or a network that computes a finite
 * number of outputs and reads back the same from its own JSON.
 *
 * The first byte says which, and the likelihood, the noise and the number of features of the text; the rest is the
 * network.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/exec.h"
#include "fabayes/net.h"
#include "fabayes/settings.h"
#include "fuzz.h"

enum { MAX_TEXT = 4096, MAX_D = 1 << 16, ROWS = 2 };

static fab_net_plan plan_of(uint8_t first, const char *text)
{
    static const int64_t features[] = {1, 2, 9, 16};
    const fab_likelihood likelihood = (fab_likelihood)(first >> 1 & 3);
    return (fab_net_plan){.layers = text,
                          .features = features[first >> 3 & 3],
                          .likelihood = likelihood,
                          .classes = likelihood == FAB_LIKELIHOOD_CATEGORICAL ? 3 : 1,
                          .noise = likelihood == FAB_LIKELIHOOD_GAUSSIAN
                                       ? (fab_noise)(first >> 5 & 1)
                                       : FAB_NOISE_FIXED,
                          .beta = 1,
                          .batch = ROWS};
}

/* A network from its own JSON is the same one. */
static void read_back(const fab_net *net)
{
    char *text, *same;
    fab_net *again;
    if (fab_net_json(net, &text) != FAB_OK) return; /* memory */
    const fab_status s = fab_net_from_json(&again, text, ROWS, NULL);
    must(s == FAB_OK || s == FAB_NO_MEMORY);
    if (s == FAB_OK && fab_net_json(again, &same) == FAB_OK) {
        must(strcmp(text, same) == 0);
        fab_text_free(same);
    }
    fab_net_free(again);
    fab_text_free(text);
}

/* Every layer runs forwards over rows of zeros and ones. */
static void compute(const fab_net *net)
{
    const fab_model *m = fab_net_model(net);
    const int64_t inputs = m->head.D;
    if (m->D > MAX_D || inputs > MAX_D || m->outputs > MAX_D) return;
    double *theta = calloc((size_t)m->D, sizeof *theta), *out,
           *x = calloc((size_t)(ROWS * inputs), sizeof *x);
    out = calloc((size_t)(ROWS * m->outputs), sizeof *out);
    must(theta && x && out);
    for (int64_t i = 0; i < inputs; i++) x[i] = 1;
    const fab_rows rows = {.p = x, .type = FAB_F64, .n = ROWS, .ld = inputs};
    m->start(m->self, 1, theta);
    must(m->predict(m->self, theta, &rows, out) == FAB_OK);
    touch(out, (size_t)(ROWS * m->outputs) * sizeof *out);
    free(theta);
    free(out);
    free(x);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static char text[MAX_TEXT];
    fab_net *net;
    if (size < 1 || size > MAX_TEXT) return 0;
    fab_set_allocator(small_alloc, free);
    memcpy(text, bytes + 1, size - 1);
    text[size - 1] = 0;
    const int json = bytes[0] & 1;
    const fab_net_plan plan = plan_of(bytes[0], text);
    const fab_status s = json ? fab_net_from_json(&net, text, ROWS, NULL)
                              : fab_net_create(&net, &plan, NULL);
    if (s != FAB_OK) {
        must(!net);
        must(s == FAB_NO_MEMORY || s == (json ? FAB_BAD_FILE : FAB_BAD_ARGUMENT));
        check_sentence("");
        return 0;
    }
    read_back(net);
    compute(net);
    fab_net_free(net);
    return 0;
}
