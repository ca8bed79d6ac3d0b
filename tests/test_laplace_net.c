/* test_laplace_net.c - Laplace's approximation of networks: the inverse of a curvature written out, the evidence, rank K,
 * the last layer, linear networks beside linear models, stops and failures.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/methods.h"
#include "files.h"
#include "ggn_case.h"

static fab_laplace_settings quick(void)
{
    fab_laplace_settings s = fab_laplace_defaults();
    s.train.alpha = 0.7;
    s.train.epochs = 20;
    s.train.batch = 5;
    s.rounds = 2;
    s.again = 6;
    return s;
}

/* The whole table in every step: the mode to many digits. */
static fab_laplace_settings slow(void)
{
    fab_laplace_settings s = quick();
    s.train.batch = 256;
    s.train.epochs = 4000;
    s.again = 400;
    s.rounds = 40;
    return s;
}

static fab_status try_fit(fab_fit **f, const fab_model *m, const fab_laplace_settings *s,
                          const fab_examples *e, const fab_gauss *prior, const fab_exec *x)
{
    const fab_gauss *q;
    fab_status done =
        fab_fit_create(f, "laplace", s, sizeof *s, &(fab_input){.model = m, .prior = prior}, x);
    if (done == FAB_OK) done = fab_fit_update(*f, e);
    return done == FAB_OK ? fab_fit_gauss(*f, &q) : done;
}

static fab_fit *fitted(const fab_model *m, const fab_laplace_settings *s, const fab_examples *e)
{
    fab_fit *f;
    assert_ok(try_fit(&f, m, s, e, NULL, NULL));
    return f;
}

static const fab_gauss *gauss_of(fab_fit *f)
{
    const fab_gauss *q;
    assert_ok(fab_fit_gauss(f, &q));
    assert_ok(fab_gauss_check(q));
    return q;
}

static fab_report report_of(fab_fit *f)
{
    fab_report r;
    assert_ok(fab_fit_report(f, &r));
    return r;
}

static double distance(int64_t n, const real *A, const real *B)
{
    return (double)(dense_norm(n, dense_minus(n, A, B)) / dense_norm(n, B));
}

/* KL(N(0, M^-1) || N(0, A^-1)) of P x P precisions. */
static double divergence(int64_t P, const real *M, const real *A)
{
    return (double)((dense_trace_mul(P, A, dense_inverse(P, M)) - P + dense_logdet(P, M) -
                     dense_logdet(P, A)) /
                    2);
}

/* ---- the dense oracle ----------------------------------------------------------------------------------- */

/* log evidence of the P weights from coordinate `first` on, whose curvature without the prior is G. */
static double evidence_of(int64_t P, const real *G, const double *theta, double alpha, real loglik)
{
    real *A = dense_new(P * P), size = 0;
    memcpy(A, G, (size_t)(P * P) * sizeof *A);
    for (int64_t i = 0; i < P; i++) {
        A[i * P + i] += alpha;
        size += (real)theta[i] * theta[i];
    }
    return (double)(loglik + (P * r_log(alpha) - alpha * size - dense_logdet(P, A)) / 2);
}

/* Rows and columns first .. first + n - 1 of a D x D matrix. */
static real *block_of(int64_t size, const real *A, int64_t first, int64_t n)
{
    real *B = dense_new(n * n);
    for (int64_t i = 0; i < n * n; i++) B[i] = A[(first + i / n) * size + first + i % n];
    return B;
}

static void the_covariance_is_the_inverse_of_the_curvature(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++) {
        data d;
        fab_net *net = net_of(&kinds[k], "mlp:5:tanh", NULL);
        const fab_model *m = fab_net_model(net);
        const int64_t P = m->D, weights = P - m->free;
        const fab_laplace_settings s = quick();
        real loglik;
        fill(&d, m->head.likelihood);
        fab_fit *f = fitted(m, &s, &d.e);
        const fab_gauss *q = gauss_of(f);
        real *G = matrix_of(m, &d.e, q->mu, 1, &loglik), *A = dense_new(P * P);
        memcpy(A, G, (size_t)(P * P) * sizeof *A);
        for (int64_t i = 0; i < weights; i++) A[i * P + i] += s.train.alpha;
        assert_int_equal(q->form, FAB_FORM_COVARIANCE);
        assert_int_equal(q->D, P);
        /* rounding of A, times its condition */
        const double tol = 64 * ROUND_F64 *
                           (double)(dense_norm(P * P, A) * dense_norm(P * P, dense_inverse(P, A)));
        assert_true(distance(P * P, dense_covariance(q), dense_inverse(P, A)) < tol);
        const double want =
            evidence_of(weights, block_of(P, G, 0, weights), q->mu, s.train.alpha, loglik);
        assert_true(fabs(report_of(f).log_evidence - want) < 1e-10 * (1 + fabs(want)));
        assert_true(report_of(f).alpha == s.train.alpha);
        fab_fit_free(f);
        fab_net_free(net);
    }
}

static void a_given_prior_takes_the_place_of_alpha(void **state)
{
    (void)state;
    for (int form = 0; form < 2; form++) {
        data d;
        fab_net *net = net_of(&kinds[1], "mlp:4:tanh", NULL);
        const fab_model *m = fab_net_model(net);
        const int64_t P = m->D, w = P - 1;
        fab_gauss *prior = some_gauss((fab_form)form, FAB_F64, P, 2, 1, 1);
        const fab_laplace_settings s = quick();
        fab_fit *f;
        real loglik;
        fill(&d, FAB_LIKELIHOOD_GAUSSIAN);
        assert_ok(try_fit(&f, m, &s, &d.e, prior, NULL));
        const fab_gauss *q = gauss_of(f);
        real *A = matrix_of(m, &d.e, q->mu, 0, &loglik), *A0 = dense_precision(prior);
        for (int64_t i = 0; i < P * P; i++) A[i] += A0[i];
        real *S = dense_inverse(w, block_of(P, A, 0, w));
        assert_true(distance(w * w, block_of(P, dense_covariance(q), 0, w), S) < 1e-9);
        assert_true(isnan(report_of(f).log_evidence));
        fab_fit_free(f);
        fab_gauss_free(prior);
        fab_net_free(net);
    }
}

/* ---- rank K --------------------------------------------------------------------------------------------- */

static void the_divergence_falls_with_K_to_nothing(void **state)
{
    (void)state;
    static const int64_t ranks[] = {1, 3, 6, 12};
    data d;
    fab_net *net = net_of(&kinds[5], "mlp:5:tanh", NULL);
    const fab_model *m = fab_net_model(net);
    const int64_t P = m->D;
    fab_laplace_settings s = quick();
    double before = INFINITY;
    real loglik;
    fill(&d, FAB_LIKELIHOOD_CATEGORICAL);
    s.inner = 2000, s.rank_tol = 1e-7;
    for (int k = 0; k < 4; k++) {
        s.K = ranks[k];
        fab_fit *f = fitted(m, &s, &d.e);
        const fab_gauss *q = gauss_of(f);
        real *A = matrix_of(m, &d.e, q->mu, 1, &loglik), *M = dense_precision(q);
        for (int64_t i = 0; i < P; i++) A[i * P + i] += s.train.alpha;
        assert_int_equal(q->form, FAB_FORM_PRECISION);
        assert_int_equal(q->K, s.K);
        const double kl = divergence(P, M, A);
        for (int64_t i = 0; i < P; i++) /* at the optimum the diagonals agree */
            assert_true(fabs((double)(M[i * P + i] / A[i * P + i]) - 1) < 1e-6);
        assert_true(kl < 0.8 * before && kl > -1e-9);
        before = kl;
        fab_fit_free(f);
    }
    assert_true(before < 0.3); /* nats, of 38 coordinates */
    fab_net_free(net);
}

static void assert_same(const fab_gauss *a, const fab_gauss *b)
{
    const size_t size = a->type == FAB_F32 ? sizeof(float) : sizeof(double);
    assert_int_equal(a->form, b->form);
    assert_memory_equal(a->mu, b->mu, (size_t)a->D * sizeof(double));
    if (a->form == FAB_FORM_POINT) return;
    assert_memory_equal(a->psi, b->psi, (size_t)a->D * sizeof(double));
    assert_memory_equal(a->F, b->F, (size_t)(a->D * a->K) * size);
}

/* Of the last layer's as well, where K may be more than it has. */
static void K_of_all_coordinates_is_exact(void **state)
{
    (void)state;
    data d;
    fab_net *net = net_of(&kinds[3], "mlp:5:tanh", NULL);
    fill(&d, FAB_LIKELIHOOD_BERNOULLI);
    for (int last = 0; last < 2; last++) {
        fab_laplace_settings s = quick();
        s.last_layer = last;
        fab_fit *f = fitted(fab_net_model(net), &s, &d.e);
        s.K = fab_net_model(net)->D;
        fab_fit *g = fitted(fab_net_model(net), &s, &d.e);
        assert_int_equal(gauss_of(g)->K, last ? fab_net_model(net)->last : s.K);
        assert_same(gauss_of(f), gauss_of(g));
        fab_fit_free(f);
        fab_fit_free(g);
    }
    fab_net_free(net);
}

/* ---- more coordinates than are held in full --------------------------------------------------------------- */

enum { WIDE = 40, FEW = 7 };

typedef struct wide {
    double x[FEW * WIDE], y[FEW];
    fab_examples e;
    fab_net *net;
} wide;

static void open_wide(wide *w)
{
    const fab_net_plan p = {
        .layers = "mlp:50:tanh", .features = WIDE, .classes = 1, .beta = 2.385, .batch = FEW};
    for (int64_t i = 0; i < FEW * WIDE; i++) w->x[i] = noise(1, i);
    for (int64_t i = 0; i < FEW; i++) w->y[i] = noise(2, i);
    w->e = (fab_examples){.x = {w->x, FAB_F64, FEW, WIDE}, .y = w->y};
    assert_ok(fab_net_create(&w->net, &p, NULL));
    assert_true(fab_net_model(w->net)->D > FAB_LAPLACE_MAX);
}

/* J J' beta of the few rows: its eigenvalues are those of the curvature. */
static real *small_gram(const wide *w, const double *theta, double *J)
{
    const fab_model *m = fab_net_model(w->net);
    real *C = dense_new(FEW * FEW);
    assert_ok(m->jacobian(m->self, theta, &w->e.x, J, m->D));
    for (int64_t i = 0; i < FEW * FEW; i++)
        for (int64_t k = 0; k < m->D; k++)
            C[i] += (real)J[i / FEW * m->D + k] * J[i % FEW * m->D + k] * m->head.beta;
    return C;
}

/* J A^-1 J' with A = alpha + beta J'J, by the smaller matrix: C (alpha + C)^-1 / beta. */
static real *spread_of(real *C, double alpha, double beta)
{
    real *B = dense_new(FEW * FEW);
    memcpy(B, C, FEW * FEW * sizeof *B);
    for (int64_t i = 0; i < FEW; i++) B[i * FEW + i] += alpha;
    real *S = dense_mul(FEW, FEW, FEW, C, dense_inverse(FEW, B));
    for (int64_t i = 0; i < FEW * FEW; i++) S[i] /= beta;
    return S;
}

/* J M^-1 J' of the few rows, its diagonal */
static void spread_in(const fab_gauss *q, const double *J, double *v, double *logdet, double *trace)
{
    const fab_rows rows = {J, FAB_F64, FEW, q->D};
    double *JS = doubles(FEW * q->D), *variance = doubles(q->D);
    fab_solver *solver;
    assert_ok(fab_solver_create(&solver, q, NULL));
    assert_ok(fab_solver_times_covariance(solver, &rows, JS));
    assert_ok(fab_solver_variances(solver, variance));
    assert_ok(fab_solver_logdet(solver, logdet));
    *trace = 0;
    for (int64_t i = 0; i < q->D; i++) *trace += variance[i];
    for (int64_t i = 0; i < FEW; i++) {
        v[i] = 0;
        for (int64_t j = 0; j < q->D; j++) v[i] += J[i * q->D + j] * JS[i * q->D + j];
    }
    fab_solver_free(solver);
}

static void as_many_columns_as_rows_lose_nothing(void **state)
{
    (void)state;
    wide w;
    open_wide(&w);
    const fab_model *m = fab_net_model(w.net);
    fab_laplace_settings s = quick();
    double *J = doubles(FEW * m->D), v[FEW], logdet, trace;
    s.K = FEW;
    fab_fit *f = fitted(m, &s, &w.e);
    const fab_gauss *q = gauss_of(f);
    real *S = spread_of(small_gram(&w, q->mu, J), s.train.alpha, m->head.beta);
    spread_in(q, J, v, &logdet, &trace);
    for (int64_t i = 0; i < FEW; i++) /* rounding times curvature over alpha, with room */
        assert_true(fabs(v[i] / (double)S[i * FEW + i] - 1) < 1e-9);
    fab_fit_free(f);
    fab_net_free(w.net);
}

/* Without its smallest eigenvalue t the curvature is at the divergence (t / alpha - log(1 + t / alpha)) / 2; a diagonal
 * that takes up some of it does better. */
static void EM_by_products_does_better_than_leaving_out_a_direction(void **state)
{
    (void)state;
    wide w;
    open_wide(&w);
    const fab_model *m = fab_net_model(w.net);
    fab_laplace_settings s = quick();
    double *J = doubles(FEW * m->D), v[FEW], logdet, kl;
    real t[FEW], V[FEW * FEW], least = INFINITY;
    s.K = FEW - 1;
    fab_fit *f = fitted(m, &s, &w.e);
    const fab_gauss *q = gauss_of(f);
    assert_int_equal(q->K, FEW - 1);
    dense_eig(FEW, small_gram(&w, q->mu, J), t, V);
    spread_in(q, J, v, &logdet, &kl); /* KL = (tr(A M^-1) - P + log det M - log det A) / 2 */
    kl = s.train.alpha * kl - (double)m->D - logdet - (double)m->D * log(s.train.alpha);
    for (int64_t i = 0; i < FEW; i++) {
        kl += m->head.beta * v[i] - log1p((double)t[i] / s.train.alpha);
        least = t[i] < least ? t[i] : least;
    }
    const double alone = (double)least / s.train.alpha;
    assert_true(kl > 0 && kl < alone - log1p(alone));
    fab_fit_free(f);
    fab_net_free(w.net);
}

/* The estimate has the standard error sqrt(2 |log B|^2 / 8) / 2 at most, B = I + G / alpha; 4 of them: 1 in 16 000. */
static void the_evidence_of_many_coordinates_is_near(void **state)
{
    (void)state;
    wide w;
    open_wide(&w);
    const fab_model *m = fab_net_model(w.net);
    const fab_laplace_settings s = quick();
    double *J = doubles(FEW * m->D);
    real t[FEW], V[FEW * FEW], want = 0, size = 0, norm = 0;
    fab_fit *f = fitted(m, &s, &w.e);
    const fab_gauss *q = gauss_of(f);
    double *out = doubles(FEW), L[MOST * MOST];
    assert_int_equal(q->K, 7); /* 20 columns were allowed, there are 7 rows */
    dense_eig(FEW, small_gram(&w, q->mu, J), t, V);
    assert_ok(m->predict(m->self, q->mu, &w.e.x, out));
    for (int64_t i = 0; i < FEW; i++) {
        const real log_b = r_log(1 + t[i] / s.train.alpha);
        want += lambda_of(m, &w.e, i, out + i, q->mu, L) - log_b / 2;
        norm += log_b * log_b;
    }
    for (int64_t i = 0; i < m->D; i++) size += (real)q->mu[i] * q->mu[i];
    want -= s.train.alpha * size / 2;
    const double error = fabs(report_of(f).log_evidence - (double)want),
                 most = 4 * sqrt((double)norm / 16);
    assert_true(error < most);
    fab_fit_free(f);
    fab_net_free(w.net);
}

/* ---- alpha and beta ------------------------------------------------------------------------------------- */

enum { ROWS = 60 };

typedef struct line {
    double x[ROWS * D], y[ROWS];
    fab_examples e;
} line;

static void draw_line(line *l, double bend)
{
    for (int64_t i = 0; i < ROWS * D; i++) l->x[i] = 1.7 * noise(1, i);
    for (int64_t i = 0; i < ROWS; i++) {
        const double *x = l->x + i * D;
        l->y[i] = 0.4 + x[0] - 0.6 * x[1] + bend * tanh(2 * x[1] + x[2]) + 0.5 * noise(2, i);
    }
    l->e = (fab_examples){.x = {l->x, FAB_F64, ROWS, D}, .y = l->y};
}

/* The linear model of `width` columns, the last of them 1: its weights have the prior of all. */
static fab_fit *exact_of(const double *columns, int64_t width, const double *y)
{
    const fab_examples e = {.x = {columns, FAB_F64, ROWS, width}, .y = y};
    fab_glm glm = {.D = width, .classes = 1};
    const fab_model m = fab_model_linear(&glm);
    fab_fit *f;
    assert_ok(fab_fit_create(&f, "exact", NULL, 0, &(fab_input){.model = &m}, NULL));
    assert_ok(fab_fit_update(f, &e));
    return f;
}

/* Adam ends within a small part of a standard deviation of the mode; rounds end as near to the top of the evidence. */
static void assert_exact(fab_fit *net, fab_fit *exact, int64_t width)
{
    const fab_gauss *q = gauss_of(net), *p = gauss_of(exact);
    const fab_report a = report_of(net), b = report_of(exact);
    real *S = block_of(q->D, dense_covariance(q), 0, width), *T = dense_covariance(p);
    assert_true(fabs(log(a.alpha / b.alpha)) < 1e-4);
    assert_true(fabs(log(a.beta / b.beta)) < 1e-4);
    assert_true(fabs(a.log_evidence - b.log_evidence) < 1e-4);
    assert_true(distance(width * width, S, T) < 1e-3);
    for (int64_t i = 0; i < width; i++)
        assert_true(fabs(q->mu[i] - p->mu[i]) < 1e-3 * sqrt((double)T[i * width + i]));
}

static void a_linear_network_is_the_linear_model(void **state)
{
    (void)state;
    double columns[ROWS * (D + 1)];
    fab_laplace_settings s = slow();
    line l;
    fab_net *net = net_of(&kinds[1], "linear", NULL);
    draw_line(&l, 0);
    for (int64_t i = 0; i < ROWS * (D + 1); i++)
        columns[i] = i % (D + 1) < D ? l.x[i / (D + 1) * D + i % (D + 1)] : 1;
    s.train.alpha = FAB_AUTO_F64;
    fab_fit *f = fitted(fab_net_model(net), &s, &l.e), *g = exact_of(columns, D + 1, l.y);
    assert_exact(f, g, D + 1);
    fab_fit_free(f);
    fab_fit_free(g);
    fab_net_free(net);
}

static void the_last_layer_is_the_linear_model_of_its_features(void **state)
{
    (void)state;
    enum { H = 4 };
    double columns[ROWS * (H + 1)];
    fab_laplace_settings s = slow();
    line l;
    fab_net *net = net_of(&kinds[1], "mlp:4:tanh", NULL);
    draw_line(&l, 1);
    s.train.alpha = FAB_AUTO_F64;
    s.train.epochs = 300;
    s.last_layer = 1;
    fab_fit *f = fitted(fab_net_model(net), &s, &l.e);
    const fab_gauss *q = gauss_of(f);
    assert_int_equal(q->D, H + 1);
    assert_int_equal(q->total, fab_net_model(net)->D);
    assert_int_equal(q->index[0], H * (D + 1));
    for (int64_t i = 0; i < ROWS * (H + 1); i++) {
        const int64_t h = i % (H + 1);
        double sum = q->theta[D * H + h % H]; /* (D + 1) x H weights, the biases last */
        for (int64_t j = 0; j < D; j++) sum += l.x[i / (H + 1) * D + j] * q->theta[j * H + h % H];
        columns[i] = h < H ? tanh(sum) : 1;
    }
    fab_fit *g = exact_of(columns, H + 1, l.y);
    assert_exact(f, g, H + 1);
    fab_fit_free(f);
    fab_fit_free(g);
    fab_net_free(net);
}

/* Rounding of every product and of hundreds of steps, far below what 1e-9 allows. */
static void assert_near_gauss(const fab_gauss *a, const fab_gauss *b)
{
    const int64_t P = a->D;
    assert_int_equal(a->form, b->form);
    assert_int_equal(a->K, b->K);
    assert_int_equal(a->D, b->D);
    assert_int_equal(a->total, b->total);
    for (int64_t i = 0; i < P; i++) {
        assert_true(fabs(a->mu[i] - b->mu[i]) < 1e-9 * (1 + fabs(b->mu[i])));
        if (a->total) assert_int_equal(a->index[i], b->index[i]);
    }
    for (int64_t i = 0; i < a->total; i++)
        assert_true(fabs(a->theta[i] - b->theta[i]) < 1e-9 * (1 + fabs(b->theta[i])));
    assert_true(distance(P * P, dense_covariance(a), dense_covariance(b)) < 1e-9);
}

/* The oracle is the way through the Jacobian of all weights, which a model goes that does not tell its features. */
static void the_last_layer_needs_no_Jacobian_of_the_others(void **state)
{
    (void)state;
    static const int64_t ranks[] = {FAB_AUTO_I64, 2, FAB_AUTO_I64, 50};
    for (int k = 0; k < KINDS; k++)
        for (int way = 0; way < 4; way++) {
            data d;
            fab_net *net = net_of(&kinds[k], "mlp:6,5:tanh", NULL);
            const fab_model *m = fab_net_model(net);
            fab_model slow_way = *m;
            fab_laplace_settings s = quick();
            fill(&d, m->head.likelihood);
            slow_way.features = NULL, slow_way.slopes = NULL;
            s.last_layer = 1;
            s.K = ranks[way];
            if (way != 3) s.train.alpha = FAB_AUTO_F64;
            s.train.held_out = way == 1 ? 0.3 : 0;
            if (way == 2) s.structure = FAB_STRUCTURE_DIAGONAL;
            fab_fit *f = fitted(m, &s, &d.e), *g = fitted(&slow_way, &s, &d.e);
            assert_near_gauss(gauss_of(f), gauss_of(g));
            const fab_report a = report_of(f), b = report_of(g);
            assert_true(fabs(a.log_evidence - b.log_evidence) < 1e-9 * (1 + fabs(b.log_evidence)));
            assert_true(fabs(a.alpha / b.alpha - 1) < 1e-9 && fabs(a.beta / b.beta - 1) < 1e-9);
            assert_int_equal(a.iterations, b.iterations);
            fab_fit_free(f);
            fab_fit_free(g);
            fab_net_free(net);
        }
}

/* By products as well: more weights than are held in full, K columns and an estimate of the evidence. */
static void the_last_layer_by_products_needs_no_Jacobian_either(void **state)
{
    (void)state;
    enum { HIDDEN = 700 };
    data d;
    fab_net *net = net_of(&kinds[5], "mlp:700:tanh", NULL);
    const fab_model *m = fab_net_model(net);
    fab_model slow_way = *m;
    fab_laplace_settings s = quick();
    double *u = doubles(m->last), *v = doubles(m->last);
    fab_solver *a, *b;
    slow_way.features = NULL;
    s.last_layer = 1, s.K = 2, s.inner = 5, s.train.epochs = 2, s.rounds = 1, s.again = 1;
    s.train.alpha = FAB_AUTO_F64;
    fill(&d, FAB_LIKELIHOOD_CATEGORICAL);
    assert_true(m->last == CLASSES * (HIDDEN + 1) && m->last > FAB_LAPLACE_MAX);
    fab_fit *f = fitted(m, &s, &d.e), *g = fitted(&slow_way, &s, &d.e);
    const double e = report_of(g).log_evidence;
    assert_true(fabs(report_of(f).log_evidence - e) < 1e-9 * (1 + fabs(e)));
    assert_true(fabs(report_of(f).alpha / report_of(g).alpha - 1) < 1e-9);
    assert_ok(fab_solver_create(&a, gauss_of(f), NULL));
    assert_ok(fab_solver_create(&b, gauss_of(g), NULL));
    assert_ok(fab_solver_variances(a, u));
    assert_ok(fab_solver_variances(b, v));
    for (int64_t i = 0; i < m->last; i++) assert_true(fabs(u[i] / v[i] - 1) < 1e-9);
    fab_solver_free(a);
    fab_solver_free(b);
    fab_fit_free(f);
    fab_fit_free(g);
    fab_net_free(net);
}

/* ---- the diagonal --------------------------------------------------------------------------------------- */

static void the_diagonal_is_that_of_the_curvature(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS; k++)
        for (int jacobian = 0; jacobian < 2; jacobian++) {
            data d;
            fab_net *net = net_of(&kinds[k], "dense:5,tanh,residual(dense:5,relu)", NULL);
            fab_model m = *fab_net_model(net);
            const int64_t weights = m.D - m.free;
            fab_laplace_settings s = quick();
            real loglik, size = 0, logdet = 0;
            if (jacobian) m.slopes = NULL;
            s.structure = FAB_STRUCTURE_DIAGONAL;
            fill(&d, m.head.likelihood);
            fab_fit *f = fitted(&m, &s, &d.e);
            const fab_gauss *q = gauss_of(f);
            real *G = matrix_of(&m, &d.e, q->mu, 1, &loglik);
            assert_int_equal(q->form, FAB_FORM_PRECISION);
            assert_int_equal(q->K, 0);
            for (int64_t i = 0; i < m.D; i++) {
                const real want = G[i * m.D + i] + (i < weights ? s.train.alpha : 0);
                /* the squares of a few dozen roundings */
                assert_true(fabs(q->psi[i] / (double)want - 1) < 1e-12);
                if (i >= weights) continue;
                size += (real)q->mu[i] * q->mu[i];
                logdet += r_log(want);
            }
            const double want =
                (double)(loglik +
                         (weights * r_log(s.train.alpha) - s.train.alpha * size - logdet) / 2);
            assert_true(fabs(report_of(f).log_evidence - want) < 1e-10 * (1 + fabs(want)));
            fab_fit_free(f);
            fab_net_free(net);
        }
}

static void remember(void *ctx, const char *sentence)
{
    snprintf(ctx, 300, "%s", sentence);
}

/* 2 x 60 rows x 2101 weights x 2e7 columns are more than some minutes. */
static void a_low_rank_that_would_take_hours_is_a_diagonal_and_says_so(void **state)
{
    (void)state;
    enum { MANY = 60 };
    static double x[MANY * WIDE], y[MANY];
    const fab_examples e = {.x = {x, FAB_F64, MANY, WIDE}, .y = y};
    char said[300] = "";
    fab_laplace_settings s = quick();
    wide w;
    open_wide(&w);
    for (int64_t i = 0; i < MANY * WIDE; i++) x[i] = noise(1, i);
    for (int64_t i = 0; i < MANY; i++) y[i] = noise(2, i);
    s.train.epochs = 1;
    s.inner = 1000000;
    fab_set_log(remember, said);
    fab_fit *f = fitted(fab_net_model(w.net), &s, &e);
    fab_set_log(NULL, NULL);
    assert_int_equal(gauss_of(f)->K, 0);
    assert_non_null(strstr(said, "the curvature of 2101 weights is taken as diagonal"));
    fab_fit_free(f);
    fab_net_free(w.net);
}

static void a_logistic_network_without_layers_is_the_logistic_model(void **state)
{
    (void)state;
    fab_laplace_settings s = slow();
    fab_laplace_settings linear = fab_laplace_defaults();
    line l;
    fab_fit *g;
    fab_net *net = net_of(&kinds[3], "linear", NULL);
    draw_line(&l, 0);
    for (int64_t i = 0; i < ROWS; i++) l.y[i] = l.y[i] > 0.3;
    fab_glm glm = {.likelihood = FAB_LIKELIHOOD_BERNOULLI, .D = D, .classes = 1, .intercept = 1};
    const fab_model m = fab_model_linear(&glm);
    linear.train.alpha = linear.intercept_alpha = s.train.alpha;
    assert_ok(
        fab_fit_create(&g, "laplace", &linear, sizeof linear, &(fab_input){.model = &m}, NULL));
    assert_ok(fab_fit_update(g, &l.e));
    fab_fit *f = fitted(fab_net_model(net), &s, &l.e);
    const fab_gauss *q = gauss_of(f), *p = gauss_of(g);
    assert_true(distance((D + 1) * (D + 1), dense_covariance(q), dense_covariance(p)) < 1e-3);
    assert_true(fabs(report_of(f).log_evidence - report_of(g).log_evidence) < 1e-5);
    fab_fit_free(f);
    fab_fit_free(g);
    fab_net_free(net);
}

/* ---- stops, threads ------------------------------------------------------------------------------------- */

typedef struct stop {
    int64_t at;       /* epoch; or -1: in the curvature */
    int64_t told;     /* calls of the hook there */
    int64_t together; /* epochs of the method */
} stop;

static int stop_at(void *ctx, const char *what, int64_t done, int64_t total)
{
    stop *s = ctx;
    const int bent = strstr(what, "laplace: curvature, loop ") != NULL;
    assert_true(bent || strstr(what, "laplace: loss ") != NULL);
    assert_int_equal(total, s->together);
    return s->at < 0 ? bent && ++s->told == 3 : done == s->at && !bent;
}

static void stop_and_go_on(const fab_laplace_settings *s, int64_t at, const kind *k,
                           const fab_exec *x)
{
    data d;
    stop when = {.at = at,
                 .together = s->train.epochs + (s->train.alpha > 0 ? 0 : s->rounds * s->again)};
    const fab_gauss *q, *same;
    fab_tensors *file;
    fab_fit *whole, *half, *again;
    fab_net *net = net_of(k, "dense:5,relu,dropout:0.2", x);
    const fab_model *m = fab_net_model(net);
    fill(&d, m->head.likelihood);
    assert_ok(try_fit(&whole, m, s, &d.e, NULL, x));
    q = gauss_of(whole);
    fab_set_progress(stop_at, &when);
    assert_int_equal(try_fit(&half, m, s, &d.e, NULL, x), FAB_STOPPED);
    fab_set_progress(NULL, NULL);
    assert_ok(fab_fit_checkpoint(half, in_folder("half.safetensors"), NULL));
    assert_ok(fab_tensors_read(&file, in_folder("half.safetensors")));
    assert_ok(fab_fit_load(&again, file, &(fab_input){.model = m}, x));
    assert_ok(fab_fit_update(again, &d.e));
    assert_ok(fab_fit_gauss(again, &same));
    assert_same(same, q);
    assert_ok(fab_fit_gauss(half, &same));
    assert_same(same, q);
    fab_tensors_free(file);
    fab_fit_free(whole);
    fab_fit_free(half);
    fab_fit_free(again);
    fab_net_free(net);
}

static void a_stopped_run_goes_on_to_the_same_bytes(void **state)
{
    (void)state;
    static const int64_t at[] = {7, 20, 23, 31, -1};
    const fab_exec single = {.ops = fab_ops_find("cpu", FAB_F32)};
    for (int k = 0; k < 10; k++) {
        fab_laplace_settings s = quick();
        s.train.optimiser = k % 3;
        s.train.rate = s.train.optimiser == FAB_OPTIMISER_ADAM ? 0.01 : 0.001;
        if (k != 0) s.train.alpha = FAB_AUTO_F64;
        if (at[k % 5] < 0 || k & 1) s.K = 3;
        s.last_layer = k == 3 || k == 7;
        s.train.held_out = k == 2 || k == 8 ? 0.3 : 0;
        s.train.patience = 1000;
        stop_and_go_on(&s, at[k % 5], &kinds[k % KINDS], k & 1 ? NULL : &single);
    }
}

static void the_bits_do_not_depend_on_threads(void **state)
{
    (void)state;
    enum { ROW = 40, WIDTH = 60 };
    static double x[ROW * WIDTH], y[ROW];
    const fab_net_plan plan = {
        .layers = "mlp:200", .features = WIDTH, .classes = 1, .beta = 1, .batch = 40};
    const fab_gauss *q[2];
    fab_fit *f[2];
    fab_net *net[2];
    for (int64_t i = 0; i < ROW * WIDTH; i++) x[i] = noise(1, i);
    for (int64_t i = 0; i < ROW; i++) y[i] = noise(2, i);
    const fab_examples e = {.x = {x, FAB_F64, ROW, WIDTH}, .y = y};
    for (int k = 0; k < 2; k++) {
        const fab_exec exec = {.threads = k ? 3 : 1};
        fab_laplace_settings s = quick();
        s.train.epochs = 2, s.train.batch = 40, s.K = 4, s.inner = 5;
        assert_ok(fab_net_create(&net[k], &plan, &exec));
        assert_ok(try_fit(&f[k], fab_net_model(net[k]), &s, &e, NULL, &exec));
        q[k] = gauss_of(f[k]);
    }
    assert_same(q[0], q[1]);
    assert_true(report_of(f[0]).log_evidence == report_of(f[1]).log_evidence);
    for (int k = 0; k < 2; k++) {
        fab_fit_free(f[k]);
        fab_net_free(net[k]);
    }
}

static void runs_are_mixed(void **state)
{
    (void)state;
    data d;
    const fab_mixture *mix;
    fab_laplace_settings s = quick();
    fab_net *net = net_of(&kinds[1], "mlp:5", NULL);
    fill(&d, FAB_LIKELIHOOD_GAUSSIAN);
    s.train.runs = 3;
    s.train.alpha = FAB_AUTO_F64;
    fab_fit *f = fitted(fab_net_model(net), &s, &d.e);
    assert_ok(fab_fit_result(f, &mix));
    assert_ok(fab_mixture_check(mix));
    assert_int_equal(mix->n, 3);
    assert_true(mix->part[0]->mu[0] != mix->part[1]->mu[0]);
    fab_fit_free(f);
    fab_net_free(net);
}

/* ---- odd data and failures ------------------------------------------------------------------------------ */

/* One row, a target that does not vary, a single class: a posterior, and it is finite. */
static void odd_tables_have_a_posterior(void **state)
{
    (void)state;
    for (int k = 0; k < 3 * KINDS; k++)
        for (int last = 0; last < 2; last++) {
            data d;
            fab_laplace_settings s = quick();
            fab_net *net = net_of(&kinds[k / 3], "mlp:4", NULL);
            fill(&d, kinds[k / 3].likelihood);
            if (k % 3 == 0) d.e.x.n = 1;
            for (int64_t i = 0; i < N && k % 3 == 1; i++) d.y[i] = 1;
            for (int64_t i = 0; i < N * D && k % 3 == 2; i++) d.x[i] = 0;
            s.train.alpha = FAB_AUTO_F64;
            s.last_layer = last;
            if (k & 1) s.K = 2;
            fab_fit *f = fitted(fab_net_model(net), &s, &d.e);
            const fab_report r = report_of(f);
            gauss_of(f);
            assert_true(isfinite(r.log_evidence) && r.alpha > 0 && isfinite(r.alpha));
            fab_fit_free(f);
            fab_net_free(net);
        }
}

/* A model whose loss or outputs are NaN from some call on. */
typedef struct broken {
    fab_model inner;
    int64_t calls, loss_at, outputs;
} broken;

static fab_status broken_loss(void *self, const double *theta, const fab_examples *e, double *loss,
                              double *gradient)
{
    broken *b = self;
    assert_ok(b->inner.loss(b->inner.self, theta, e, loss, gradient));
    if (++b->calls == b->loss_at) gradient[1] = NAN;
    return FAB_OK;
}

static fab_status broken_predict(void *self, const double *theta, const fab_rows *x, double *out)
{
    const broken *b = self;
    assert_ok(b->inner.predict(b->inner.self, theta, x, out));
    if (b->outputs) out[0] = NAN;
    return FAB_OK;
}

static fab_status inner_jacobian(void *self, const double *theta, const fab_rows *x, void *J,
                                 int64_t ld)
{
    const broken *b = self;
    return b->inner.jacobian(b->inner.self, theta, x, J, ld);
}

static fab_model broken_model(broken *b, const fab_net *net)
{
    *b = (broken){.inner = *fab_net_model(net)};
    fab_model m = b->inner;
    m.self = b;
    m.loss = broken_loss;
    m.predict = broken_predict;
    m.jacobian = inner_jacobian;
    m.start = NULL, m.noise = NULL, m.fix_beta = NULL, m.json = NULL;
    return m;
}

static void failures_name_the_step_and_keep_the_last_good_state(void **state)
{
    (void)state;
    data d;
    fab_net *net = net_of(&kinds[4], "mlp:5:tanh", NULL);
    fill(&d, FAB_LIKELIHOOD_POISSON);
    for (int k = 0; k < 3; k++) {
        broken b;
        const fab_model m = broken_model(&b, net);
        fab_laplace_settings s = quick();
        fab_fit *f;
        if (k == 0) s.train.rate = 1e300;
        if (k == 1) b.loss_at = 8;
        b.outputs = k == 2;
        assert_refused(try_fit(&f, &m, &s, &d.e, NULL, NULL), FAB_NUMERIC, "laplace: ");
        if (k < 2) assert_non_null(strstr(fab_detail(), "lower rate (now "));
        if (k == 1) assert_non_null(strstr(fab_detail(), "at step 8 (epoch 3)"));
        if (k == 2) assert_non_null(strstr(fab_detail(), "the curvature of example 0 is nan"));
        assert_ok(fab_fit_checkpoint(f, in_folder("q.safetensors"), NULL));
        fab_fit_free(f);
    }
    fab_net_free(net);
}

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    wide w;
    broken b;
    fab_fit *f;
    const fab_method *laplace = fab_method_find("laplace");
    fab_laplace_settings s = quick();
    fab_net *net = net_of(&kinds[3], "mlp:5", NULL);
    fab_model m = broken_model(&b, net);
    s.train.optimiser = FAB_OPTIMISER_ADAMW;
    assert_refused(
        fab_fit_create(&f, fab_method_name(laplace), &s, sizeof s, &(fab_input){.model = &m}, NULL),
        FAB_BAD_ARGUMENT, "adamw does not end at the mode");
    s = quick();
    s.last_layer = 1, m.last = 0;
    assert_refused(
        fab_fit_create(&f, fab_method_name(laplace), &s, sizeof s, &(fab_input){.model = &m}, NULL),
        FAB_BAD_ARGUMENT, "last_layer of a model that does not say which it is");
    s.last_layer = 0, m.free = 2;
    assert_refused(
        fab_fit_create(&f, fab_method_name(laplace), &s, sizeof s, &(fab_input){.model = &m}, NULL),
        FAB_UNSUPPORTED, "the model has 2 free coordinates");
    m.free = 0, m.jacobian = NULL;
    assert_refused(
        fab_fit_create(&f, fab_method_name(laplace), &s, sizeof s, &(fab_input){.model = &m}, NULL),
        FAB_BAD_ARGUMENT, "needs a model with outputs and their Jacobian");
    open_wide(&w);
    s.K = 2102;
    assert_refused(fab_fit_create(&f, fab_method_name(laplace), &s, sizeof s,
                                  &(fab_input){.model = fab_net_model(w.net)}, NULL),
                   FAB_BAD_ARGUMENT, "K = 2102 columns for D = 2101 coordinates");
    s.K = 2101;
    assert_refused(fab_fit_create(&f, fab_method_name(laplace), &s, sizeof s,
                                  &(fab_input){.model = fab_net_model(w.net)}, NULL),
                   FAB_BAD_ARGUMENT, "K = 2101 is the full curvature of 2101 coordinates");
    s.K = FAB_AUTO_I64, s.structure = FAB_STRUCTURE_FULL;
    assert_refused(fab_fit_create(&f, fab_method_name(laplace), &s, sizeof s,
                                  &(fab_input){.model = fab_net_model(w.net)}, NULL),
                   FAB_UNSUPPORTED, "the full curvature of 2101 coordinates is too large");
    s.K = 7;
    assert_refused(fab_fit_create(&f, fab_method_name(laplace), &s, sizeof s,
                                  &(fab_input){.model = fab_net_model(w.net)}, NULL),
                   FAB_BAD_ARGUMENT, "K = 7 of 2101 coordinates is not the full structure");
    s.structure = FAB_STRUCTURE_DIAGONAL;
    assert_refused(fab_fit_create(&f, fab_method_name(laplace), &s, sizeof s,
                                  &(fab_input){.model = fab_net_model(w.net)}, NULL),
                   FAB_BAD_ARGUMENT, "K = 7 of a diagonal, which has no columns");
    fab_net_free(w.net);
    fab_net_free(net);
}

static size_t held_now, held_most;

static void *weigh(size_t bytes)
{
    size_t *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
    *p = bytes;
    held_now += bytes;
    held_most = held_now > held_most ? held_now : held_most;
    return p + 8;
}

static void unweigh(void *p)
{
    held_now -= ((size_t *)p)[-8];
    free((size_t *)p - 8);
}

/* At least what is held at most, and half as much again at most: not all of it is held at once. */
static void bytes_is_what_a_fit_takes(void **state)
{
    (void)state;
    for (int way = 0; way < 3; way++) {
        data d;
        fab_net *net = net_of(&kinds[0], way == 1 ? "mlp:40:tanh" : "mlp:1000:tanh", NULL);
        fab_laplace_settings s = quick();
        fab_fit *f;
        s.train.epochs = s.again = 1, s.rounds = 3;
        s.train.alpha = FAB_AUTO_F64;
        if (way == 0) s.structure = FAB_STRUCTURE_DIAGONAL;
        if (way == 1) s.structure = FAB_STRUCTURE_FULL;
        if (way == 2) s.K = 4;
        fill(&d, FAB_LIKELIHOOD_GAUSSIAN);
        const fab_input in = {.model = fab_net_model(net)};
        const double said = fab_fit_bytes("laplace", &s, sizeof s, &in, d.e.x.n, NULL);
        held_most = held_now = 0;
        fab_set_allocator(weigh, unweigh);
        assert_ok(try_fit(&f, in.model, &s, &d.e, NULL, NULL));
        fab_fit_free(f);
        fab_set_allocator(NULL, NULL);
        assert_true(said >= (double)held_most && said <= 1.5 * (double)held_most);
        fab_net_free(net);
    }
}

static const fab_model *tiny;
static int in_the_last_layer;

static fab_status fit_and_close(void)
{
    data d;
    fab_fit *f = NULL;
    fab_laplace_settings s = quick();
    s.train.epochs = 1, s.again = 1, s.rounds = 1;
    s.train.alpha = FAB_AUTO_F64;
    s.K = 1;
    s.last_layer = in_the_last_layer;
    fill(&d, FAB_LIKELIHOOD_GAUSSIAN);
    const fab_status done = try_fit(&f, tiny, &s, &d.e, NULL, NULL);
    fab_fit_free(f);
    return done;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    fab_net *net = net_of(&kinds[0], "linear", NULL);
    tiny = fab_net_model(net);
    for (in_the_last_layer = 0; in_the_last_layer < 2; in_the_last_layer++)
        assert_true(fail_every_allocation(fit_and_close) >= 9 + 4 * in_the_last_layer);
    fab_net_free(net);
}

#define FILES(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_covariance_is_the_inverse_of_the_curvature),
        TEST(a_given_prior_takes_the_place_of_alpha),
        TEST(the_divergence_falls_with_K_to_nothing),
        TEST(K_of_all_coordinates_is_exact),
        TEST(as_many_columns_as_rows_lose_nothing),
        TEST(EM_by_products_does_better_than_leaving_out_a_direction),
        TEST(the_evidence_of_many_coordinates_is_near),
        TEST(a_linear_network_is_the_linear_model),
        TEST(the_last_layer_is_the_linear_model_of_its_features),
        TEST(the_last_layer_needs_no_Jacobian_of_the_others),
        TEST(the_last_layer_by_products_needs_no_Jacobian_either),
        TEST(the_diagonal_is_that_of_the_curvature),
        TEST(a_low_rank_that_would_take_hours_is_a_diagonal_and_says_so),
        TEST(a_logistic_network_without_layers_is_the_logistic_model),
        FILES(a_stopped_run_goes_on_to_the_same_bytes),
        TEST(the_bits_do_not_depend_on_threads),
        TEST(runs_are_mixed),
        TEST(odd_tables_have_a_posterior),
        FILES(failures_name_the_step_and_keep_the_last_good_state),
        TEST(what_does_not_fit_is_refused),
        TEST(bytes_is_what_a_fit_takes),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
