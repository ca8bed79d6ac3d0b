/* study.c - online-mfa, one pass from the rows alone, beside batch mfa that starts at the truth.
 *
 *     study_online_mfa RESULTS D G q ROWS SEEDS SEPARATION..
 *
 * A known mixture as in the sketch of it: means N(0, separation^2), F = N(0, 1) times lengths from U(0.3, 1), psi from U(0.3, 1.5), equal
 * weights.  One line of RESULTS for each seed and separation; those that are there already are not run again.
 *
 * SPDX-License-Identifier: MIT */
#include <fabayes.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HELD = 5000, PIECE = 2000 };

static void must(fab_status s)
{
    if (s == FAB_OK) return;
    fprintf(stderr, "study_online_mfa: %s\n", fab_detail());
    exit(1);
}

static double *numbers(int64_t n)
{
    double *p = malloc((size_t)n * sizeof *p);
    if (p) return p;
    fprintf(stderr, "study_online_mfa: no memory for %" PRId64 " numbers\n", n);
    exit(1);
}

static double processor(void)
{
    return (double)clock() / CLOCKS_PER_SEC;
}

/* ---- the truth -------------------------------------------------------------------------------------- */

typedef struct truth {
    fab_gauss **own;
    const fab_gauss **part;
    double *weight;
    fab_mixture mix;
} truth;

static truth make_truth(int64_t D, int64_t G, int64_t q, double apart, uint64_t seed)
{
    truth t = {
        calloc((size_t)G, sizeof *t.own), calloc((size_t)G, sizeof *t.part), numbers(G), {0}};
    for (int64_t g = 0; g < G; g++) {
        fab_gauss *p;
        const uint64_t at = (uint64_t)(10 * g);
        double *size = numbers(q);
        must(fab_gauss_create(&p, FAB_FORM_COVARIANCE, FAB_F64, D, q));
        double *F = p->F;
        fab_random_normal(seed, (fab_purpose)1000, at, 0, D, FAB_F64, p->mu);
        fab_random_normal(seed, (fab_purpose)1000, at + 1, 0, D * q, FAB_F64, F);
        fab_random_uniform(seed, (fab_purpose)1000, at + 2, 0, q, size);
        fab_random_uniform(seed, (fab_purpose)1000, at + 3, 0, D, p->psi);
        for (int64_t i = 0; i < D; i++) {
            p->mu[i] *= apart;
            p->psi[i] = 0.3 + 1.2 * p->psi[i];
            for (int64_t k = 0; k < q; k++) F[i * q + k] *= 0.3 + 0.7 * size[k];
        }
        t.part[g] = t.own[g] = p;
        t.weight[g] = 1 / (double)G;
        free(size);
    }
    t.mix = (fab_mixture){G, t.part, t.weight};
    return t;
}

static void free_truth(truth *t)
{
    for (int64_t g = 0; g < t->mix.n; g++) fab_gauss_free(t->own[g]);
    free(t->own);
    free(t->part);
    free(t->weight);
}

/* ---- how good --------------------------------------------------------------------------------------- */

static double mean_logpdf(const fab_mixture *q, const fab_rows *x)
{
    double *l = numbers(x->n), sum = 0;
    must(fab_mixture_logpdf(q, x, NULL, l));
    for (int64_t j = 0; j < x->n; j++) sum += l[j];
    free(l);
    return sum / (double)x->n;
}

/* The likeliest part of each row. */
static void labels(const fab_mixture *q, const fab_rows *x, int64_t *label)
{
    double *l = numbers(x->n), *best = numbers(x->n);
    for (int64_t g = 0; g < q->n; g++) {
        fab_solver *s;
        must(fab_solver_create(&s, q->part[g], NULL));
        must(fab_solver_logpdf(s, x, l));
        fab_solver_free(s);
        for (int64_t j = 0; j < x->n; j++) {
            const double v = log(q->weight[g]) + l[j];
            if (g > 0 && !(v > best[j])) continue;
            best[j] = v;
            label[j] = g;
        }
    }
    free(l);
    free(best);
}

static double pairs(double n)
{
    return n * (n - 1) / 2;
}

static double rand_index(const int64_t *a, const int64_t *b, int64_t n, int64_t G) /* adjusted */
{
    double *table = calloc((size_t)((G + 2) * G), sizeof *table), both = 0, left = 0, right = 0;
    for (int64_t j = 0; j < n; j++) {
        table[a[j] * G + b[j]]++;
        table[G * G + a[j]]++;
        table[G * G + G + b[j]]++;
    }
    for (int64_t i = 0; i < G * G; i++) both += pairs(table[i]);
    for (int64_t g = 0; g < G; g++)
        left += pairs(table[G * G + g]), right += pairs(table[G * G + G + g]);
    free(table);
    const double expected = left * right / pairs((double)n);
    return (both - expected) / ((left + right) / 2 - expected);
}

/* ---- one line --------------------------------------------------------------------------------------- */

static fab_fit *stream(const truth *t, int64_t D, int64_t q, int64_t rows, uint64_t seed, double *x,
                       double *seconds)
{
    fab_online_mfa_settings s = fab_online_mfa_defaults(t->mix.n);
    fab_fit *f;
    const fab_mixture *r;
    s.q = q;
    s.seed = (int64_t)seed;
    const double from = processor();
    must(fab_fit_create(&f, "online-mfa", &s, sizeof s, &(fab_input){.vectors = D}, NULL));
    for (int64_t j = 0; j < rows; j += PIECE) {
        const int64_t n = rows - j < PIECE ? rows - j : PIECE;
        must(fab_fit_update(
            f, &(fab_examples){.x = {.p = x + j * D, .type = FAB_F64, .n = n, .ld = D}}));
    }
    must(fab_fit_result(f, &r));
    *seconds = processor() - from;
    return f;
}

static void run(FILE *out, int64_t D, int64_t G, int64_t q, int64_t rows, uint64_t seed,
                double apart)
{
    truth t = make_truth(D, G, q, apart, seed);
    double *x = numbers(rows * D), *held = numbers(HELD * D), online, batch = processor();
    int64_t *from = malloc(HELD * sizeof *from), *found = malloc(HELD * sizeof *found),
            *bayes = malloc(HELD * sizeof *bayes);
    must(fab_mixture_sample(&t.mix, seed, FAB_PURPOSE_DATA, 0, rows, FAB_F64, x, D, NULL, NULL));
    must(fab_mixture_sample(&t.mix, seed, FAB_PURPOSE_DATA, rows, HELD, FAB_F64, held, D, from,
                            NULL));
    const fab_rows test = {.p = held, .type = FAB_F64, .n = HELD, .ld = D};
    const fab_mixture *a, *b;
    fab_fit *f = stream(&t, D, q, rows, seed, x, &online), *g;
    must(fab_fit_result(f, &a));
    fab_mfa_settings s = fab_mfa_defaults(G);
    s.q = q;
    s.tol = 1e-5;
    batch = processor();
    must(
        fab_fit_create(&g, "mfa", &s, sizeof s, &(fab_input){.vectors = D, .start = &t.mix}, NULL));
    must(fab_fit_update(g, &(fab_examples){.x = {.p = x, .type = FAB_F64, .n = rows, .ld = D}}));
    must(fab_fit_result(g, &b));
    batch = processor() - batch;
    labels(a, &test, found);
    labels(&t.mix, &test, bayes);
    fprintf(out,
            "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%g,%" PRIu64
            ",%.4f,%.4f,%.4f,%.5f,%.5f,%.1f,%.1f\n",
            D, G, q, rows, apart, seed, mean_logpdf(&t.mix, &test), mean_logpdf(b, &test),
            mean_logpdf(a, &test), rand_index(from, found, HELD, G),
            rand_index(from, bayes, HELD, G), online, batch);
    fflush(out);
    fab_fit_free(f);
    fab_fit_free(g);
    free_truth(&t);
    free(x);
    free(held);
    free(from);
    free(found);
    free(bayes);
}

static int is_there(const char *path, const char *key)
{
    char line[512];
    int there = 0;
    FILE *f = fopen(path, "r");
    while (f && fgets(line, sizeof line, f)) there |= strncmp(line, key, strlen(key)) == 0;
    if (f) fclose(f);
    return there;
}

int main(int argc, char **argv)
{
    if (argc < 8) {
        fprintf(stderr, "study_online_mfa RESULTS D G q ROWS SEEDS SEPARATION..\n");
        return 2;
    }
    const int64_t D = atoll(argv[2]), G = atoll(argv[3]), q = atoll(argv[4]), rows = atoll(argv[5]);
    FILE *out = fopen(argv[1], "a");
    if (!out) return 1;
    if (ftell(out) == 0)
        fprintf(out,
                "D,G,q,rows,separation,seed,truth,batch,online,ari,ari_bayes,online_s,batch_s\n");
    fflush(out);
    for (uint64_t seed = 1; seed <= (uint64_t)atoll(argv[6]); seed++)
        for (int i = 7; i < argc; i++) {
            char key[200];
            snprintf(key, sizeof key,
                     "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%g,%" PRIu64 ",", D, G, q,
                     rows, atof(argv[i]), seed);
            if (!is_there(argv[1], key)) run(out, D, G, q, rows, seed, atof(argv[i]));
        }
    fclose(out);
    return 0;
}
