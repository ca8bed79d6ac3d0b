/* classes.c - the implicit equations of a softmax model, in coordinates where the Gaussian before is N(0, I).
 *
 *   1  V0 = L L, L = V l^1/2 V' of its eigenvectors, symmetric, so that neither their signs nor their turns, which are
 *      the CPU's, reach the draws;  eta = u0 + L e,  e ~ N(a, M^-1), at first a = 0, M = I
 *   2  draws e_i = a +- T'^-1 z_i, T T' = M:   p = mean of softmax,  H = mean of diag p - p p'
 *   3  direction: M' = I + w L' H L,   a' = a + M'^-1 (w L' (e_y - p) - a)         Newton for a
 *   4  the largest step 1, 1/2, .. along it at which w E log p(y) - |a|^2/2 - tr(M^-1)/2 - log det(M)/2 is not lower
 *   5  repeat 2 to 4 until a rests
 *   6  error with L' error = a;  weight = w H = root root', root = U h^1/2 of its eigenvectors
 *
 * SPDX-License-Identifier: MIT */
#include "train/sequence/classes.h"
#include "base/fail.h"
#include "fabayes/random.h"
#include "la/small.h"
#include <math.h>
#include <string.h>

#define AT_REST 1e-7  /* a step of a, the Gaussian before being N(0, I) */
#define ALONE   1e-8  /* share of the others in what is known about a row */
#define NOTHING 1e-14 /* of the largest eigenvalue: a direction without variance */
enum { MAX_STEPS = 50, MAX_HALVINGS = 30 };

typedef struct problem {
    int64_t C, y, draws;
    double w;
    const double *u0;
    double *z, *shift; /* C x draws: draws; L T'^-1 z */
    double *centre;    /* C: u0 + L a */
    double *L;         /* C x C: V l^1/2 V' */
    double *V, *scale; /* C x C eigenvectors, C: l^1/2 */
    double *a, *M;     /* C, C x C: where it stands */
    double *p, *H;     /* C, C x C: expectations there */
    double *a1, *M1;   /* the end of a full step */
    double *at, *Mt;   /* a step tried */
    double *T, *S;     /* C x C: scratch */
    double *e, *q;     /* C: scratch */
    double *eig;
    double logp, fit; /* E log p(y); the bound */
} problem;

int64_t fab_classes_work(int64_t C, int64_t draws)
{
    return 2 * C * draws + 8 * C * C + 8 * C + fab_eig_work(C);
}

static double *take(double **work, int64_t n)
{
    double *p = *work;
    *work += n;
    return p;
}

static problem place(int64_t C, int64_t draws, double *work)
{
    problem q = {.C = C, .draws = draws};
    double **const square[] = {&q.L, &q.V, &q.M, &q.H, &q.M1, &q.Mt, &q.T, &q.S};
    double **const vector[] = {&q.centre, &q.scale, &q.a, &q.p, &q.a1, &q.at, &q.e, &q.q};
    q.z = take(&work, C * draws);
    q.shift = take(&work, C * draws);
    for (size_t i = 0; i < sizeof square / sizeof *square; i++) *square[i] = take(&work, C * C);
    for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) *vector[i] = take(&work, C);
    q.eig = work;
    return q;
}

/* 1 */
static fab_status begin(problem *q, const double *V0, int64_t ld)
{
    const int64_t C = q->C;
    for (int64_t k = 0; k < C; k++)
        for (int64_t i = 0; i < C; i++) q->V[i + k * C] = 0.5 * (V0[i + k * ld] + V0[k + i * ld]);
    FAB_TRY(fab_eig(C, q->V, q->scale, q->eig));
    for (int64_t k = 0; k < C; k++) q->scale[k] = sqrt(fmax(q->scale[k], 0));
    for (int64_t i = 0; i < C * C; i++) q->S[i] = q->V[i] * q->scale[i / C];
    fab_mm(FAB_N, FAB_T, C, C, C, 1, q->S, q->V, 0, q->L);
    memset(q->a, 0, (size_t)C * sizeof *q->a);
    memset(q->M, 0, (size_t)(C * C) * sizeof *q->M);
    fab_add_identity(C, q->M);
    return FAB_OK;
}

/* p = softmax(centre + sign shift); gives log p_y */
static double softmax(const problem *q, double sign, const double *shift, double *p)
{
    const int64_t C = q->C;
    double top = -INFINITY, sum = 0;
    for (int64_t k = 0; k < C; k++) top = fmax(top, p[k] = q->centre[k] + sign * shift[k]);
    const double eta = p[q->y] - top;
    for (int64_t k = 0; k < C; k++) sum += p[k] = exp(p[k] - top);
    for (int64_t k = 0; k < C; k++) p[k] /= sum;
    return eta - log(sum);
}

static void add_draw(problem *q, double sign, const double *shift)
{
    const int64_t C = q->C;
    const double share = 0.5 / (double)q->draws;
    double *p = q->q;
    q->logp += share * softmax(q, sign, shift, p);
    for (int64_t k = 0; k < C; k++) {
        const double pk = share * p[k];
        q->p[k] += pk;
        for (int64_t l = 0; l < C; l++) q->H[l + k * C] -= p[l] * pk;
    }
}

/* 2 at (a, M); and what 4 compares */
static fab_status expect(problem *q, const double *a, const double *M)
{
    const int64_t C = q->C;
    double trace = 0, norm2 = 0;
    memcpy(q->T, M, (size_t)(C * C) * sizeof *M);
    FAB_TRY(fab_chol(C, q->T));
    memcpy(q->S, q->L, (size_t)(C * C) * sizeof *q->S);
    fab_tri_solve(FAB_RIGHT, FAB_T, C, C, q->T, q->S); /* L T'^-1 */
    fab_mm(FAB_N, FAB_N, C, q->draws, C, 1, q->S, q->z, 0, q->shift);
    memcpy(q->centre, q->u0, (size_t)C * sizeof *q->centre);
    fab_mv(FAB_N, C, C, 1, q->L, a, 1, q->centre);
    memset(q->p, 0, (size_t)C * sizeof *q->p);
    memset(q->H, 0, (size_t)(C * C) * sizeof *q->H);
    q->logp = 0;
    for (int64_t i = 0; i < q->draws; i++) {
        add_draw(q, 1, q->shift + i * C);
        add_draw(q, -1, q->shift + i * C);
    }
    for (int64_t k = 0; k < C; k++) q->H[k + k * C] += q->p[k];
    fab_chol_inv(C, q->T, q->S);
    for (int64_t k = 0; k < C; k++) trace += q->S[k + k * C], norm2 += a[k] * a[k];
    q->fit = q->w * q->logp - 0.5 * (norm2 + trace + fab_chol_logdet(C, q->T));
    return isfinite(q->fit) ? FAB_OK : FAB_NUMERIC;
}

/* 3: M1 and a1 from the expectations at (a, M) */
static fab_status find_direction(problem *q)
{
    const int64_t C = q->C;
    double *r = q->e;
    fab_mm(FAB_N, FAB_N, C, C, C, q->w, q->H, q->L, 0, q->S);
    fab_mm(FAB_T, FAB_N, C, C, C, 1, q->L, q->S, 0, q->M1);
    fab_add_identity(C, q->M1);
    for (int64_t k = 0; k < C; k++) q->q[k] = q->w * ((k == q->y) - q->p[k]);
    memcpy(r, q->a, (size_t)C * sizeof *r);
    fab_mv(FAB_T, C, C, 1, q->L, q->q, -1, r);
    memcpy(q->S, q->M1, (size_t)(C * C) * sizeof *q->S);
    FAB_TRY(fab_chol(C, q->S));
    fab_chol_solve(C, 1, q->S, r);
    for (int64_t k = 0; k < C; k++) q->a1[k] = q->a[k] + r[k];
    return FAB_OK;
}

/* 4: 1 when a step was taken */
static int step_along(problem *q)
{
    const int64_t C = q->C;
    const double before = q->fit;
    double t = 1;
    for (int i = 0; i < MAX_HALVINGS; i++, t /= 2) {
        for (int64_t k = 0; k < C; k++) q->at[k] = q->a[k] + t * (q->a1[k] - q->a[k]);
        for (int64_t k = 0; k < C * C; k++) q->Mt[k] = q->M[k] + t * (q->M1[k] - q->M[k]);
        if (expect(q, q->at, q->Mt) != FAB_OK || q->fit < before) continue;
        memcpy(q->a, q->at, (size_t)C * sizeof *q->a);
        memcpy(q->M, q->Mt, (size_t)(C * C) * sizeof *q->M);
        return 1;
    }
    return 0;
}

/* 5 */
static fab_status solve(problem *q)
{
    for (int i = 0; i < MAX_STEPS; i++) {
        double moved = 0;
        FAB_TRY(find_direction(q));
        for (int64_t k = 0; k < q->C; k++) moved = fmax(moved, fabs(q->a1[k] - q->a[k]));
        if (moved <= AT_REST) break;
        if (!step_along(q)) return expect(q, q->a, q->M); /* as far as the draws can tell */
    }
    return FAB_OK;
}

/* 6 */
static fab_status give(problem *q, fab_site *s)
{
    const int64_t C = q->C;
    const double least = NOTHING * q->scale[C - 1];
    memcpy(s->u, q->u0, (size_t)C * sizeof *s->u);
    fab_mv(FAB_N, C, C, 1, q->L, q->a, 1, s->u);
    for (int64_t k = 0; k < C; k++) s->error[k] = q->w * ((k == q->y) - q->p[k]);
    for (int64_t k = 0; k < C; k++) { /* along a direction that has variance: a */
        const double *v = q->V + k * C, scale = q->scale[k];
        double excess = 0; /* v' (L^-1 a - error) */
        if (!(q->scale[C - 1] > 0 && scale > least)) continue;
        for (int64_t i = 0; i < C; i++) excess += v[i] * (q->a[i] / scale - s->error[i]);
        for (int64_t i = 0; i < C; i++) s->error[i] += v[i] * excess;
    }
    memcpy(s->root, q->H, (size_t)(C * C) * sizeof *s->root);
    FAB_TRY(fab_eig(C, s->root, q->q, q->eig));
    for (int64_t i = 0; i < C * C; i++) s->root[i] *= sqrt(q->w * fmax(q->q[i / C], 0));
    return FAB_OK;
}

void fab_classes_update(const fab_rule *r, uint64_t row, int64_t C, double y, double w,
                        const double *u0, const double *V0, int64_t ld, fab_site *s, double *work)
{
    problem q = place(C, r->draws, work);
    q.y = (int64_t)y;
    q.w = w;
    q.u0 = u0;
    fab_random_normal(r->seed, FAB_PURPOSE_DRAW, row, 0, C * r->draws, FAB_F64, q.z);
    fab_status status = begin(&q, V0, ld);
    if (status == FAB_OK) status = expect(&q, q.a, q.M);
    s->score = w * (q.p[q.y] > 0 ? log(q.p[q.y]) : q.logp);
    if (status == FAB_OK) status = solve(&q);
    if (status == FAB_OK) status = give(&q, s);
    if (status != FAB_OK)
        for (int64_t k = 0; k < C; k++) s->error[k] = NAN;
}

fab_status fab_classes_gain(int64_t C, const double *root, const double *V0, int64_t ld,
                            double sign, double *K, double *work)
{
    double *V = work, *VQ = V + C * C, *S = VQ + C * C;
    for (int64_t i = 0; i < C * C; i++) V[i] = V0[i % C + i / C * ld];
    fab_mm(FAB_N, FAB_N, C, C, C, 1, V, root, 0, VQ);
    fab_mm(FAB_T, FAB_N, C, C, C, sign, root, VQ, 0, S);
    fab_add_identity(C, S);
    FAB_TRY(fab_chol(C, S));
    if (sign < 0)
        for (int64_t k = 0; k < C; k++)
            if (S[k + k * C] * S[k + k * C] < ALONE)
                return FAB_FAIL(FAB_NUMERIC, "the others say nothing about a row");
    memcpy(VQ, root, (size_t)(C * C) * sizeof *root);
    fab_tri_solve(FAB_RIGHT, FAB_T, C, C, S, VQ); /* root S^-T */
    fab_mm(FAB_N, FAB_T, C, C, C, 1, VQ, VQ, 0, K);
    return FAB_OK;
}
