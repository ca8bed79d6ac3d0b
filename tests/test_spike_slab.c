/* test_spike_slab.c - spike-slab against its updates in plain sums, an evidence by enumeration, exact, and itself.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "linear_case.h"
#include "plain.h"
#include "fabayes/gauss.h"

static fab_status try_with(fab_fit **f, const problem *p, const fab_spike_slab_settings *s,
                           const fab_exec *x)
{
    const fab_examples e = examples_of(p);
    fab_glm glm = glm_of(p);
    const fab_model m = fab_model_linear(&glm);
    const fab_gauss *q;
    fab_status status = fab_fit_create(f, "spike-slab", s, sizeof *s,
                                       &(fab_input){.model = &m, .prior = p->prior}, x);
    if (status == FAB_OK) status = fab_fit_update(*f, &e);
    if (status == FAB_OK) status = fab_fit_gauss(*f, &q);
    if (status == FAB_OK) return fab_gauss_check(q);
    fab_fit_free(*f);
    *f = NULL;
    return status;
}

static fab_fit *fit_of(const problem *p, const fab_spike_slab_settings *s)
{
    fab_fit *f;
    assert_ok(try_with(&f, p, s, NULL));
    return f;
}

static fab_report report_of(fab_fit *f)
{
    fab_report r;
    assert_ok(fab_fit_report(f, &r));
    return r;
}

/* D probabilities, lent; the file has them too. */
static const double *inclusion_of(fab_fit *f, int64_t D)
{
    const fab_tensors *t;
    fab_tensors *file;
    void *bytes;
    size_t size;
    assert_ok(fab_fit_tensors(f, &t));
    assert_int_equal(fab_tensors_count(t), 1);
    const fab_tensor *p = fab_tensors_find(t, "inclusion");
    assert_non_null(p);
    assert_true(p->type == FAB_F64 && p->ndim == 1 && p->shape[0] == D);
    assert_ok(fab_fit_pack(f, 0, NULL, &bytes, &size));
    assert_ok(fab_tensors_parse(&file, "packed", bytes, size));
    const fab_tensor *saved = fab_tensors_find(file, "inclusion");
    assert_non_null(saved);
    assert_true(saved->type == FAB_F64 && saved->ndim == 1 && saved->shape[0] == D);
    assert_memory_equal(saved->data, p->data, (size_t)D * sizeof(double));
    fab_tensors_free(file);
    fab_bytes_free(bytes);
    return p->data;
}

/* Normals, of which `k` columns matter, each by 1 to 2; noise of 0.5. */
static problem sparse_problem(int64_t N, int64_t D, int64_t k, uint64_t seed)
{
    problem p = some_problem(N, D, seed);
    fab_random_normal(seed, FAB_PURPOSE_DATA, 2, 0, N, FAB_F64, p.y);
    for (int64_t j = 0; j < N; j++) {
        p.y[j] = 0.5 * p.y[j] + 7.3;
        for (int64_t i = 0; i < k; i++)
            p.y[j] += (i % 2 ? -1 : 1) * (1.5 + 0.5 * noise(seed, i)) * p.x[j * D + i * (D / k)];
    }
    return p;
}

/* ---- the oracle: the updates in plain sums, with the N x N covariance of y as a matrix ------------------- */

enum { SLABS = 16 };

typedef struct plain {
    int64_t K;
    double W, nu, centre, unit, s2, h; /* of y: its mean and scale */
    double *Z, *y, *mean, *scale;      /* N x D, N, D, D */
    double *O;                         /* N x N: (I + h Z Z')^-1 */
    double *b, *c, *x, *inclusion;     /* D */
    double pi[SLABS + 1];
    double bound, logdet;
} plain;

static plain plain_table(const problem *p)
{
    const int64_t N = p->N, D = p->D;
    plain o = {.Z = doubles(N * D), .y = doubles(N), .mean = doubles(D), .scale = doubles(D)};
    for (int64_t j = 0; j < N; j++) o.W += p->weight ? p->weight[j] : 1;
    for (int64_t i = 0; i <= D; i++) { /* the target comes last */
        double mean = 0, square = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t j = 0; j < N; j++) {
                const double w = (p->weight ? p->weight[j] : 1) / o.W,
                             v = i < D ? p->x[j * D + i] : p->y[j] - (p->offset ? p->offset[j] : 0);
                if (pass == 0 && p->intercept) mean += w * v;
                if (pass == 1) square += w * (v - mean) * (v - mean);
            }
        for (int64_t j = 0; j < N; j++) {
            const double w = sqrt(p->weight ? p->weight[j] : 1),
                         v = i < D ? p->x[j * D + i] : p->y[j] - (p->offset ? p->offset[j] : 0);
            *(i < D ? &o.Z[j * D + i] : &o.y[j]) = w * (v - mean) / sqrt(square);
        }
        *(i < D ? &o.mean[i] : &o.centre) = mean;
        *(i < D ? &o.scale[i] : &o.unit) = sqrt(square);
    }
    o.nu = o.W - (double)p->intercept;
    o.s2 = 1 / (p->beta * o.unit * o.unit);
    o.h = 1 / (p->alpha * o.unit * o.unit * o.s2);
    o.K = (int64_t)ceil(log(o.W) / log(4)) + 3;
    return o;
}

/* q_j from t: weights, means and variances of its parts; the log of its normaliser */
static double plain_factor(const plain *o, double x, double t, double *w, double *m, double *v)
{
    double sum = 0, most = -INFINITY;
    for (int64_t k = 0; k <= o->K; k++) {
        const double tau = k ? pow(4, 1 - (double)k) : 0;
        v[k] = k ? 1 / (1 / tau + x / o->s2) : 0;
        m[k] = v[k] * t / o->s2;
        w[k] = log(o->pi[k]) - 0.5 * log1p(tau * x / o->s2) + 0.5 * m[k] * t / o->s2;
        most = fmax(most, w[k]);
    }
    for (int64_t k = 0; k <= o->K; k++) sum += exp(w[k] - most);
    for (int64_t k = 0; k <= o->K; k++) w[k] = exp(w[k] - most) / sum;
    return most + log(sum);
}

/* The residual y - Z b, and O times it. */
static void plain_residual(const problem *p, const plain *o, double *r, double *Or)
{
    for (int64_t j = 0; j < p->N; j++) {
        r[j] = o->y[j];
        for (int64_t i = 0; i < p->D; i++) r[j] -= o->Z[j * p->D + i] * o->b[i];
    }
    plain_mm(0, 0, p->N, 1, p->N, o->O, r, Or);
}

static plain plain_fit(const problem *p, int sweeps)
{
    const int64_t N = p->N, D = p->D;
    plain o = plain_table(p);
    double *C = doubles(N * N), *r = doubles(N), *Or = doubles(N), *by = doubles(D);
    double w[SLABS + 1], m[SLABS + 1], v[SLABS + 1], share[SLABS + 1];
    o.O = doubles(N * N);
    o.b = doubles(D), o.c = doubles(D), o.x = doubles(D), o.inclusion = doubles(D);
    plain_mm(0, 1, N, N, D, o.Z, o.Z, C);
    for (int64_t j = 0; j < N * N; j++) C[j] = o.h * C[j] + (j % (N + 1) == 0);
    plain_inverse(N, C, o.O);
    double *L = doubles(N * N);
    plain_chol(N, C, L);
    for (int64_t j = 0; j < N; j++) o.logdet += 2 * log(L[j * N + j]);
    for (int64_t i = 0; i < D; i++) {
        o.b[i] = o.c[i] = by[i] = o.x[i] = 0;
        for (int64_t j = 0; j < N; j++) by[i] += o.Z[j * D + i] * o.y[j];
        for (int64_t j = 0; j < N * N; j++)
            o.x[i] += o.Z[j / N * D + i] * o.O[j] * o.Z[j % N * D + i];
    }
    for (int64_t k = 0; k <= o.K; k++) o.pi[k] = k ? 0.1 / (double)o.K : 0.9;
    for (int n = 0; n < sweeps; n++) {
        double prior = 0, spread = 0, square = 0;
        if (n > 0)
            for (int64_t k = 0; k <= o.K; k++) o.pi[k] = share[k] / (double)D;
        memset(share, 0, sizeof share);
        for (int64_t at = 0; at < D; at++) {
            int64_t i = 0; /* the at-th largest |Z'y| */
            for (int64_t a = 0; a < D; a++) {
                int64_t rank = 0;
                for (int64_t b = 0; b < D; b++) rank += fabs(by[b]) > fabs(by[a]);
                if (rank == at) i = a;
            }
            double t = o.x[i] * o.b[i], second = 0;
            plain_residual(p, &o, r, Or);
            for (int64_t j = 0; j < N; j++) t += o.Z[j * D + i] * Or[j];
            const double log_sum = plain_factor(&o, o.x[i], t, w, m, v);
            o.b[i] = 0;
            for (int64_t k = 0; k <= o.K; k++) {
                o.b[i] += w[k] * m[k];
                second += w[k] * (m[k] * m[k] + v[k]);
                share[k] += w[k];
            }
            o.c[i] = second - o.b[i] * o.b[i];
            prior += log_sum - (t * o.b[i] - o.x[i] * second / 2) / o.s2;
            spread += o.x[i] * o.c[i];
        }
        plain_residual(p, &o, r, Or);
        for (int64_t j = 0; j < N; j++) square += r[j] * Or[j];
        o.bound = prior - 0.5 * (o.nu * log(6.283185307179586477 * o.s2) + o.logdet +
                                 (square + spread) / o.s2);
    }
    for (int64_t i = 0; i < D; i++) {
        double t = o.x[i] * o.b[i];
        for (int64_t j = 0; j < N; j++) t += o.Z[j * D + i] * Or[j];
        plain_factor(&o, o.x[i], t, w, m, v);
        o.inclusion[i] = 1 - w[0];
    }
    return o;
}

/* In the units of the bound, what the report says. */
static double plain_evidence(const problem *p, const plain *o, double value)
{
    return value - o->nu * log(o->unit) - (p->intercept ? 0.5 * log(o->W) : 0);
}

static problem odd_problem(int64_t N, int64_t D, int way)
{
    problem p = sparse_problem(N, D, 3, 11);
    p.intercept = way & 1;
    p.alpha = 17.3;
    p.beta = 2.385;
    if (way & 2) add_weights(&p, 7);
    return p;
}

static void the_updates_are_those_of_plain_sums(void **state)
{
    (void)state;
    enum { SWEEPS = 6 };
    const int64_t sizes[][2] = {{13, 29}, {29, 29}, {37, 11}, {5, 7}};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        for (int way = 0; way < 4; way++) {
            const problem p = odd_problem(sizes[n][0], sizes[n][1], way);
            const int64_t N = p.N, D = p.D, P = D + p.intercept;
            fab_spike_slab_settings s = fab_spike_slab_defaults();
            s.glm.alpha = p.alpha, s.glm.beta = p.beta;
            s.tol = 0, s.max_iter = SWEEPS;
            fab_fit *f = fit_of(&p, &s);
            const fab_gauss *q = posterior_of(f);
            const fab_report r = report_of(f);
            const double *inclusion = inclusion_of(f, D);
            const plain o = plain_fit(&p, SWEEPS);
            assert_int_equal(r.iterations, SWEEPS);
            assert_int_equal(r.converged, 0);
            assert_near(r.log_evidence, plain_evidence(&p, &o, o.bound), 1e-9 * (double)N);
            /* the mean, b + h Z'O (y - Z b), and the precision, in the table's units */
            double *res = doubles(N), *Or = doubles(N), *A = doubles(P * P), *S = doubles(P * P),
                   far = o.centre;
            plain_residual(&p, &o, res, Or);
            memset(A, 0, (size_t)(P * P) * sizeof *A);
            for (int64_t i = 0; i < D; i++) {
                double mean = o.b[i];
                for (int64_t j = 0; j < N; j++) mean += o.h * o.Z[j * D + i] * Or[j];
                mean *= o.unit / o.scale[i];
                far -= mean * o.mean[i];
                assert_near(q->mu[i], mean, 1e-9);
                assert_near(inclusion[i], o.inclusion[i], 1e-9);
                const double x = o.x[i] / o.s2, e = fmax(1 / o.c[i] - x, 1e-3 * x),
                             variance = (o.h * o.s2 + 1 / e) * o.unit * o.unit;
                A[i * P + i] = o.scale[i] * o.scale[i] / variance;
            }
            if (p.intercept) assert_near(q->mu[D], far, 1e-8);
            for (int64_t j = 0; j < N; j++)
                for (int64_t a = 0; a < P; a++)
                    for (int64_t b = 0; b < P; b++)
                        A[a * P + b] += (p.weight ? p.weight[j] : 1) * p.beta *
                                        (a < D ? p.x[j * D + a] : 1) * (b < D ? p.x[j * D + b] : 1);
            plain_inverse(P, A, S);
            const real *C = dense_covariance(q);
            for (int64_t i = 0; i < P * P; i++) {
                const int64_t a = i / P, b = i % P;
                assert_near(C[i], S[i], 1e-8 * sqrt(S[a * P + a] * S[b * P + b]));
            }
            fab_fit_free(f);
        }
}

/* With three columns all assignments of slabs can be summed: log sum_k pi_k N(y; 0, C_k). */
static void the_bound_is_below_the_evidence_and_near_it(void **state)
{
    (void)state;
    enum { N = 19, D = 3, SWEEPS = 200 };
    const problem p = odd_problem(N, D, 1);
    fab_spike_slab_settings s = fab_spike_slab_defaults();
    s.glm.alpha = p.alpha, s.glm.beta = p.beta;
    s.tol = 0, s.max_iter = SWEEPS;
    const plain o = plain_fit(&p, SWEEPS);
    fab_fit *f = fit_of(&p, &s);
    const double bound = report_of(f).log_evidence;
    double C[N * N], L[N * N], Ci[N * N], total = 0, most = -INFINITY;
    double *terms = doubles((o.K + 1) * (o.K + 1) * (o.K + 1));
    int64_t count = 0;
    for (int64_t a = 0; a <= o.K; a++)
        for (int64_t b = 0; b <= o.K; b++)
            for (int64_t c = 0; c <= o.K; c++) {
                const int64_t part[D] = {a, b, c};
                double term = 0;
                for (int64_t j = 0; j < N * N; j++) {
                    C[j] = o.s2 * (j % (N + 1) == 0);
                    for (int64_t i = 0; i < D; i++) {
                        const double tau = part[i] ? pow(4, 1 - (double)part[i]) : 0;
                        C[j] += (tau + o.h * o.s2) * o.Z[j / N * D + i] * o.Z[j % N * D + i];
                    }
                }
                plain_chol(N, C, L);
                plain_inverse(N, C, Ci);
                for (int64_t j = 0; j < N; j++) term -= log(L[j * N + j]);
                for (int64_t j = 0; j < N * N; j++) term -= 0.5 * o.y[j / N] * Ci[j] * o.y[j % N];
                for (int64_t i = 0; i < D; i++) term += log(fmax(o.pi[part[i]], 1e-300));
                term -= 0.5 * N * log(6.283185307179586477);
                terms[count++] = term;
                most = fmax(most, term);
            }
    for (int64_t i = 0; i < count; i++) total += exp(terms[i] - most);
    /* the intercept takes one of the N dimensions: it has variance s2 there */
    const double flat = 0.5 * log(6.283185307179586477 * o.s2),
                 evidence = plain_evidence(&p, &o, most + log(total) + flat);
    if (!(bound <= evidence + 1e-9 && bound > evidence - 1))
        fail_msg("bound %.6f, evidence %.6f", bound, evidence);
    fab_fit_free(f);
}

/* ---- what it chooses ------------------------------------------------------------------------------------- */

static void no_other_alpha_and_beta_has_a_higher_bound(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{60, 90}, {90, 40}};
    for (int n = 0; n < 2; n++) {
        const problem p = sparse_problem(sizes[n][0], sizes[n][1], 4, 3);
        fab_spike_slab_settings s = fab_spike_slab_defaults();
        s.tol = 1e-9, s.max_iter = 20000;
        fab_fit *f = fit_of(&p, &s);
        const fab_report best = report_of(f);
        assert_int_equal(best.converged, 1);
        fab_fit_free(f);
        for (int way = 0; way < 12; way++) {
            const double by = way % 4 < 2 ? 1.3 : 0.4;
            if (way < 8) s.glm.alpha = best.alpha * (way % 2 ? by : 1 / by);
            if (way >= 4) s.glm.beta = best.beta * (way % 2 ? by : 1 / by);
            if (way >= 8) s.glm.alpha = FAB_AUTO_F64;
            f = fit_of(&p, &s);
            const fab_report r = report_of(f);
            if (r.log_evidence > best.log_evidence + 1e-4)
                fail_msg("alpha %g, beta %g: %.9g, chosen %g and %g: %.9g", r.alpha, r.beta,
                         r.log_evidence, best.alpha, best.beta, best.log_evidence);
            fab_fit_free(f);
            s.glm.beta = FAB_AUTO_F64;
        }
    }
}

/* Of 300 columns 5 matter, each by 20 standard errors: all are found with an inclusion above .99, and the others, whose chance to
 * look as large is below 1e-6, are left out. */
static void the_columns_that_matter_are_found(void **state)
{
    (void)state;
    const int64_t N = 150, D = 300, k = 5;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        const problem p = sparse_problem(N, D, k, seed);
        const fab_spike_slab_settings s = fab_spike_slab_defaults();
        fab_fit *f = fit_of(&p, &s);
        const fab_gauss *q = posterior_of(f);
        const fab_report r = report_of(f);
        const double *inclusion = inclusion_of(f, D);
        assert_int_equal(r.kept, k);
        assert_int_equal(r.converged, 1);
        for (int64_t i = 0; i < D; i++) {
            const int real_one = i % (D / k) == 0 && i / (D / k) < k;
            assert_true(real_one ? inclusion[i] > 0.99 : inclusion[i] < 0.5);
            const double effect =
                real_one ? (i / (D / k) % 2 ? -1 : 1) * (1.5 + 0.5 * noise(seed, i / (D / k))) : 0;
            /* 6 standard errors of 0.5 / sqrt(150): false alarm below 1e-8 */
            assert_near(q->mu[i], effect, 6 * 0.5 / sqrt((double)N));
        }
        assert_near(1 / sqrt(r.beta), 0.5, 0.2);
        fab_fit_free(f);
    }
}

/* Where all columns matter alike nothing is taken out of the dense part, and that is exact's posterior. */
static void a_dense_truth_is_fitted_as_exact_does(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{80, 200}, {200, 60}};
    for (int n = 0; n < 2; n++) {
        const int64_t N = sizes[n][0], D = sizes[n][1];
        problem p = some_problem(N, D, 5);
        for (int64_t j = 0; j < N; j++) {
            p.y[j] = 3 * noise(8, j);
            for (int64_t i = 0; i < D; i++) {
                if (j == 0)
                    for (int64_t a = 0; a < N; a++) p.x[a * D + i] -= 1.3 * noise(5, i);
            }
        }
        double *scale = doubles(D);
        for (int64_t i = 0; i < D;
             i++) { /* to mean 0 and variance 1, where the two have one prior */
            double mean = 0, square = 0;
            for (int64_t j = 0; j < N; j++) mean += p.x[j * D + i] / (double)N;
            for (int64_t j = 0; j < N; j++) square += pow(p.x[j * D + i] - mean, 2) / (double)N;
            scale[i] = sqrt(square);
            for (int64_t j = 0; j < N; j++) p.x[j * D + i] = (p.x[j * D + i] - mean) / scale[i];
        }
        for (int64_t j = 0; j < N; j++)
            for (int64_t i = 0; i < D; i++) p.y[j] += 0.5 * noise(9, i) * p.x[j * D + i];
        p.alpha = p.beta = FAB_AUTO_F64;
        fab_spike_slab_settings s = fab_spike_slab_defaults();
        s.tol = 1e-6, s.max_iter = 20000;
        fab_fit *f = fit_of(&p, &s), *e = fitted_with("exact", &p, NULL);
        const fab_gauss *q = posterior_of(f), *g = posterior_of(e);
        double off = 0, size = 0;
        for (int64_t i = 0; i < D; i++) {
            off += pow(q->mu[i] - g->mu[i], 2);
            size += pow(g->mu[i], 2);
        }
        assert_true(off < 0.05 * 0.05 * size);
        /* pi_0 = 1 has exact's evidence, and the bound is highest where it is chosen */
        assert_true(report_of(f).log_evidence > report_of(e).log_evidence - 0.05);
        assert_int_equal(report_of(f).kept, 0);
        fab_fit_free(f);
        fab_fit_free(e);
    }
}

/* ---- properties ------------------------------------------------------------------------------------------ */

static void units_of_columns_and_target_do_not_matter(void **state)
{
    (void)state;
    const int64_t N = 40, D = 70;
    const fab_spike_slab_settings s = fab_spike_slab_defaults();
    for (int way = 0; way < 2; way++) {
        problem p = sparse_problem(N, D, 4, 6), t = sparse_problem(N, D, 4, 6);
        const double unit = way ? 3.7 : 8;
        for (int64_t j = 0; j < N; j++) {
            for (int64_t i = 0; i < D; i++)
                t.x[j * D + i] *= pow(way ? 3.1 : 2, (double)(i % 7) - 3);
            t.y[j] *= unit;
        }
        fab_fit *f = fit_of(&p, &s), *g = fit_of(&t, &s);
        const fab_gauss *a = posterior_of(f), *b = posterior_of(g);
        double size = 0;
        for (int64_t i = 0; i < D; i++) size = fmax(size, fabs(a->mu[i]));
        for (int64_t i = 0; i < D; i++) { /* powers of two round nothing */
            const double by = pow(way ? 3.1 : 2, (double)(i % 7) - 3) / unit;
            assert_near(b->mu[i] * by, a->mu[i], way ? 1e-6 * size : 0);
            assert_near(b->psi[i] / (by * by), a->psi[i], (way ? 1e-5 : 1e-13) * a->psi[i]);
        }
        assert_int_equal(report_of(f).kept, report_of(g).kept);
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

static void a_weight_of_two_is_a_row_twice(void **state)
{
    (void)state;
    const int64_t sizes[][2] = {{20, 90}, {60, 25}}; /* 30 and 90 rows */
    const fab_spike_slab_settings s = fab_spike_slab_defaults();
    for (int n = 0; n < 2; n++) {
        const int64_t N = sizes[n][0], D = sizes[n][1], more = N / 2;
        problem twice = sparse_problem(N + more, D, 3, 2), p = sparse_problem(N, D, 3, 2);
        p.weight = doubles(N);
        memcpy(twice.x, p.x, (size_t)(N * D) * sizeof(double));
        memcpy(twice.y, p.y, (size_t)N * sizeof(double));
        for (int64_t j = 0; j < N; j++) p.weight[j] = j < more ? 2 : 1;
        memcpy(twice.x + N * D, p.x, (size_t)(more * D) * sizeof(double));
        memcpy(twice.y + N, p.y, (size_t)more * sizeof(double));
        fab_fit *f = fit_of(&p, &s), *g = fit_of(&twice, &s);
        assert_near(report_of(f).log_evidence, report_of(g).log_evidence, 1e-6);
        for (int64_t i = 0; i <= D; i++)
            assert_near(posterior_of(f)->mu[i], posterior_of(g)->mu[i], 1e-6);
        fab_fit_free(f);
        fab_fit_free(g);
    }
}

static void threads_and_repetition_give_the_same_bits(void **state)
{
    (void)state;
    const problem p = sparse_problem(50, 120, 4, 9);
    const fab_spike_slab_settings s = fab_spike_slab_defaults();
    fab_fit *f = fit_of(&p, &s);
    const fab_gauss *a = posterior_of(f);
    for (int64_t threads = 1; threads <= 4; threads++) {
        fab_fit *g;
        assert_ok(try_with(&g, &p, &s, &(fab_exec){.threads = threads}));
        const fab_gauss *b = posterior_of(g);
        assert_memory_equal(a->mu, b->mu, (size_t)a->D * sizeof *a->mu);
        assert_memory_equal(a->psi, b->psi, (size_t)a->D * sizeof *a->psi);
        assert_memory_equal(a->F, b->F, (size_t)(a->D * a->K) * sizeof(double));
        fab_fit_free(g);
    }
    fab_fit_free(f);
}

/* ---- hard tables ----------------------------------------------------------------------------------------- */

static void odd_tables_fit(void **state)
{
    (void)state;
    const fab_spike_slab_settings s = fab_spike_slab_defaults();
    const int64_t sizes[][2] = {{3, 5}, {3, 2}, {2, 1}, {40, 1}, {12, 12}, {13, 12}};
    for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
        for (int way = 0; way < 2; way++) {
            problem p = some_problem(sizes[n][0], sizes[n][1], 4);
            p.intercept = way;
            fab_fit *f = fit_of(&p, &s);
            assert_true(isfinite(report_of(f).log_evidence));
            fab_fit_free(f);
        }
    const int64_t shapes[][2] = {{30, 50}, {60, 20}};
    for (int n = 0; n < 2; n++) { /* a constant column, a duplicate, a multiple with a far mean */
        const int64_t N = shapes[n][0], D = shapes[n][1];
        problem p = sparse_problem(N, D, 2, 3);
        for (int64_t j = 0; j < N; j++) {
            p.x[j * D + 1] = 2.385;
            p.x[j * D + 2] = p.x[j * D];
            p.x[j * D + 3] = 1e6 - 3 * p.x[j * D];
        }
        fab_fit *f = fit_of(&p, &s);
        const fab_gauss *q = posterior_of(f);
        const fab_report r = report_of(f);
        assert_near(q->mu[1], 0, 0);
        const double effect = q->mu[0] + q->mu[2] - 3 * q->mu[3];
        assert_near(effect, 1.5 + 0.5 * noise(3, 0), 6 * 0.5 / sqrt((double)N));
        assert_true(r.kept >= 2 && r.kept < 8);
        fab_fit_free(f);
    }
    problem p = sparse_problem(50, 10, 2, 3); /* no noise at all */
    for (int64_t j = 0; j < p.N; j++) p.y[j] = 2 * p.x[j * 10] - p.x[j * 10 + 5] + 1;
    fab_fit *f = fit_of(&p, &s);
    assert_near(posterior_of(f)->mu[0], 2, 1e-4);
    assert_near(posterior_of(f)->mu[5], -1, 1e-4);
    fab_fit_free(f);
}

static void what_it_cannot_do_is_refused(void **state)
{
    (void)state;
    const fab_spike_slab_settings s = fab_spike_slab_defaults();
    fab_fit *f;
    problem p = some_problem(10, 3, 1);
    for (int64_t j = 0; j < 10; j++) p.y[j] = 2.385;
    assert_refused(try_with(&f, &p, &s, NULL), FAB_BAD_DATA, "the target does not vary");
    p = some_problem(10, 3, 1);
    for (int64_t j = 0; j < 30; j++) p.x[j] = 2.385;
    assert_refused(try_with(&f, &p, &s, NULL), FAB_BAD_DATA, "no feature varies");
    p = some_problem(1, 3, 1);
    assert_refused(try_with(&f, &p, &s, NULL), FAB_BAD_DATA, "too few");
    p = some_problem(10, 3, 1);
    p.x[4] = 1e200;
    assert_refused(try_with(&f, &p, &s, NULL), FAB_BAD_DATA, "feature 1");
    p = some_problem(10, 3, 1);
    p.y[4] = 1e200;
    assert_refused(try_with(&f, &p, &s, NULL), FAB_BAD_DATA, "the target are too large");
    p = some_problem(10, 3, 1);
    fab_gauss *g = some_gauss(FAB_FORM_PRECISION, FAB_F64, 4, 0, 17, 1);
    p.prior = g;
    assert_refused(try_with(&f, &p, &s, NULL), FAB_UNSUPPORTED, "prior of its own");
    fab_gauss_free(g);
    fab_glm glm = {.likelihood = FAB_LIKELIHOOD_BERNOULLI, .D = 3, .classes = 1, .intercept = 1};
    const fab_model m = fab_model_linear(&glm);
    assert_refused(fab_fit_create(&f, "spike-slab", &s, sizeof s, &(fab_input){.model = &m}, NULL),
                   FAB_UNSUPPORTED, "bernoulli");
}

static fab_status fit_once(void)
{
    static problem p;
    const fab_spike_slab_settings s = fab_spike_slab_defaults();
    fab_fit *f = NULL;
    if (!p.x) p = sparse_problem(12, 20, 2, 3);
    const fab_status status = try_with(&f, &p, &s, NULL);
    fab_fit_free(f);
    return status;
}

static void every_failed_allocation_is_reported(void **state)
{
    (void)state;
    assert_ok(fit_once());
    assert_true(fail_every_allocation(fit_once) >= 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_updates_are_those_of_plain_sums),
        TEST(the_bound_is_below_the_evidence_and_near_it),
        TEST(no_other_alpha_and_beta_has_a_higher_bound),
        TEST(the_columns_that_matter_are_found),
        TEST(a_dense_truth_is_fitted_as_exact_does),
        TEST(units_of_columns_and_target_do_not_matter),
        TEST(a_weight_of_two_is_a_row_twice),
        TEST(threads_and_repetition_give_the_same_bits),
        TEST(odd_tables_fit),
        TEST(what_it_cannot_do_is_refused),
        TEST(every_failed_allocation_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
