/* gauss.h - the one noun: a Gaussian whose covariance or precision is low rank plus diagonal.
 *
 *     covariance:  S      = F F' + diag(psi)        precision:  S^-1 = F F' + diag(psi)
 *
 * or a point, mu alone: a draw is mu, and a density is refused.
 *
 *     fab_gauss *g;
 *     fab_solver *s;
 *     fab_gauss_create(&g, FAB_FORM_COVARIANCE, FAB_F64, D, K);
 *     g->mu[0] = 1, ((double *)g->F)[0] = 0.5, g->psi[0] = 0.1;      // it comes as mu = 0, F = 0, psi = 1
 *     fab_solver_create(&s, g, NULL);
 *     fab_solver_logpdf(s, &rows, logp);
 *     fab_solver_sample(s, seed, FAB_PURPOSE_SAMPLE, 0, n, FAB_F64, draws, D);
 *     fab_solver_free(s);
 *     fab_gauss_free(g);
 *
 * A solver factors one K x K matrix; after that a density, a product or a draw costs O(D K).  Every method ends in one
 * Gaussian, or in a mixture of several.  Below: the Gaussian and its solver; mixtures; posteriors as files; distances;
 * absorb, which adds vectors and cuts back to rank K; factors to read, and how many of them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_GAUSS_H
#define FABAYES_GAUSS_H

#include "fabayes/exec.h"
#include "fabayes/files.h"
#include "fabayes/random.h"
#include "fabayes/settings.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- a Gaussian -------------------------------------------------------------------------------- */

typedef enum fab_form { FAB_FORM_COVARIANCE = 0, FAB_FORM_PRECISION, FAB_FORM_POINT } fab_form;

/* "covariance", "precision", "point". */
FAB_API const char *fab_form_name(fab_form f);

typedef struct fab_gauss {
    fab_form form;
    fab_dtype type; /* of F: FAB_F64 or FAB_F32 */
    int64_t D, K;   /* K = 0: a plain diagonal */
    double *mu;     /* D */
    void *F;        /* D x K, row-major: F[d * K + k] */
    double *psi;    /* D, > 0 (point: NULL) */

    /* A Gaussian over part of theta (the last layer of a network): coordinate d is theta[index[d]].
     * total = 0 and NULLs: mu is all of theta. */
    int64_t total;
    double *theta;  /* total: the point the rest stays at */
    int64_t *index; /* D, increasing */
} fab_gauss;

/* A Gaussian with mu = 0, F = 0, psi = 1 in memory of its own.  Gives *g. */
FAB_API fab_status fab_gauss_create(fab_gauss **g, fab_form form, fab_dtype type, int64_t D,
                                    int64_t K);
/* The same over D of `total` coordinates; theta = 0, index = 0 .. D-1. */
FAB_API fab_status fab_gauss_create_part(fab_gauss **g, fab_form form, fab_dtype type, int64_t D,
                                         int64_t K, int64_t total);
/* A copy with F in `type`.  Gives *out. */
FAB_API fab_status fab_gauss_copy(fab_gauss **out, const fab_gauss *g, fab_dtype type);
FAB_API void fab_gauss_free(fab_gauss *g); /* takes NULL */

/* Sizes sensible, all numbers finite, psi > 0, index increasing?  The sentence names the coordinate. */
FAB_API fab_status fab_gauss_check(const fab_gauss *g);

/* A Gaussian with mu = 0 and this covariance (D x D, positive definite, D up to FAB_DENSE_MAX), K = D.
 * Gives *g. */
FAB_API fab_status fab_gauss_from_dense(fab_gauss **g, int64_t D, const double *S);

/* The marginal of the n coordinates in `index` (increasing), in the same form.  Gives *out. */
FAB_API fab_status fab_gauss_marginal(fab_gauss **out, const fab_gauss *g, const int64_t *index,
                                      int64_t n, const fab_exec *x);

/* ---- solver: density, products, draws ---------------------------------------------------------- */

typedef struct fab_solver fab_solver;

/* Check and factor g.  Borrows g until free.  A point form is accepted: it can be sampled. */
FAB_API fab_status fab_solver_create(fab_solver **s, const fab_gauss *g, const fab_exec *x);
FAB_API void fab_solver_free(fab_solver *s); /* takes NULL */

FAB_API fab_status fab_solver_logdet(const fab_solver *s, double *logdet); /* of the covariance */
FAB_API fab_status fab_solver_entropy(const fab_solver *s, double *nats);
/* log density of each row; out has x->n numbers. */
FAB_API fab_status fab_solver_logpdf(fab_solver *s, const fab_rows *x, double *out);
/* Squared Mahalanobis distance of each row from mu. */
FAB_API fab_status fab_solver_mahalanobis(fab_solver *s, const fab_rows *x, double *out);
/* Row j of out (x->n x D doubles) = covariance times row j of x; precision times row j of x. */
FAB_API fab_status fab_solver_times_covariance(fab_solver *s, const fab_rows *x, double *out);
FAB_API fab_status fab_solver_times_precision(fab_solver *s, const fab_rows *x, double *out);
/* The D marginal variances. */
FAB_API fab_status fab_solver_variances(fab_solver *s, double *out);
/* The D x D covariance, for D up to FAB_DENSE_MAX. */
FAB_API fab_status fab_solver_dense(fab_solver *s, double *S);

/* Draws number first .. first + n - 1 of `seed`, one per row of out (elements of `type`, ld apart):
 * draw j has the same bits whichever call makes it.  The purpose (random.h) is FAB_PURPOSE_SAMPLE, or
 * FAB_PURPOSE_DATA for rows that something is to learn from.  Over part of theta a draw has `total` elements,
 * the rest at theta. */
FAB_API fab_status fab_solver_sample(fab_solver *s, uint64_t seed, fab_purpose purpose,
                                     int64_t first, int64_t n, fab_dtype type, void *out,
                                     int64_t ld);

enum { FAB_DENSE_MAX = 2000 };

/* ---- mixture ----------------------------------------------------------------------------------- */

/* A weighted set of Gaussians over the same theta: several runs of a method, multiswag, ensembles. */
typedef struct fab_mixture {
    int64_t n;
    const fab_gauss *const *part; /* n Gaussians of the same D (and total) */
    const double *weight;         /* n, >= 0, sum 1 */
} fab_mixture;

/* Parts agree in D, weights >= 0 and sum to 1 within 1e-9? */
FAB_API fab_status fab_mixture_check(const fab_mixture *m);
/* log density of each row; refused when a part is a point. */
FAB_API fab_status fab_mixture_logpdf(const fab_mixture *m, const fab_rows *x, const fab_exec *e,
                                      double *out);
/* Draws as fab_solver_sample; which part a draw comes from depends on (seed, purpose, number) alone.  `from`
 * gets the part of each draw, or is NULL. */
FAB_API fab_status fab_mixture_sample(const fab_mixture *m, uint64_t seed, fab_purpose purpose,
                                      int64_t first, int64_t n, fab_dtype type, void *out,
                                      int64_t ld, int64_t *from, const fab_exec *e);
/* Mean and marginal variances, D each; a point has variance 0. */
FAB_API fab_status fab_mixture_moments(const fab_mixture *m, const fab_exec *e, double *mean,
                                       double *variance);

/* KL(a || b) in nats from n draws of a, 2 at least, and its standard error; refused where a part is a point. */
FAB_API fab_status fab_mixture_kl(const fab_mixture *a, const fab_mixture *b, uint64_t seed,
                                  int64_t n, const fab_exec *x, double *kl, double *se);
/* match (a->n): the part of b that is part i of a, or -1 where b has fewer and the others are nearer.  Pairs by rising distance
 * of their means in standard deviations of b, each part at most once; distance (a->n, NaN without a match, or NULL). */
FAB_API fab_status fab_mixture_match(const fab_mixture *a, const fab_mixture *b, const fab_exec *x,
                                     int64_t *match, double *distance);
/* Whose mean is nearest to each row, of equal ones the first, by squared distances from differences: label and, unless it is NULL,
 * square have x->n numbers. */
FAB_API fab_status fab_mixture_nearest(const fab_mixture *m, const fab_rows *x, const fab_exec *e,
                                       int64_t *label, double *square);

/* The mixture as one Gaussian: mean and covariance of all parts together, which are in covariance form, cut to rank K where their
 * columns are more.  With the shares of the rows as weights these are the moments of all rows.  *kl: KL(before || after) of the
 * cut, in nats; 0: nothing was cut.  Gives *out. */
FAB_API fab_status fab_mixture_pool(fab_gauss **out, const fab_mixture *m, int64_t K,
                                    const fab_exec *x, double *kl);

/* The k <= D principal axes of the mixture's covariance, coordinates in their standard deviations: row j of axis (k x D) takes a vector
 * less the centre (D: the mean) to its place on axis j, which explains share[j] of the variance.  Parts in covariance form; no
 * D x D matrix is made. */
FAB_API fab_status fab_mixture_axes(const fab_mixture *m, int64_t k, const fab_exec *x,
                                    double *centre, double *axis, double *share);
/* Mean (k) and covariance (k x k) of one of its parts on those axes. */
FAB_API void fab_gauss_on_axes(const fab_gauss *g, int64_t k, const double *centre,
                               const double *axis, double *mean, double *covariance);
/* n >= 2 points to draw of such a mean and covariance: of k = 2 a closed curve `reach` standard deviations away, of k = 1 the density
 * from `reach` standard deviations below to as many above. */
FAB_API void fab_gauss_outline(int64_t k, const double *mean, const double *covariance,
                               double reach, int64_t n, double *x, double *y);
/* z (m->n x D): the mean of each part less that of the mixture, in standard deviations of the coordinate in the mixture. */
FAB_API fab_status fab_mixture_standings(const fab_mixture *m, const fab_exec *x, double *z);

/* Least and largest mean and standard deviation of the D coordinates. */
typedef struct fab_ranges {
    double mean_lo, mean_hi, sd_lo, sd_hi;
} fab_ranges;
FAB_API fab_status fab_mixture_ranges(const fab_mixture *m, const fab_exec *x, fab_ranges *r);
/* |F|^2 over the trace of F F' + diag(psi): how much the factors carry of what the form stores.  Not for a point. */
FAB_API double fab_gauss_share(const fab_gauss *g);

/* ---- posteriors as files --------------------------------------------------------------------------------- */

/* A fitted posterior as a file: one Gaussian or a mixture, and what a stranger needs.
 *
 *     fab_posterior *p;
 *     fab_posterior_load(&p, "q.safetensors");
 *     printf("%s: %g\n", fab_tensors_get(p->file, "method"), p->mix.part[0]->mu[0]);
 *     fab_posterior_free(p);
 *
 * Tensors mu (D), F (D x K), psi (D); a Gaussian over part of theta adds theta and index; a mixture has
 * 0.mu, 0.F, .. and weights.  Metadata: fabayes (version) and form are required, the rest is optional. */

typedef struct fab_posterior {
    fab_mixture mix;   /* n = 1, weight 1: a single Gaussian */
    fab_tensors *file; /* all tensors and metadata as they were read */
} fab_posterior;

/* Read and believe nothing.  Gives *p. */
FAB_API fab_status fab_posterior_load(fab_posterior **p, const char *path);
FAB_API fab_status fab_posterior_parse(fab_posterior **p, const char *name, const void *bytes,
                                       size_t size);
FAB_API void fab_posterior_free(fab_posterior *p); /* takes NULL */

/* Write a mixture (n = 1: a single Gaussian) atomically, with the metadata and the extra tensors of
 * `more` (or NULL).  Its `fabayes` and `form` are not taken; a tensor named as the posterior's own is
 * refused. */
FAB_API fab_status fab_posterior_save(const char *path, const fab_mixture *m,
                                      const fab_tensors *more);
/* The bytes of that file in memory, for fab_posterior_parse.  Gives *bytes: fab_bytes_free. */
FAB_API fab_status fab_posterior_pack(const fab_mixture *m, const fab_tensors *more, void **bytes,
                                      size_t *size);
FAB_API fab_status fab_gauss_save(const char *path, const fab_gauss *g, const fab_tensors *more);

/* ---- importance weights ------------------------------------------------------------------------ */

/* Logarithms of n importance weights, p(theta_s) / q(theta_s) up to a constant: the largest are replaced by quantiles of the generalised
 * Pareto distribution that fits them (Pareto smoothed importance sampling).  *k (or NULL), its shape, says how far means with these
 * weights can be trusted: below 0.5 well, above 0.7 not at all.  -infinity: all weights are alike; +infinity: they are too few. */
FAB_API fab_status fab_pareto_smooth(int64_t n, double *logw, double *k);

/* ---- distance ---------------------------------------------------------------------------------- */

/* How far Gaussian a, the estimate, is from Gaussian b, the reference. */

/* |mu_a - mu_b| / |mu_b| (Euclid);  FAB_UNSUPPORTED when mu_b = 0. */
FAB_API fab_status fab_distance_mean(const fab_gauss *a, const fab_gauss *b, double *out);
/* |S_a - S_b| / |S_b| (Frobenius), any two forms, O(D K^2). */
FAB_API fab_status fab_distance_covariance(const fab_gauss *a, const fab_gauss *b,
                                           const fab_exec *x, double *out);
/* KL(a || b) in nats, any two forms, O(D K^2). */
FAB_API fab_status fab_distance_kl(const fab_gauss *a, const fab_gauss *b, const fab_exec *x,
                                   double *out);
/* The 2-Wasserstein distance; dense, D up to FAB_DENSE_MAX, FAB_UNSUPPORTED above. */
FAB_API fab_status fab_distance_w2(const fab_gauss *a, const fab_gauss *b, const fab_exec *x,
                                   double *out);

/* ---- absorb ------------------------------------------------------------------------------------ */

/* The update S <- a S + b X X', brought back to rank K plus diagonal.
 *
 * The step that recursive factor analysis, L-RVGA and Laplace at rank K share.  S = F F' + diag(psi)
 * is whatever the Gaussian's form says it is, a covariance or a precision; mu is left alone.
 *
 *     fab_absorb_settings s = fab_absorb_defaults();
 *     fab_absorb *ab;
 *     fab_absorb_create(&ab, D, K, m, &s, sizeof s, NULL);
 *     fab_absorb_update(ab, g, a, b, &columns);
 *     fab_absorb_free(ab); */

typedef enum fab_cut { FAB_CUT_EM = 0, FAB_CUT_EIGEN } fab_cut;

typedef struct fab_absorb_settings {
    int64_t inner;  /* EM loops per call */
    int64_t expand; /* parameter-expanded EM */
    int64_t cut;    /* fab_cut: EM, or the leading eigenvectors (exact when nothing is cut off) */
    double psi_min; /* floor of psi, relative to the coordinate of diag(S) */
} fab_absorb_settings;

static inline fab_absorb_settings fab_absorb_defaults(void);
FAB_API const fab_fields *fab_absorb_table(void);

/* Fill the first `size` bytes of the settings, those that the caller was compiled with. */
FAB_API void fab_absorb_fill(fab_absorb_settings *s, size_t size);
static inline fab_absorb_settings fab_absorb_defaults(void)
{
    fab_absorb_settings s;
    fab_absorb_fill(&s, sizeof s);
    return s;
}

typedef struct fab_absorb fab_absorb;

/* Work for Gaussians of D x K with F in the type of x->ops, and up to m columns at a time.  Copies *s (`size` bytes of it;
 * NULL, 0: the defaults). */
FAB_API fab_status fab_absorb_create(fab_absorb **ab, int64_t D, int64_t K, int64_t m,
                                     const fab_absorb_settings *s, size_t size, const fab_exec *x);
/* Absorb the rows of *columns (each a column of X) into g->F, g->psi.  No allocation.  On failure g is
 * as it was. */
FAB_API fab_status fab_absorb_update(fab_absorb *ab, fab_gauss *g, double a, double b,
                                     const fab_rows *columns);
/* Coordinates at the floor after the last update. */
FAB_API int64_t fab_absorb_floored(const fab_absorb *ab);
FAB_API void fab_absorb_free(fab_absorb *ab); /* takes NULL */

/* Gaussian of rank K nearest (by maximum likelihood) to g of a larger rank: EM to `tol` in psi.
 * Gives *out. */
FAB_API fab_status fab_gauss_cut(fab_gauss **out, const fab_gauss *g, int64_t K, double tol,
                                 int64_t max_iter, const fab_exec *x);

/* ---- factors to read ------------------------------------------------------------------------------- */

/* The factors of a Gaussian in covariance form: rotated, as scores of rows, and how many of them there are.
 *
 *     fab_rotation *r;
 *     fab_rotation_create(&r, g, FAB_ROTATION_VARIMAX, 0);
 *     fab_rotation_factors(r, g, 0, D, loadings);      // D x K
 *     fab_solver_scores(s, r, &rows, z);               // rows x K
 *     fab_rotation_free(r); */

/* F z has the same distribution as (F R)(R^-1 z).  On the principal axes the columns of F R are orthogonal; varimax makes
 * the squared loadings of each column as unlike as possible (Kaiser 1958, rows scaled to length 1 meanwhile).  These two
 * are rotations: the factors stay uncorrelated.  promax and oblimin let the factors correlate for loadings that are
 * simpler still. */
typedef enum fab_rotation_kind {
    FAB_ROTATION_PRINCIPAL = 0,
    FAB_ROTATION_VARIMAX,
    FAB_ROTATION_PROMAX, /* Hendrickson and White 1964, power 4 */
    FAB_ROTATION_OBLIMIN /* direct oblimin, also called quartimin (Jennrich and Sampson 1966) */
} fab_rotation_kind;

/* "principal", "varimax", "promax", "oblimin"; NULL when there is no such rotation.  The one of a name. */
FAB_API const char *fab_rotation_name(fab_rotation_kind kind);
FAB_API fab_status fab_rotation_find(const char *name, fab_rotation_kind *kind);

typedef struct fab_rotation {
    fab_rotation_kind kind;
    int64_t D, K;
    int64_t standardised; /* 1: loadings are in standard deviations of their coordinates */
    double *R;            /* K x K, row-major: the rotated loadings are F R */
    double *back;         /* K x K: R^-1; the rotated factors are R^-1 z */
    double *phi;          /* K x K: their correlations; I unless promax or oblimin */
    /* K: the variance that each explains: sums of squares of the columns of F R; of correlated factors diag(phi R' F' F R),
     * which sums to the same.  Falling on the principal axes; the others fall where coordinates are in their standard
     * deviations. */
    double *length;
    double total;  /* of all coordinates: trace of the covariance; standardised: D */
    double *scale; /* D: loadings of a coordinate are multiplied by it; NULL: 1 */
} fab_rotation;

/* The factor that explains most comes first, and the largest loading of each is positive.  standardise: loadings are then
 * those of coordinates divided by their standard deviations under g, for uncorrelated factors the correlations of
 * coordinate and factor.  FAB_NUMERIC where an oblique rotation cannot tell two factors apart.  Gives *r. */
FAB_API fab_status fab_rotation_create(fab_rotation **r, const fab_gauss *g, fab_rotation_kind kind,
                                       int64_t standardise);
FAB_API void fab_rotation_free(fab_rotation *r); /* takes NULL */
/* Rows first .. first + n - 1 of the rotated loadings, n x K; g is the Gaussian that r was made of. */
FAB_API void fab_rotation_factors(const fab_rotation *r, const fab_gauss *g, int64_t first,
                                  int64_t n, double *out);

/* Factor scores E[z | x] = F' S^-1 (x - mu) of each row, rotated by r (NULL: as F stands); z has x->n x K numbers.
 * NaN is a value that is missing: those that are there count. */
FAB_API fab_status fab_solver_scores(fab_solver *s, const fab_rotation *r, const fab_rows *x,
                                     double *z);

/* ---- the number of factors ------------------------------------------------------------------------- */

/* By the Bayesian information criterion,
 *
 *     BIC(k) = -2 n l(k) + p(k) log n,    p(k) = D k - k (k - 1) / 2 + 2 D
 *
 * with n the rows, l the mean log-likelihood per row, and p the loadings up to a rotation, psi and the mean (D + 1
 * instead of 2 D where psi is one number).  Either each candidate is fitted, and its l is added; or one wide Gaussian
 * S stands for the rows, the candidates are cuts of it, and l(k) = -(entropy of S + KL(S || cut)).
 *
 *     fab_bic *b;
 *     fab_bic_create(&b, D, n, most, 0);
 *     fab_bic_cuts(b, S, NULL);                        // b->chosen
 *     fab_bic_free(b); */

typedef struct fab_candidate {
    int64_t k;
    double loglik_mean, bic;
} fab_candidate;

typedef struct fab_bic {
    int64_t D;
    double rows;        /* n: all, or of a stream that forgets the sum of their weights */
    int64_t one_psi;    /* 1: psi is one number */
    int64_t most;       /* candidates up to this k */
    fab_candidate *all; /* k = 0, 1, ..: the diagonal is there to compare with and is not chosen */
    int64_t n, chosen;  /* candidates so far, at most most + 1; the k of the best of k >= 1 */
} fab_bic;

/* A search without candidates.  Gives *b. */
FAB_API fab_status fab_bic_create(fab_bic **b, int64_t D, double rows, int64_t most,
                                  int64_t one_psi);
FAB_API void fab_bic_free(fab_bic *b); /* takes NULL */
/* Add the next candidate, k = 0, 1, ..  Answers 1 to go on, 0 when k = most or BIC has risen five times in a row. */
FAB_API int fab_bic_add(fab_bic *b, double loglik_mean);
/* Add the first one: the diagonal with these D variances, each at least 1e-6 of their mean where it is 0. */
FAB_API int fab_bic_add_diagonal(fab_bic *b, const double *variance);
/* Add the diagonal and the cuts of S of rank 1, 2, .. */
FAB_API fab_status fab_bic_cuts(fab_bic *b, const fab_gauss *S, const fab_exec *x);

#ifdef __cplusplus
}
#endif
#endif
