/* sequence.c - rows one after the other in the space of their predictors, and a prior from the first.
 *
 *   for j = 1 .. m:
 *   1  u0 = eta_j, v0 = A_jj;  error, weight = scalar update of y_j                (scalar.c)
 *   2  step += error C e_j                          P_j-1 x_j = P X C e_j, C = I at first
 *   3  k = weight / (1 + weight v0), a = A e_j:  eta += error a,  A -= k a a',  C -= k (C e_j) a'
 *
 * Only what lies after j is needed again, so 3 touches i, k > j, and column j of C has j + 1 entries.
 *
 * SPDX-License-Identifier: MIT */
#include "train/sequence/sequence.h"
#include "base/fail.h"
#include <math.h>
#include <string.h>

/* 3, one column k > j of A and C */
static void take_in(fab_sequence *s, int64_t j, int64_t k, double gain)
{
    const int64_t m = s->m;
    const double *a = s->A + j * m, ak = gain * a[k];
    double *Ak = s->A + k * m;
    for (int64_t i = k; i < m; i++) Ak[i] -= ak * a[i];
    if (s->step)
        for (int64_t i = 0; i <= j; i++) s->C[i + k * m] -= ak * s->C[i + j * m];
}

static void begin(fab_sequence *s)
{
    s->squares = s->logdet = s->score = 0;
    if (!s->step) return;
    memset(s->step, 0, (size_t)s->m * sizeof *s->step);
    memset(s->C, 0, (size_t)(s->m * s->m) * sizeof *s->C);
    for (int64_t j = 0; j < s->m; j++) s->C[j + j * s->m] = 1;
}

static void add_scores(fab_sequence *s, int64_t j, double u0, double v0, const fab_scalar *q)
{
    const double variance = 1 / s->w[j] + v0, r = s->y[j] - u0;
    if (fab_likelihood_row_of(s->rule->likelihood)->noise) {
        s->squares += r * r / variance;
        s->logdet += log1p(s->w[j] * v0);
    }
    s->score += fab_scalar_score(s->rule->likelihood, s->y[j], s->w[j], u0, v0, q);
}

fab_status fab_sequence_run(fab_sequence *s)
{
    const int64_t m = s->m;
    begin(s);
    for (int64_t j = 0; j < m; j++) {
        if (s->watch)
            FAB_TRY(fab_watch_work(s->watch, FAB_SCALAR_WORK + (double)(m * m), "rows", j, m));
        const double *a = s->A + j * m, u0 = s->eta[j], v0 = a[j] > 0 ? a[j] : 0;
        const fab_scalar q =
            fab_scalar_update(s->rule, s->first + (uint64_t)j, s->y[j], s->w[j], u0, v0); /* 1 */
        s->weight[j] = q.weight;
        if (s->error) {
            s->error[j] = q.error;
            s->u[j] = q.u;
        }
        add_scores(s, j, u0, v0, &q);
        if (s->step)
            for (int64_t i = 0; i <= j; i++) s->step[i] += q.error * s->C[i + j * m]; /* 2 */
        for (int64_t i = j + 1; i < m; i++) s->eta[i] += q.error * a[i];
        const double gain = q.weight / (1 + q.weight * v0);
        for (int64_t k = j + 1; k < m; k++) take_in(s, j, k, gain); /* 3 */
    }
    return FAB_OK;
}

/* ---- the prior --------------------------------------------------------------------------------- */

enum { BANK = 17, FINE = 32 };
#define BANK_STEP 1.1512925464970228 /* log(10) / 2 */
#define ORDER     4.0   /* of the mean of 1/alpha: near the upper end of what the rows allow */
#define WIDTH     10.0  /* variance of a predictor a priori, of classes that separate in the rows */
#define LEAST_DF  0.5   /* of the noise of a stream of one row */
#define LEAST     1e-20 /* noise variance of targets without noise, relative to y^2 */

typedef struct bank {
    fab_sequence s;
    const double *G, *offset;
    const double *y;
    double *is;              /* categorical: 1 where y is the class in question */
    int64_t classes;         /* 1 for the others */
    double intercept, floor; /* floor of squares */
    double beta;             /* 0: to be found */
    double rows;             /* a row of weight w counts as w */
} bank;

int64_t fab_prior_work(int64_t n)
{
    return n * n + 3 * n;
}

/* The rows in turn under a prior precision. */
static fab_status run_bank(bank *b, double alpha)
{
    fab_sequence *s = &b->s;
    const int64_t n = s->m;
    for (int64_t i = 0; i < n * n; i++) s->A[i] = b->G[i] / alpha + b->intercept;
    memcpy(s->eta, b->offset, (size_t)n * sizeof *s->eta);
    return fab_sequence_run(s);
}

/* Score of a prior precision; *beta as in force. */
static fab_status find_score(bank *b, double alpha, double *score, double *beta)
{
    fab_sequence *s = &b->s;
    const int64_t n = s->m;
    *score = 0;
    *beta = 1;
    for (int64_t c = 0; c < b->classes; c++) {
        if (b->classes > 1)
            for (int64_t j = 0; j < n; j++) b->is[j] = b->y[j] == (double)c;
        FAB_TRY(run_bank(b, alpha));
        *score += s->score;
    }
    if (!fab_likelihood_row_of(s->rule->likelihood)->noise) return FAB_OK;
    const double squares = s->squares > b->floor ? s->squares : b->floor;
    *beta = b->beta > 0 ? b->beta : b->rows / squares;
    *score = 0.5 * (b->rows * log(*beta) - *beta * squares - s->logdet);
    return FAB_OK;
}

/* Mean square of the features, of which alpha is measured in units. */
static double unit_of(int64_t n, const double *G, const double *w, double rows)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += w[j] * G[j + j * n] / rows;
    return sum > 0 && isfinite(sum) ? sum : 1;
}

double fab_noise(double df, double squares, double power)
{
    const double some = fmax(df, LEAST_DF), least = power > 0 ? LEAST * power : some;
    return some / fmax(squares, least) * (some / (some + 2));
}

static double floor_of(int64_t n, const double *y)
{
    double sum = 0;
    for (int64_t j = 0; j < n; j++) sum += y[j] * y[j];
    return sum > 0 ? LEAST * sum : (double)n;
}

/* The mean of order ORDER of the prior variance 1/alpha under exp(score), which is a parabola between three
 * neighbours, as a place in the bank: the best alpha when the rows decide, a wide prior when they do not.
 * A narrow one would be sure of what nobody knows; under a wide one intervals keep their promise. */
static double wide_place(const double *score, int best)
{
    double sum = 0, variance = 0;
    for (int t = 0; t <= (BANK - 1) * FINE; t++) {
        int i = (t + FINE / 2) / FINE; /* the nearest that has two neighbours */
        if (i < 1) i = 1;
        if (i > BANK - 2) i = BANK - 2;
        const double x = (double)t / FINE - i, down = score[i - 1], up = score[i + 1];
        const double at = score[i] + 0.5 * x * (up - down) +
                          0.5 * x * x * (up + down - 2 * score[i]);
        const double p = exp(fmin(at - score[best], 50));
        sum += p;
        variance += p * exp(-ORDER * BANK_STEP * ((double)t / FINE - best));
    }
    return best - log(variance / sum) / (ORDER * BANK_STEP);
}

/* The top of the parabola through the best score and its neighbours. */
static double top_place(const double *score, int best)
{
    if (best == 0 || best == BANK - 1) return best;
    const double down = score[best - 1], up = score[best + 1],
                 curvature = 2 * score[best] - up - down;
    return curvature > 0 ? best + 0.5 * (up - down) / curvature : best;
}

static double bank_at(double unit, double place)
{
    return unit * exp((place - (double)(BANK / 2)) * BANK_STEP);
}

fab_status fab_prior_choose(const fab_glm *model, int64_t n, const double *G, double intercept,
                            const double *y, const double *w, const double *offset,
                            fab_watch *watch, fab_stream_prior *prior, double *work)
{
    const fab_likelihood l = model->classes > 1 ? FAB_LIKELIHOOD_BERNOULLI : model->likelihood;
    const fab_rule rule = {.likelihood = l, .expectation = FAB_PROBIT};
    double *is = work + n * n + 2 * n;
    bank b = {.s = {.rule = &rule,
                    .m = n,
                    .y = model->classes > 1 ? is : y,
                    .w = w,
                    .A = work,
                    .eta = work + n * n,
                    .weight = work + n * n + n,
                    .watch = watch},
              .G = G,
              .y = y,
              .is = is,
              .classes = model->classes,
              .offset = offset,
              .intercept = intercept,
              .floor = floor_of(n, y),
              .beta = fab_likelihood_row_of(l)->noise ? prior->beta : 0};
    for (int64_t j = 0; j < n; j++) b.rows += w[j];
    const double unit = unit_of(n, G, w, b.rows);
    double score[BANK], beta, own_beta, last;
    int best = 0;
    for (int i = 0; i < BANK; i++) {
        FAB_TRY(find_score(&b, bank_at(unit, i), &score[i], &beta));
        if (score[i] > score[best]) best = i;
    }
    FAB_TRY(find_score(&b, bank_at(unit, top_place(score, best)), &last, &beta));
    double alpha = bank_at(unit, wide_place(score, best));
    if (model->classes > 1 && best == 0) alpha = unit / WIDTH; /* no end in sight */
    FAB_TRY(find_score(&b, alpha, &last, &own_beta));
    *prior = (fab_stream_prior){
        .alpha = alpha, .beta = own_beta, .uninformative = fmax(0, b.rows * (1 - beta / own_beta))};
    return FAB_OK;
}
