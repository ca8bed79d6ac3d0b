/* absorb.c - S <- a S + b X X', brought back to rank K plus diagonal ([L] Alg. 1 in one pass a loop).
 *
 *   S = a (W0 W0' + psi0) + b X X'
 *   1  G = W0' psi0^-1 W0,  C = W0' psi0^-1 X                        one reduction over the rows
 *   2  first loop:  P'V = a G M + b C C',  V = a W0 M + b X C'       M = I + G
 *   3  later loops: P'V = a (H' H + E) + b N N',  V = a W0 H + a (psi0/psi) W + b X N'
 *                   H = W0' psi^-1 W,  E = W' diag(psi0/psi^2) W,  N = W' psi^-1 X
 *   4  W <- V right,  psi <- diag(S) - rowquad(W, Q)                 fab_em_step gives right and Q
 *      but for the last loop: rows of the parameter-expanded step, which need no Q; the plain W is these rows times a small Z
 *      after the first loop W = W0 R + X C, and so G = R' H + C' N'
 *   5  eigen cut instead: Y = [sqrt(a) W0, sqrt(b) X], V_K the leading eigenvectors of the Gram of
 *      (a psi0)^-1/2 Y;  W = Y V_K,  psi = diag(S) - |w_i|^2
 *
 * Row i of 4 needs row i only, so it is one sweep, and that sweep accumulates what 3 needs next.  W0
 * stays in g->F; the last loop writes over it.  Nothing of g has changed before that, so a failure leaves it as it was.
 * Where F is narrow, columns are few and so are loops, the W of the loop before is made again from W0 and the ratios
 * r = psi0/psi of each loop, as it is needed: V right = W0 R + X C + r (W0 R_1 + X C_1 + r' (..)); products are cheaper there
 * than memory.  Else the loops work in a second array.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/gauss.h"
#include "base/fail.h"
#include "base/memory.h"
#include "base/rows.h"
#include "base/settings.h"
#include "la/ops.h"
#include "la/small.h"
#include "posterior/absorb.h"
#include "posterior/em.h"
#include <math.h>
#include <string.h>

#define MAX_D ((int64_t)1 << 40) /* products of these fit into an int64_t */
enum { MAX_K = 65536, MAX_M = 1 << 20 };
enum { NARROW = 32 }; /* rows of at most so many numbers are made again */

struct fab_absorb {
    fab_watch *watch; /* or NULL: nobody watches */
    fab_absorb_settings set;
    fab_run run;
    int64_t D, K, m;
    int both;  /* room for either cut */
    int chain; /* the W of the loop before is made again */
    int lent;  /* the workspace is the caller's */
    int64_t floored;
    void *X; /* m vectors of length D */
    void *W; /* D x K, when there is more than one loop and no chain */
    /* D doubles at least: 1 / psi0 (eigen); psi and diag(S) beside W; the ratios of a chain */
    void *near;
    double *sums;                      /* the one message: G, E, H (K x K each), N (K x m) */
    double *PV, *right, *Q, *T, *work; /* K x K; work 2 K x K */
    double *Z, *Z_next;                /* K x K */
    double *R, *Cx;                    /* K x K, m x K; of a chain those of every term */
    double *ZN;                        /* K x m */
    double *Y, *lambda, *eig;          /* eigen cut: (K+m) x (K+m), K+m, scratch */
};

/* ---- settings --------------------------------------------------------------------------------- */

#define SETTINGS fab_absorb_settings
static const char *const cuts[] = {"em", "eigen", NULL};
static const fab_field fields[] = {
    FIELD(inner, I64, 3, 1, 1000, "EM loops for each block of columns"),
    SWITCH(expand, 1, "parameter-expanded EM: the same cost, usually faster"),
    CHOICE(cut, FAB_CUT_EM, cuts, "how the rank is brought back to K"),
    FIELD(psi_min, F64, 1e-9, 0, 0.5, "floor of psi, relative to the coordinate's diagonal of S"),
};
_Static_assert(sizeof(SETTINGS) == 8 * sizeof fields / sizeof *fields, "every setting has its row");
static const fab_fields table = TABLE("absorb", fields);
#undef SETTINGS

const fab_fields *fab_absorb_table(void)
{
    return &table;
}

void fab_absorb_fill(fab_absorb_settings *s, size_t size)
{
    memset(s, 0, size);
    fab_settings_add_defaults(&table, s, size);
}

/* Copy the settings of a caller who may know fewer of them. */
static fab_status take_settings(fab_absorb_settings *to, const fab_absorb_settings *s, size_t size)
{
    *to = fab_absorb_defaults();
    if (s && (size > sizeof *to || size % 8 != 0 || size == 0))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "absorb: settings of %zu bytes, expected %zu or fewer",
                        size, sizeof *to);
    if (s) memcpy(to, s, size);
    return FAB_OK;
}

/* ---- life ------------------------------------------------------------------------------------- */

static int eigen(const fab_absorb *ab)
{
    return ab->set.cut == FAB_CUT_EIGEN;
}

/* Loops are few, and so are the columns that each of them multiplies once more. */
static int makes_again(const fab_absorb *ab)
{
    return ab->K <= NARROW && 2 * ab->m <= ab->K && ab->set.inner > 1 &&
           ab->set.inner <= FAB_SWEEP_TERMS + 1;
}

static int64_t near_bytes(const fab_absorb *ab, int64_t again)
{
    const int64_t one = (int64_t)sizeof(double),
                  ratios = (ab->set.inner - 1) * (int64_t)ab->run.ops->size;
    if (!again) return ab->D * one;
    return ab->D * (ab->chain ? (ratios > one ? ratios : one) : 2 * one);
}

static size_t work_bytes(const fab_absorb *ab)
{
    const int64_t rows = ab->chain ? 2 * ab->K : ab->K, cols = ab->K > ab->m ? ab->K : ab->m;
    const int by_eigen = eigen(ab) || ab->both;
    return ab->run.ops->work(ab->D, by_eigen && cols > rows ? cols : rows, cols, ab->run.threads);
}

static void layout(fab_layout *l, void *handle)
{
    fab_absorb *ab = handle;
    const int64_t D = ab->D, K = ab->K, m = ab->m, by_eigen = eigen(ab) || ab->both;
    const int64_t again = (!eigen(ab) || ab->both) && ab->set.inner > 1, Y = by_eigen ? K + m : 0;
    const int64_t terms = ab->chain ? ab->set.inner : 1;
    ab->X = fab_place(l, D * m, ab->run.ops->size);
    ab->W = again && !ab->chain ? fab_place(l, D * K, ab->run.ops->size) : NULL;
    ab->near = fab_place(l, near_bytes(ab, again), 1);
    ab->sums = fab_place(l, 3 * K * K + K * m + (by_eigen ? m * m : 0), sizeof *ab->sums);
    ab->PV = fab_place(l, K * K, sizeof *ab->PV);
    ab->right = fab_place(l, K * K, sizeof *ab->right);
    ab->Q = fab_place(l, K * K, sizeof *ab->Q);
    ab->T = fab_place(l, K * K, sizeof *ab->T);
    ab->work = fab_place(l, 2 * K * K, sizeof *ab->work);
    ab->Z = fab_place(l, K * K, sizeof *ab->Z);
    ab->Z_next = fab_place(l, K * K, sizeof *ab->Z_next);
    ab->R = fab_place(l, terms * K * K, sizeof *ab->R);
    ab->Cx = fab_place(l, terms * m * K, sizeof *ab->Cx);
    ab->ZN = fab_place(l, K * m, sizeof *ab->ZN);
    ab->Y = fab_place(l, Y * Y, sizeof *ab->Y);
    ab->lambda = fab_place(l, Y, sizeof *ab->lambda);
    ab->eig = fab_place(l, Y ? fab_eig_work(Y) : 0, sizeof *ab->eig);
    if (!ab->lent) ab->run.work = fab_place(l, (int64_t)work_bytes(ab), 1);
}

static fab_status prototype(fab_absorb *proto, int64_t D, int64_t K, int64_t m,
                            const fab_absorb_settings *s, const fab_exec *x)
{
    if (D < 1 || D > MAX_D || K < 1 || K > MAX_K || m < 1 || m > MAX_M)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "absorb: D = %lld, K = %lld, m = %lld, expected 1 to 2^40, 65536, 2^20",
                        (long long)D, (long long)K, (long long)m);
    *proto = (fab_absorb){.set = s ? *s : fab_absorb_defaults(), .D = D, .K = K, .m = m};
    FAB_TRY(fab_settings_check(&table, &proto->set));
    proto->chain = makes_again(proto);
    return fab_run_init(&proto->run, x, x && x->ops ? x->ops->type : FAB_F64);
}

fab_status fab_absorb_create(fab_absorb **ab, int64_t D, int64_t K, int64_t m,
                             const fab_absorb_settings *s, size_t size, const fab_exec *x)
{
    *ab = NULL;
    fab_absorb proto;
    fab_absorb_settings own;
    FAB_TRY(take_settings(&own, s, size));
    FAB_TRY(prototype(&proto, D, K, m, &own, x));
    return fab_build((void **)ab, sizeof proto, &proto, layout);
}

fab_status fab_absorb_create_in(fab_absorb **ab, int both, int64_t D, int64_t K, int64_t m,
                                const fab_absorb_settings *s, void *work, const fab_exec *x)
{
    *ab = NULL;
    fab_absorb proto;
    FAB_TRY(prototype(&proto, D, K, m, s, x));
    proto.both = both;
    proto.lent = 1;
    proto.run.work = work;
    return fab_build((void **)ab, sizeof proto, &proto, layout);
}

size_t fab_absorb_work(int both, int64_t D, int64_t K, int64_t m, const fab_absorb_settings *s,
                       const fab_exec *x)
{
    fab_absorb proto;
    if (prototype(&proto, D, K, m, s, x) != FAB_OK) return 0;
    proto.both = both;
    return work_bytes(&proto);
}

double fab_absorb_bytes(int both, int64_t D, int64_t K, int64_t m, const fab_absorb_settings *s,
                        const fab_exec *x)
{
    fab_absorb proto;
    if (prototype(&proto, D, K, m, s, x) != FAB_OK) return 0;
    proto.both = both;
    proto.lent = 1;
    return (double)fab_build_size(sizeof proto, &proto, layout);
}

void fab_absorb_free(fab_absorb *ab)
{
    fab_release(ab);
}

int64_t fab_absorb_floored(const fab_absorb *ab)
{
    return ab->floored;
}

/* ---- EM --------------------------------------------------------------------------------------- */

static double *part(const fab_absorb *ab, int i) /* G, E, H, N of the message */
{
    return ab->sums + i * ab->K * ab->K;
}

/* The ratios psi0 / psi of loop l, where W is made again. */
static void *ratios(const fab_absorb *ab, int64_t l)
{
    return (char *)ab->near + (size_t)(l * ab->D) * ab->run.ops->size;
}

/* 1  G and C in the places of G and N */
static fab_status first_sums(fab_absorb *ab, const fab_gauss *g, const fab_long *X)
{
    const int64_t K = ab->K;
    fab_sweep s = {.n = ab->D,
                   .K = K,
                   .w = fab_long_rows(g->F, ab->D, K),
                   .r0 = 1,
                   .psi = g->psi,
                   .G = part(ab, 0),
                   .N = part(ab, 3),
                   .next = *X};
    ab->run.ops->sweep(&ab->run, &s);
    FAB_TRY(fab_sum(&ab->run, part(ab, 0), K * K));
    return fab_sum(&ab->run, part(ab, 3), K * X->k);
}

/* 2, 3  PV = P' V */
static void form_PV(fab_absorb *ab, int loop, double a, double b, int64_t m)
{
    const int64_t K = ab->K;
    const double *G = part(ab, 0), *E = part(ab, 1), *H = part(ab, 2), *N = part(ab, 3);
    memcpy(ab->PV, loop == 0 ? G : E, (size_t)(K * K) * sizeof *ab->PV);
    if (loop == 0)
        fab_mm(FAB_N, FAB_N, K, K, K, a, G, G, a, ab->PV); /* a G (I + G) */
    else
        fab_mm(FAB_T, FAB_N, K, K, K, a, H, H, a, ab->PV); /* a (H' H + E) */
    fab_mm(FAB_N, FAB_T, K, K, m, b, N, N, 1, ab->PV);     /* + b N N' */
}

/* The coefficients of the sweep: V right in terms of W0, the rows of the loop before and X; where those are made again, of
 * W0 and X alone.  fab_em_step left L in T and, when expanded, N in work. */
static void form_coefficients(fab_absorb *ab, int loop, int expanded, double a, double b, int64_t m)
{
    const int64_t K = ab->K, KK = K * K, mK = m * K;
    const double *G = part(ab, 0), *H = part(ab, 2), *N = part(ab, 3);
    double *R = ab->R, *C = ab->Cx;
    if (loop > 0) {
        for (int64_t i = 0; i < KK; i++) ab->T[i] = a * ab->right[i];
        if (!ab->set.expand) { /* W = rows Z */
            fab_mm(FAB_N, FAB_N, K, K, K, 1, ab->Z, ab->T, 0, ab->work);
            memcpy(ab->T, ab->work, (size_t)KK * sizeof *ab->T);
        }
        for (int64_t t = ab->chain ? loop : 0; t > 0; t--) {
            fab_mm(FAB_N, FAB_N, K, K, K, 1, R + (t - 1) * KK, ab->T, 0, R + t * KK);
            fab_mm(FAB_N, FAB_N, m, K, K, 1, C + (t - 1) * mK, ab->T, 0, C + t * mK);
        }
        fab_mm(FAB_N, FAB_N, K, K, K, a, H, ab->right, 0, R);
    } else if (expanded) { /* a M right = a L N'^-1 */
        for (int64_t k = 0; k < K; k++)
            for (int64_t i = 0; i < K; i++) R[i + k * K] = i >= k ? a * ab->T[i + k * K] : 0;
        fab_tri_solve(FAB_RIGHT, FAB_T, K, K, ab->work, R);
    } else {
        for (int64_t i = 0; i < KK; i++) R[i] = a * ab->right[i];
        fab_mm(FAB_N, FAB_N, K, K, K, a, G, ab->right, 1, R);
    }
    fab_mm(FAB_T, FAB_N, m, K, K, b, N, ab->right, 0, C);
}

/* Z = N^-1 L': rows of the parameter-expanded step times Z are those of the plain one. */
static void form_Z(fab_absorb *ab)
{
    const int64_t K = ab->K;
    double *Z = ab->Z_next; /* Z is that of the rows there are */
    for (int64_t k = 0; k < K; k++)
        for (int64_t i = 0; i < K; i++) Z[k + i * K] = i >= k ? ab->T[i + k * K] : 0;
    fab_tri_solve(FAB_LEFT, FAB_N, K, K, ab->work, Z);
}

/* A <- Z' A Z */
static void congruent(fab_absorb *ab, double *A)
{
    const int64_t K = ab->K;
    fab_mm(FAB_T, FAB_N, K, K, K, 1, ab->Z, A, 0, ab->work);
    fab_mm(FAB_N, FAB_N, K, K, K, 1, ab->work, ab->Z, 0, A);
    fab_symmetrise(K, A);
}

/* The sums as the next loop wants them. */
static void finish_sums(fab_absorb *ab, int loop, int64_t m)
{
    const int64_t K = ab->K;
    double *G = part(ab, 0), *E = part(ab, 1), *H = part(ab, 2), *N = part(ab, 3);
    if (loop == 0) { /* W = W0 R + X C, and so is G */
        fab_mm(FAB_T, FAB_N, K, K, K, 1, ab->R, H, 0, G);
        fab_mm(FAB_T, FAB_T, K, K, m, 1, ab->Cx, N, 1, G);
        fab_symmetrise(K, G);
    }
    if (ab->set.expand) return;
    congruent(ab, G);
    congruent(ab, E);
    fab_mm(FAB_N, FAB_N, K, K, K, 1, H, ab->Z, 0, ab->work);
    memcpy(H, ab->work, (size_t)(K * K) * sizeof *H);
    fab_mm(FAB_T, FAB_N, K, m, K, 1, ab->Z, N, 0, ab->ZN);
    memcpy(N, ab->ZN, (size_t)(K * m) * sizeof *N);
}

static fab_sweep describe(fab_absorb *ab, fab_gauss *g, int loop, int last, double a, double b,
                          const fab_long *X)
{
    const fab_long F = fab_long_rows(g->F, ab->D, ab->K), W = fab_long_rows(ab->W, ab->D, ab->K);
    double *psi = ab->near, *diag = psi + ab->D; /* where W is kept */
    fab_sweep s = {.n = ab->D,
                   .K = ab->K,
                   .w = F,
                   .R = ab->R,
                   .x = *X,
                   .C = ab->Cx,
                   .Q = last && !ab->set.expand ? ab->Q : NULL,
                   .floor = ab->set.psi_min,
                   .psi = g->psi,
                   .psi0 = g->psi};
    if (ab->chain || loop == 0) { /* base = a (psi0 + |w0|^2) + b |x|^2 = diag(S) */
        s.c0 = s.c1 = a;
        s.c2 = b;
    } else {
        s.u = W;
        s.T = ab->T;
        s.s_num = g->psi;
        s.s_den = psi;
        s.c3 = 1;
        s.d2 = diag;
    }
    if (ab->chain) {
        s.terms = loop;
        for (int t = 0; t < loop; t++) s.f[t] = ratios(ab, loop - 1 - t);
        s.more_R = ab->R + ab->K * ab->K;
        s.more_C = ab->Cx + X->k * ab->K;
    } else if (loop == 0 && !last) {
        s.base_out = diag;
    }
    if (last) {
        s.out = F;
        s.psi_out = g->psi;
        return s;
    }
    if (ab->chain) {
        s.ratio_out = ratios(ab, loop);
    } else {
        s.out = W;
        s.psi_out = psi;
    }
    if (loop > 0) s.G = part(ab, 0);
    s.E = part(ab, 1), s.H = part(ab, 2), s.N = part(ab, 3);
    s.next = *X;
    return s;
}

static fab_status em_loops(fab_absorb *ab, fab_gauss *g, double a, double b, const fab_long *X)
{
    const int64_t K = ab->K, m = X->k;
    FAB_TRY(first_sums(ab, g, X)); /* 1 */
    for (int loop = 0; loop < ab->set.inner; loop++) {
        const int last = loop == ab->set.inner - 1, expanded = ab->set.expand || !last;
        if (!fab_all_finite(K * K, part(ab, 0)) || !fab_all_finite(K * m, part(ab, 3)))
            return FAB_FAIL(FAB_NUMERIC, "absorb: the projected columns are not finite");
        form_PV(ab, loop, a, b, m); /* 2, 3 */
        memcpy(ab->T, part(ab, 0), (size_t)(K * K) * sizeof *ab->T);
        FAB_TRY(fab_em_step(K, expanded, ab->T, ab->PV, ab->right, ab->Q, ab->work));
        if (!ab->set.expand && !last) form_Z(ab);
        form_coefficients(ab, loop, expanded, a, b, m);
        fab_sweep s = describe(ab, g, loop, last, a, b, X);
        ab->run.ops->sweep(&ab->run, &s); /* 4 */
        if (!last) {
            const int first = loop == 0; /* G is made of H and N */
            FAB_TRY(fab_sum(&ab->run, part(ab, first), (3 - first) * K * K + K * m));
            double *rows_Z = ab->Z_next;
            ab->Z_next = ab->Z;
            ab->Z = rows_Z;
            finish_sums(ab, loop, m);
        }
        ab->floored = s.floored;
        if (ab->watch)
            fab_watch_note(ab->watch, (double)ab->D * (double)(K * (m + 2 * K)), "absorb", loop + 1,
                           0);
    }
    return FAB_OK;
}

/* ---- the eigen cut ---------------------------------------------------------------------------- */

/* Gram of (a psi0)^-1/2 Y from G, C and X' psi0^-1 X */
static void form_gram(fab_absorb *ab, double a, double b, int64_t m)
{
    const int64_t K = ab->K, n = K + m;
    const double *G = part(ab, 0), *C = part(ab, 3), *XX = C + K * m, r = sqrt(b / a);
    double *Y = ab->Y;
    for (int64_t j = 0; j < K; j++)
        for (int64_t i = 0; i < K; i++) Y[i + j * n] = G[i + j * K];
    for (int64_t j = 0; j < m; j++) {
        for (int64_t i = 0; i < K; i++) {
            Y[i + (K + j) * n] = r * C[i + j * K];
            Y[K + j + i * n] = Y[i + (K + j) * n];
        }
        for (int64_t i = 0; i < m; i++) Y[K + i + (K + j) * n] = r * r * XX[i + j * m];
    }
}

static fab_status eigen_cut(fab_absorb *ab, fab_gauss *g, double a, double b, const fab_long *X)
{
    const int64_t K = ab->K, m = X->k, n = K + m;
    double *XX = part(ab, 3) + K * m, *w = ab->near;
    FAB_TRY(first_sums(ab, g, X));
    for (int64_t i = 0; i < ab->D; i++) w[i] = 1 / g->psi[i];
    ab->run.ops->gram(&ab->run, X, w, XX);
    FAB_TRY(fab_sum(&ab->run, XX, m * m));
    form_gram(ab, a, b, m);
    if (!fab_all_finite(n * n, ab->Y))
        return FAB_FAIL(FAB_NUMERIC, "absorb: the Gram matrix is not finite");
    FAB_TRY(fab_eig(n, ab->Y, ab->lambda, ab->eig)); /* ascending: the last K columns lead */
    for (int64_t k = 0; k < K; k++) {
        const double *v = ab->Y + (n - 1 - k) * n;
        for (int64_t i = 0; i < K; i++) ab->R[i + k * K] = sqrt(a) * v[i];
        for (int64_t i = 0; i < m; i++) ab->Cx[i + k * m] = sqrt(b) * v[K + i];
    }
    const fab_long F = fab_long_rows(g->F, ab->D, K);
    fab_sweep s = {.n = ab->D,
                   .K = K,
                   .w = F,
                   .R = ab->R,
                   .x = *X,
                   .C = ab->Cx,
                   .out = F,
                   .c0 = a,
                   .c1 = a,
                   .c2 = b,
                   .psi = g->psi,
                   .floor = ab->set.psi_min,
                   .psi_out = g->psi};
    ab->run.ops->sweep(&ab->run, &s); /* 5 */
    ab->floored = s.floored;
    return FAB_OK;
}

/* ---- the verb --------------------------------------------------------------------------------- */

static fab_status check(const fab_absorb *ab, const fab_gauss *g, double a, double b, int64_t n)
{
    if (g->form == FAB_FORM_POINT || g->D != ab->D || g->K != ab->K || g->type != ab->run.ops->type)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "absorb: made for D = %lld, K = %lld in %s, given a %s with D = %lld, "
                        "K = %lld in %s",
                        (long long)ab->D, (long long)ab->K, fab_dtype_name(ab->run.ops->type),
                        fab_form_name(g->form), (long long)g->D, (long long)g->K,
                        fab_dtype_name(g->type));
    if (!(a > 0) || !(b >= 0) || !isfinite(a) || !isfinite(b))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "absorb: weights a = %g, b = %g, expected a > 0 and b >= 0", a, b);
    if (n > ab->m)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "absorb: %lld columns, made for up to %lld", (long long)n,
                        (long long)ab->m);
    return FAB_OK;
}

void fab_absorb_watch(fab_absorb *ab, fab_watch *w)
{
    ab->watch = w;
}

void *fab_absorb_columns(fab_absorb *ab)
{
    return ab->X;
}

double *fab_absorb_vector(fab_absorb *ab)
{
    return ab->near;
}

static fab_status loaded(fab_absorb *ab, int by_eigen, fab_gauss *g, double a, double b, int64_t n)
{
    const fab_long X = fab_long_vectors(ab->X, ab->D, n, ab->D);
    const int before = fab_blas_enter();
    const fab_status s = by_eigen ? eigen_cut(ab, g, a, b, &X) : em_loops(ab, g, a, b, &X);
    fab_blas_leave(before);
    return s;
}

fab_status fab_absorb_loaded(fab_absorb *ab, fab_gauss *g, double a, double b, int64_t n)
{
    return loaded(ab, eigen(ab), g, a, b, n);
}

fab_status fab_absorb_loaded_eigen(fab_absorb *ab, fab_gauss *g, double a, double b, int64_t n,
                                   double *least)
{
    FAB_TRY(loaded(ab, 1, g, a, b, n));
    *least = ab->lambda[n]; /* K + n of them, ascending: the last K were kept */
    return FAB_OK;
}

fab_status fab_absorb_update(fab_absorb *ab, fab_gauss *g, double a, double b,
                             const fab_rows *columns)
{
    FAB_TRY(check(ab, g, a, b, columns->n));
    FAB_TRY(fab_rows_check_dense("absorb", columns, ab->D));
    const fab_long X = fab_long_vectors(ab->X, ab->D, columns->n, ab->D);
    ab->run.ops->load(&ab->run, columns, NULL, &X);
    return fab_absorb_loaded(ab, g, a, b, columns->n);
}
