/* Networks on images: one fit, scored on upright and on rotated rows, a line for each angle.
 *
 *   study IMAGES LABELS FIRST N TEST_IMAGES TEST_LABELS FIRST N LAYERS METHOD SAMPLES EVERY ANGLES [NAME=VALUE ..]
 *
 * N rows from row FIRST on are taken of each pair of idx files; pixels are divided by 255.  Every EVERY-th test row is turned
 * by each of the ANGLES (degrees, "15,30"; "" for none).  Predictions are means over SAMPLES draws of theta; points need none.
 *
 * Prints angle, rows, error rate, -log p of a row, calibration error, mean predictive entropy (nats), the area under the
 * curve of that entropy as a detector of turned rows, then parameters, bytes of the method, processor
 * seconds of training.
 *
 * SPDX-License-Identifier: MIT */
#include "../common/images.h"
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CLASSES = 10, MAX_ANGLES = 32, MAX_SETTINGS = 512 };

typedef struct recipe {
    const char *layers;
    const fab_method *method;
    double settings[MAX_SETTINGS]; /* of the method */
    int64_t samples, every;
    int64_t angles;
    double angle[MAX_ANGLES]; /* the first is 0 */
} recipe;

typedef struct fit {
    fab_net *net;
    fab_fit *fit;
    const fab_mixture *q;
    double seconds, bytes;
} fit;

/* ---- what to do --------------------------------------------------------------------------------------- */

/* NAME=VALUE, cut up in place. */
static void set_one(recipe *r, char *word)
{
    char *value = strchr(word, '=');
    if (!value) {
        fprintf(stderr, "%s: expected NAME=VALUE\n", word);
        exit(1);
    }
    *value = '\0';
    must(fab_settings_parse(fab_method_fields(r->method), r->settings, word, value + 1));
}

static recipe recipe_of(int argc, char **argv)
{
    recipe r = {argv[0], fab_method_find(argv[1]), {0}, atoll(argv[2]), atoll(argv[3]), 1, {0}};
    if (!r.method || r.every < 1) {
        fprintf(stderr, "%s is no method, or every %lld-th row is none\n", argv[1],
                (long long)r.every);
        exit(1);
    }
    for (char *w = strtok(argv[4], ","); w && r.angles < MAX_ANGLES; w = strtok(NULL, ","))
        r.angle[r.angles++] = atof(w);
    r.method = fab_method_of_networks(r.method);
    fab_settings_defaults(fab_method_fields(r.method), r.settings);
    for (int i = 5; i < argc; i++) set_one(&r, argv[i]);
    return r;
}

/* Rows first .. first + n - 1 of a set that stays. */
static fab_dataset part_of(const fab_dataset *all, int64_t first, int64_t n)
{
    if (first < 0 || n < 1 || first + n > all->n) {
        fprintf(stderr, "rows %lld to %lld of %lld\n", (long long)first, (long long)(first + n),
                (long long)all->n);
        exit(1);
    }
    return (fab_dataset){.n = n, .D = all->D, .x = all->x + first * all->D, .y = all->y + first};
}

/* ---- rotation ----------------------------------------------------------------------------------------- */

/* Pixel (row, column) of a side x side image, black outside. */
static double pixel(const double *image, int64_t side, int64_t row, int64_t column)
{
    const int inside = row >= 0 && row < side && column >= 0 && column < side;
    return inside ? image[row * side + column] : 0;
}

/* Between four pixels. */
static double between(const double *image, int64_t side, double row, double column)
{
    const int64_t i = (int64_t)floor(row), j = (int64_t)floor(column);
    const double u = row - (double)i, v = column - (double)j;
    return (1 - u) * ((1 - v) * pixel(image, side, i, j) + v * pixel(image, side, i, j + 1)) +
           u * ((1 - v) * pixel(image, side, i + 1, j) + v * pixel(image, side, i + 1, j + 1));
}

/* Turn an image about its centre, counter-clockwise. */
static void turn(const double *image, int64_t side, double degrees, double *out)
{
    const double a = degrees * acos(-1) / 180, c = cos(a), s = sin(a);
    const double middle = (double)(side - 1) / 2;
    for (int64_t i = 0; i < side; i++)
        for (int64_t j = 0; j < side; j++) {
            const double y = (double)i - middle, x = (double)j - middle;
            out[i * side + j] =
                between(image, side, middle + c * y + s * x, middle + c * x - s * y);
        }
}

/* All rows as they are, then every r->every-th of them turned by each angle but the first.  Gives x and y. */
static fab_dataset turned(const recipe *r, const fab_dataset *t)
{
    const int64_t few = (t->n + r->every - 1) / r->every, side = (int64_t)sqrt((double)t->D);
    fab_dataset all = {.n = t->n + (r->angles - 1) * few, .D = t->D};
    all.x = numbers(all.n * all.D);
    all.y = numbers(all.n);
    memcpy(all.x, t->x, (size_t)(t->n * t->D) * sizeof(double));
    memcpy(all.y, t->y, (size_t)t->n * sizeof(double));
    for (int64_t a = 1, at = t->n; a < r->angles; a++)
        for (int64_t i = 0; i < t->n; i += r->every, at++) {
            turn(t->x + i * t->D, side, r->angle[a], all.x + at * t->D);
            all.y[at] = t->y[i];
        }
    return all;
}

/* ---- fit ---------------------------------------------------------------------------------------------- */

static fit fit_of(const recipe *r, const fab_dataset *t, const fab_exec *exec)
{
    const fab_net_plan plan = {.layers = r->layers,
                               .features = t->D,
                               .likelihood = FAB_LIKELIHOOD_CATEGORICAL,
                               .classes = CLASSES};
    const fab_examples e = {.x = {t->x, FAB_F64, t->n, t->D}, .y = t->y};
    fit f = {0};
    must(fab_net_create(&f.net, &plan, exec));
    const fab_input in = {.model = fab_net_model(f.net)};
    const char *method = fab_method_name(r->method);
    const size_t size = fab_method_fields(r->method)->size;
    must(fab_fit_create(&f.fit, method, r->settings, size, &in, exec));
    const clock_t begin = clock();
    must(fab_fit_update(f.fit, &e));
    must(fab_fit_result(f.fit, &f.q));
    f.seconds = (double)(clock() - begin) / CLOCKS_PER_SEC;
    f.bytes = fab_fit_bytes(method, r->settings, size, &in, t->n, exec);
    return f;
}

/* ---- scores ------------------------------------------------------------------------------------------- */

/* Log probabilities (n x CLASSES) and entropies of all rows. */
static void probabilities(const recipe *r, const fit *f, const fab_dataset *t, const fab_exec *exec,
                          double *logp, double *entropy)
{
    const fab_rows x = {t->x, FAB_F64, t->n, t->D};
    fab_draws *d;
    must(fab_draws_create(&d, fab_net_model(f->net), f->q, &x, NULL, r->samples, 1, exec));
    for (int64_t i = 0; i < t->n; i++) {
        double *mine = logp + i * CLASSES;
        fab_draws_classes(d, i, mine);
        for (int64_t k = 0; k < CLASSES; k++) entropy[i] -= exp(mine[k]) * mine[k];
    }
    fab_draws_free(d);
}

static double mean(int64_t n, const double *x)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

/* The chance that one of m entropies b is larger than one of n entropies a. */
static double detection(int64_t n, const double *a, int64_t m, const double *b)
{
    const fab_glm odds = {.likelihood = FAB_LIKELIHOOD_BERNOULLI, .classes = 1};
    double *eta = numbers(n + m), *y = numbers(n + m), *none = numbers(n + m);
    fab_scores s;
    for (int64_t i = 0; i < n + m; i++) {
        eta[i] = log(fmax(i < n ? a[i] : b[i - n], DBL_MIN)); /* order is all that counts */
        y[i] = i >= n;
    }
    must(fab_score(&odds, n + m, eta, none, y, NULL, &s));
    free(eta);
    free(y);
    free(none);
    return s.auc;
}

static void score(const recipe *r, const fit *f, const fab_dataset *t, int64_t upright,
                  const fab_exec *exec)
{
    double *logp = numbers(t->n * CLASSES), *entropy = numbers(t->n);
    probabilities(r, f, t, exec, logp, entropy);
    for (int64_t a = 0, first = 0; a < r->angles; a++) {
        const int64_t n = a == 0 ? upright : (t->n - upright) / (r->angles - 1);
        fab_scores s;
        must(fab_score_classes(CLASSES, n, logp + first * CLASSES, t->y + first, NULL, &s));
        printf("%g,%lld,%.6g,%.6g,%.6g,%.6g,%.6g,%lld,%.6g,%.4g\n", r->angle[a], (long long)n,
               1 - s.accuracy, s.nll, s.ece, mean(n, entropy + first),
               detection(upright, entropy, n, entropy + first), (long long)fab_net_model(f->net)->D,
               f->bytes, f->seconds);
        first += n;
    }
    free(logp);
    free(entropy);
}

int main(int argc, char **argv)
{
    if (argc < 14) {
        fprintf(stderr, "see the head of study.c\n");
        return 1;
    }
    const fab_exec exec = {.ops = fab_ops_find("cpu", FAB_F32), .threads = 1};
    const recipe r = recipe_of(argc - 9, argv + 9);
    fab_dataset a = images_read(argv[1], argv[2]), b = images_read(argv[5], argv[6]);
    const fab_dataset train = part_of(&a, atoll(argv[3]), atoll(argv[4]));
    const fab_dataset test = part_of(&b, atoll(argv[7]), atoll(argv[8]));
    fab_dataset all = turned(&r, &test);
    const fit f = fit_of(&r, &train, &exec);
    score(&r, &f, &all, test.n, &exec);
    fab_fit_free(f.fit);
    fab_net_free(f.net);
    images_free(&all);
    images_free(&a);
    images_free(&b);
    return 0;
}
