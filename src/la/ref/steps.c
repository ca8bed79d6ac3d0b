/* steps.c - draws of a Gaussian of low rank plus diagonal, and its steps from gradients there: what the kernels mean.
 *
 * Plain loops over rows, in double.  vifa on kernels that share the host's memory has loops of its own (methods/vifa), with
 * threads and with arrays between them; tests hold both together.
 *
 * SPDX-License-Identifier: MIT */
#include "base/rows.h"
#include "la/ops.h"
#include <math.h>
#include <string.h>

/* ---- rows at hand -------------------------------------------------------------------------------- */

enum { TOGETHER = 64 }; /* rows that are read and written at once */

/* `count` rows from `first` on of n x k numbers, to `out` and back; of vectors n apart, or of rows. */
static fab_long part(const fab_run *r, const void *p, int64_t n, int64_t k, int by_rows,
                     int64_t first, int64_t count)
{
    char *at = (char *)(uintptr_t)p + (size_t)(by_rows ? first * k : first) * r->ops->size;
    return by_rows ? fab_long_rows(at, count, k) : fab_long_vectors(at, count, k, n);
}

static void read_part(const fab_run *r, const void *p, int64_t n, int64_t k, int by_rows,
                      int64_t first, int64_t count, double *out)
{
    if (k == 0) return; /* there is no array */
    const fab_long A = part(r, p, n, k, by_rows, first, count);
    r->ops->get(r, &A, out);
}

static void write_part(const fab_run *r, void *p, int64_t n, int64_t k, int by_rows, int64_t first,
                       int64_t count, const double *in)
{
    if (k == 0) return;
    const fab_long A = part(r, p, n, k, by_rows, first, count);
    r->ops->put(r, in, &A);
}

static void normals(const fab_draw *d, int64_t first, int64_t count, double *z)
{
    fab_random_normal(d->seed, FAB_PURPOSE_DRAW, d->stream, (uint64_t)first, count, FAB_F64, z);
    for (int64_t i = 0; i < count; i++) z[i] *= d->sign;
}

static double dot(int64_t n, const double *a, const double *b)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* These loops take what they need from the heap: they are there to be read. */
static double *room(int64_t numbers)
{
    return fab_memory_heap.alloc((size_t)(numbers > 0 ? numbers : 1) * sizeof(double));
}

/* ---- a row that comes ---------------------------------------------------------------------------- */

int64_t fab_ref_bring(const fab_run *r, const fab_rows *row, const fab_long *X)
{
    int64_t bad = 0;
    r->ops->load(r, row, NULL, X);
    for (int64_t i = 0; i < X->n; i++) {
        const fab_long one = part(r, X->p, X->n, 1, 0, i, 1);
        double v;
        r->ops->get(r, &one, &v);
        bad += !isfinite(v);
    }
    return bad;
}

/* ---- draws --------------------------------------------------------------------------------------- */

void fab_ref_draw(const fab_run *r, const fab_far_gauss *q, const fab_draw *d, void *theta)
{
    const double *c = q->c, *gamma = q->gamma;
    double *F = room(TOGETHER * q->K), z[TOGETHER];
    for (int64_t first = 0; first < q->n; first += TOGETHER) {
        const int64_t count = least(TOGETHER, q->n - first);
        read_part(r, q->F, q->n, q->K, 1, first, count, F);
        normals(d, first, count, z);
        for (int64_t i = 0; i < count; i++)
            z[i] = c[first + i] + dot(q->K, F + i * q->K, d->h) + exp(gamma[first + i] / 2) * z[i];
        write_part(r, theta, q->n, 1, 0, first, count, z);
    }
    fab_memory_heap.release(F);
}

void fab_ref_project(const fab_run *r, const fab_far_gauss *q, const fab_draw *d, double *sums)
{
    const double *gamma = q->gamma;
    double *F = room(TOGETHER * q->K), z[TOGETHER];
    for (int64_t k = 0; k < q->K; k++) sums[k] = 0;
    for (int64_t first = 0; first < q->n; first += TOGETHER) {
        const int64_t count = least(TOGETHER, q->n - first);
        read_part(r, q->F, q->n, q->K, 1, first, count, F);
        normals(d, first, count, z);
        for (int64_t i = 0; i < count; i++)
            for (int64_t k = 0; k < q->K; k++)
                sums[k] += F[i * q->K + k] * z[i] * exp(-gamma[first + i] / 2);
    }
    fab_memory_heap.release(F);
}

/* ---- a step -------------------------------------------------------------------------------------- */

/* The gradients of a row from its numbers: f, and of the draws v, and z so far apart as rows at hand; of F in `of_F`. */
static void gradients(const fab_step *s, double c, double gamma, const double *f, const double *v,
                      const double *z, double *of_c, double *of_gamma, double *of_F)
{
    const int64_t K = s->q.K, L = s->L;
    const double psi = exp(gamma), sd = exp(gamma / 2), w = s->weight;
    *of_c = *of_gamma = 0;
    for (int64_t k = 0; k < K; k++) of_F[k] = 0;
    for (int64_t l = 0; l < L; l++) {
        const fab_draw *d = &s->draw[l];
        double g = d->scale * v[l];
        const double x = z[l * TOGETHER];
        if (s->path) {
            g += s->alpha * (c + dot(K, f, d->h) + sd * x);
            if (w > 0) g -= w * (dot(K, f, d->y) / psi + x / sd);
        }
        *of_c += g / (double)L;
        *of_gamma += g * x * sd / (double)L;
        for (int64_t k = 0; k < K; k++) of_F[k] += g * d->h[k] / (double)L;
    }
    if (!s->path) {
        double row = 0;
        for (int64_t k = 0; k < K; k++) {
            const double e = dot(K, s->Minv + k * K, f);
            row += f[k] * e;
            of_F[k] += s->alpha * f[k] - w * e / psi;
        }
        *of_c += s->alpha * c;
        *of_gamma += s->alpha * psi - w + w * row / psi;
    }
    *of_gamma /= 2;
}

/* x moves along g. */
static void move(const fab_step *s, const fab_moves *a, double g, double *m, double *v, double *x)
{
    g *= a->by;
    if (s->kind == FAB_STEP_PLAIN) {
        *x -= a->rate * g;
        return;
    }
    *m += (1 - s->b1) * (g - *m);
    *v += (1 - s->b2) * (g * g - *v);
    *x -= a->rate * *m / (a->root * sqrt(*v) + s->epsilon);
}

/* The rows at hand. */
typedef struct hand {
    double *F, *V, *m, *v, *z, *of_F; /* TOGETHER rows each; z: vectors; of_F: K */
} hand;

static void one_row(fab_step *s, const hand *h, int64_t i, int64_t at)
{
    const int64_t K = s->q.K, L = s->L;
    double *c = (double *)s->q.c + i, *gamma = (double *)s->q.gamma + i, *f = h->F + at * K, none,
           of_c, of_gamma;
    gradients(s, *c, *gamma, f, h->V + at * L, h->z + at, &of_c, &of_gamma, h->of_F);
    s->squares[0] += of_c * of_c;
    s->squares[1] += of_gamma * of_gamma;
    s->squares[2] += dot(K, h->of_F, h->of_F);
    if (s->kind == FAB_STEP_NORMS || !isfinite(of_c * of_c + of_gamma * of_gamma)) return;
    const int adam = s->kind == FAB_STEP_ADAM;
    move(s, &s->c, of_c, adam ? (double *)s->c.m + i : &none, adam ? (double *)s->c.v + i : &none,
         c);
    if (!(s->weight > 0)) return;
    move(s, &s->gamma, of_gamma, adam ? (double *)s->gamma.m + i : &none,
         adam ? (double *)s->gamma.v + i : &none, gamma);
    for (int64_t k = 0; k < K; k++)
        move(s, &s->F, h->of_F[k], h->m + at * K + k, h->v + at * K + k, f + k);
}

void fab_ref_step(const fab_run *r, fab_step *s)
{
    const int64_t n = s->q.n, K = s->q.K, L = s->L;
    const int adam = s->kind == FAB_STEP_ADAM, moves = s->kind >= FAB_STEP_PLAIN;
    double *all = room(TOGETHER * (3 * K + 2 * L) + K);
    const hand h = {all,
                    all + TOGETHER * 3 * K,
                    all + TOGETHER * K,
                    all + TOGETHER * 2 * K,
                    all + TOGETHER * (3 * K + L),
                    all + TOGETHER * (3 * K + 2 * L)};
    const double *gamma = s->q.gamma;
    s->squares[0] = s->squares[1] = s->squares[2] = 0;
    s->beyond = 0;
    if (s->G) memset(s->G, 0, (size_t)(K * K) * sizeof *s->G);
    for (int64_t first = 0; first < n; first += TOGETHER) {
        const int64_t count = least(TOGETHER, n - first);
        read_part(r, s->q.F, n, K, 1, first, count, h.F);
        read_part(r, s->V, n, L, 0, first, count, h.V);
        if (adam) read_part(r, s->F.m, n, K, 1, first, count, h.m);
        if (adam) read_part(r, s->F.v, n, K, 1, first, count, h.v);
        for (int64_t l = 0; l < L; l++) normals(&s->draw[l], first, count, h.z + l * TOGETHER);
        for (int64_t i = 0; i < count && s->kind != FAB_STEP_NOTHING; i++)
            one_row(s, &h, first + i, i);
        if (moves && s->weight > 0) {
            write_part(r, s->q.F, n, K, 1, first, count, h.F);
            if (adam) write_part(r, s->F.m, n, K, 1, first, count, h.m);
            if (adam) write_part(r, s->F.v, n, K, 1, first, count, h.v);
        }
        for (int64_t i = 0; i < count; i++) {
            const double *f = h.F + i * K, psi = exp(gamma[first + i]);
            s->beyond += !(fabs(gamma[first + i]) <= s->most);
            for (int64_t j = 0; j < K && s->G; j++)
                for (int64_t k = 0; k < K; k++) s->G[k + j * K] += f[k] * f[j] / psi;
        }
    }
    fab_memory_heap.release(all);
}

void fab_ref_gauss_sums(const fab_run *r, const fab_far_gauss *q, double *out)
{
    const double *c = q->c, *gamma = q->gamma;
    (void)r;
    out[0] = out[1] = out[2] = out[3] = 0;
    for (int64_t i = 0; i < q->n; i++) {
        out[0] += c[i] * c[i];
        out[1] += exp(gamma[i]);
        out[2] += gamma[i];
        out[3] = fmax(out[3], fabs(gamma[i]));
    }
}
