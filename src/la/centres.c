/* centres.c - rows against K centres, block by block and chunk by chunk.
 *
 *     score of centre k:  s_k = (x - m).(c_k - m) - |c_k - m|^2 / 2,      |x - c_k|^2 = |x - m|^2 - 2 s_k
 *
 *   1  the scores of a block of rows by products
 *   2  each is wrong by at most e = (r + D / 8 + 16) u (|x - m| + max |c - m|)^2 / 2, with r sums in a row and u the unit of the
 *      precision; r is at most FAB_CENTRES_SLICE + D / FAB_CENTRES_SLICE
 *   3  one score above all others by more than 2 e: that centre; else those within 2 e of the best are compared by differences
 *   4  the row is added to its centre's sum, in double, while it is in the cache
 *
 * and products that leave the range of the precision below are wrong by its least number, D of them.  In 2 are: x - m and c - m rounded, their product (any order of sums), the last term, and the rounding of the differences that 3
 * would see, so that 3 decides as if it had looked at all K.
 *
 * SPDX-License-Identifier: MIT */
#include "la/centres.h"
#include "base/memory.h"
#include "la/ops.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { TILE_ROWS = 24, MOST_ROWS = 192, LANES = 8, BLOCK_BYTES = 96 << 10, WIDE = 64 };

/* ---- life ----------------------------------------------------------------------------------------- */

/* More than there can be stays so, without running over. */
static size_t aligned(double bytes)
{
    if (bytes > 1e18) bytes = 1e18;
    return ((size_t)bytes + WIDE - 1) / WIDE * WIDE;
}

static int64_t rows_at_once(int64_t D, size_t size)
{
    const int64_t fit = BLOCK_BYTES / ((int64_t)size * D) / TILE_ROWS * TILE_ROWS;
    if (fit > MOST_ROWS) return MOST_ROWS;
    return fit > TILE_ROWS ? fit : TILE_ROWS;
}

/* Of one thread: rows as they came, rows in the products' precision, scores, slack, labels. */
typedef struct desk {
    char *raw;
    void *x, *s;
    double *slack;
    int64_t *which;
} desk;

static size_t desk_size(const fab_centres *c, int64_t K, size_t at[4])
{
    const double rows = (double)c->block, D = (double)c->D, size = (double)c->nn->size;
    at[0] = aligned(rows * D * 8);
    at[1] = at[0] + aligned(rows * D * size);
    at[2] = at[1] + aligned(rows * (double)c->nn->padded(K) * size);
    at[3] = at[2] + aligned(rows * 8);
    return at[3] + aligned(rows * 8);
}

static desk desk_of(const fab_centres *c, int thread)
{
    size_t at[4];
    char *p = c->work + (size_t)thread * c->each;
    desk_size(c, c->K, at); /* K is not above that of init */
    return (desk){p, p + at[0], p + at[1], (double *)(void *)(p + at[2]),
                  (int64_t *)(void *)(p + at[3])};
}

static void plan(fab_centres *c, int64_t D, int64_t K, fab_dtype type, int threads)
{
    size_t at[4];
    *c = (fab_centres){.D = D, .K = K, .threads = threads, .nn = fab_nn_find(type)};
    c->block = rows_at_once(D, c->nn->size);
    c->each = desk_size(c, K, at);
}

double fab_centres_bytes(int64_t D, int64_t K, fab_dtype type, int threads)
{
    fab_centres c;
    plan(&c, D, K, type, threads);
    return (double)c.nn->padded(K) * (double)(D + 1) * (double)c.nn->size + 8 * (double)D +
           (double)threads * (double)c.each;
}

fab_status fab_centres_init(fab_centres *c, int64_t D, int64_t K, fab_dtype type,
                            const double *shift, int threads, const char *who)
{
    plan(c, D, K, type, threads);
    const int64_t padded = c->nn->padded(K), size = (int64_t)c->nn->size;
    const size_t B = aligned((double)padded * (double)D * (double)size),
                 bias = aligned((double)padded * (double)size);
    const size_t zeros = aligned((double)D * sizeof *c->zeros);
    FAB_TRY(fab_alloc_array(&c->memory, 1, B + bias + zeros + (size_t)threads * c->each, who));
    c->B = c->memory;
    c->bias = (char *)c->memory + B;
    c->zeros = (double *)(void *)((char *)c->bias + bias);
    for (int64_t d = 0; d < D; d++) c->zeros[d] = 0;
    c->work = (char *)c->zeros + zeros;
    c->shift = shift;
    const double depth = D < FAB_CENTRES_SLICE ? (double)D
                                               : FAB_CENTRES_SLICE + (double)D / FAB_CENTRES_SLICE;
    c->rounding = (depth + (double)D / LANES + 16) * (type == FAB_F32 ? FLT_EPSILON : DBL_EPSILON) /
                  4;
    return FAB_OK;
}

void fab_centres_free(fab_centres *c)
{
    fab_release(c->memory);
    c->memory = NULL;
}

void fab_centres_set(fab_centres *c, int64_t K, const double *mu)
{
    const int64_t D = c->D, padded = c->nn->padded(K);
    c->K = K;
    c->mu = mu;
    c->largest = 0;
    c->nn->pack(D, K, mu, c->shift, c->B);
    for (int64_t k = 0; k < padded; k++) {
        double square = 0;
        for (int64_t d = 0; k < K && d < D; d++) {
            const double e = mu[k * D + d] - (c->shift ? c->shift[d] : 0);
            square += e * e;
        }
        if (square > c->largest) c->largest = square;
        const double bias = k < K ? -square / 2 : -INFINITY;
        if (c->nn->type == FAB_F32)
            ((float *)c->bias)[k] = (float)bias;
        else
            ((double *)c->bias)[k] = bias;
    }
    c->largest = sqrt(c->largest);
}

/* ---- blocks of rows --------------------------------------------------------------------------------- */

static size_t width(const fab_rows *x)
{
    return x->type == FAB_F32 ? sizeof(float) : sizeof(double);
}

/* Rows first .. of a block as they are, D numbers each, *ld apart: where they lie, or copied to `room`. */
static const void *as_they_are(const fab_rows *x, int64_t D, int64_t first, int64_t n, void *room,
                               int64_t *ld)
{
    if (!x->start && fab_rows_stride(x) == 1) {
        *ld = x->ld;
        return (const char *)x->p + (size_t)(first * x->ld) * width(x);
    }
    *ld = D;
    for (int64_t i = 0; i < n; i++)
        fab_rows_copy(x, first + i, D, (char *)room + (size_t)(i * D) * width(x));
    return room;
}

static double number(const void *p, fab_dtype type, int64_t i)
{
    return type == FAB_F32 ? (double)((const float *)p)[i] : ((const double *)p)[i];
}

/* The same less the shift, for the products. */
static const void *for_products(const fab_centres *c, const fab_rows *x, const void *raw,
                                int64_t ld, int64_t n, void *room, int64_t *ldx)
{
    const int64_t D = c->D;
    *ldx = ld;
    if (!c->shift && x->type == c->nn->type) return raw;
    *ldx = D;
    for (int64_t i = 0; i < n; i++) {
        const char *row = (const char *)raw + (size_t)(i * ld) * width(x);
        void *to = (char *)room + (size_t)(i * D) * c->nn->size;
        if (!c->shift && x->type == FAB_F64)
            c->nn->narrow(D, (const double *)(const void *)row, to);
        else if (c->nn->type == FAB_F32)
            for (int64_t d = 0; d < D; d++)
                ((float *)to)[d] = (float)(number(row, x->type, d) - (c->shift ? c->shift[d] : 0));
        else
            for (int64_t d = 0; d < D; d++)
                ((double *)to)[d] = number(row, x->type, d) - (c->shift ? c->shift[d] : 0);
    }
    return room;
}

/* In LANES sums: the same bits on every machine. */
static double distance(const void *row, fab_dtype type, int64_t D, const double *c)
{
    double sum[LANES] = {0};
    int64_t d = 0;
    for (; d + LANES <= D; d += LANES)
        for (int l = 0; l < LANES; l++) {
            const double e = number(row, type, d + l) - c[d + l];
            sum[l] += e * e;
        }
    for (; d < D; d++) {
        const double e = number(row, type, d) - c[d];
        sum[0] += e * e;
    }
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) sum[l] += sum[l + half];
    return sum[0];
}

double fab_row_distance(const fab_rows *x, int64_t i, int64_t D, const double *c)
{
    double sum[LANES] = {0};
    if (!x->start && fab_rows_stride(x) == 1)
        return distance((const char *)x->p + (size_t)(i * x->ld) * width(x), x->type, D, c);
    for (int64_t d = 0; d < D; d++) {
        const double e = fab_rows_at(x, i, d) - c[d];
        sum[d < D / LANES * LANES ? d % LANES : 0] += e * e;
    }
    for (int half = LANES / 2; half > 0; half /= 2)
        for (int l = 0; l < half; l++) sum[l] += sum[l + half];
    return sum[0];
}

/* ---- assignment ------------------------------------------------------------------------------------- */

int64_t fab_centres_chunk(int64_t n)
{
    const int64_t each = (n + FAB_MAX_CHUNKS - 1) / FAB_MAX_CHUNKS;
    return (each + MOST_ROWS - 1) / MOST_ROWS * MOST_ROWS;
}

static int64_t chunks_of(int64_t n, int64_t chunk)
{
    return (n + chunk - 1) / chunk;
}

/* Rows of a chunk whose sums over K centres are kept: all chunks together keep less than the rows have numbers. */
static int64_t summed_chunk(int64_t n, int64_t K)
{
    const int64_t chunk = fab_centres_chunk(n), least = 4 * K;
    return chunk > least ? chunk : (least + MOST_ROWS - 1) / MOST_ROWS * MOST_ROWS;
}

int64_t fab_centres_partials(int64_t n, int64_t K, int64_t D)
{
    return chunks_of(n, summed_chunk(n, K)) * K * (D + 1);
}

typedef struct assigning {
    const fab_centres *c;
    fab_assignment *a;
    int64_t chunk;
    int64_t changed[FAB_MAX_CHUNKS], second[FAB_MAX_CHUNKS];
} assigning;

/* 3 */
static int64_t look_again(const fab_centres *c, const void *scores, double slack, const void *row,
                          fab_dtype type)
{
    double top = -INFINITY, least = INFINITY;
    int64_t best = 0;
    for (int64_t k = 0; k < c->K; k++) {
        const double s = number(scores, c->nn->type, k);
        if (s > top) top = s;
    }
    for (int64_t k = 0; k < c->K; k++) {
        if (number(scores, c->nn->type, k) < top - slack) continue;
        const double square = distance(row, type, c->D, c->mu + k * c->D);
        if (square < least) {
            least = square;
            best = k;
        }
    }
    return best;
}

/* Ask for a row of the next block, whose turn comes when this block is done. */
static void fetch_row(const char *row, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += WIDE) __builtin_prefetch(row + at, 0, 2);
}

static void assign_chunk(void *ctx, int64_t t, int thread)
{
    assigning *e = ctx;
    const fab_centres *c = e->c;
    const fab_assignment *a = e->a;
    const int64_t D = c->D, K = c->K, padded = c->nn->padded(K), first = t * e->chunk;
    const int64_t end = first + e->chunk < a->x->n ? first + e->chunk : a->x->n;
    const fab_nn *own = fab_nn_find(a->x->type);
    const double vanishing = c->nn->type == FAB_F32 ? FLT_MIN : DBL_MIN;
    /* a sum of squares in the precision of the products is wrong by so much of itself, and what vanished in it */
    const double more = 1 + (double)(D + 8) * (c->nn->type == FAB_F32 ? FLT_EPSILON : DBL_EPSILON),
                 lost = sqrt((double)D * vanishing);
    const desk at = desk_of(c, thread);
    double *sums = NULL, *counts = NULL;
    if (a->sums) {
        sums = a->partial + t * K * (D + 1);
        counts = sums + K * D;
        memset(sums, 0, (size_t)(K * (D + 1)) * sizeof *sums);
    }
    e->changed[t] = e->second[t] = 0;
    for (int64_t i = first; i < end; i += c->block) {
        const int64_t n = end - i < c->block ? end - i : c->block;
        int64_t ld, ldx;
        const char *raw = as_they_are(a->x, D, i, n, at.raw, &ld);
        const void *x = for_products(c, a->x, raw, ld, n, at.x, &ldx);
        const size_t step = (size_t)ld * own->size;
        const int in_place = raw != at.raw;
        c->nn->scores(n, D, K, x, ldx, c->B, c->bias, at.s); /* 1 */
        if (!a->norm) c->nn->row_squares(n, D, x, ldx, at.slack);
        for (int64_t r = 0; r < n; r++) { /* 2 */
            const double norm = a->norm ? a->norm[i + r] : more * sqrt(at.slack[r]) + lost;
            const double size = norm + c->largest;
            at.slack[r] = 2 * c->rounding * size * size * (1 + FLT_EPSILON) +
                          (double)D * vanishing * (1 + size);
        }
        c->nn->choose(n, K, at.s, at.slack, at.which); /* 3 */
        for (int64_t r = 0; r < n; r++) {
            const char *row = raw + (size_t)r * step;
            int64_t k = at.which[r];
            if (k < 0) {
                const char *s = (const char *)at.s + (size_t)(r * padded) * c->nn->size;
                k = look_again(c, s, at.slack[r], row, a->x->type);
                e->second[t]++;
            }
            if (in_place && i + n < end) fetch_row(row + (size_t)n * step, step);
            e->changed[t] += a->label[i + r] != (int32_t)k;
            a->label[i + r] = (int32_t)k;
            if (a->square) own->distances(1, 1, D, row, ld, c->mu + k * D, a->square + i + r);
            if (!sums) continue;
            const double w = a->weight ? a->weight[i + r] : 1;
            own->add_row(D, w, row, c->shift, sums + k * D); /* 4 */
            counts[k] += w;
        }
    }
}

static int threads_for(const fab_centres *c, double steps)
{
    return steps < FAB_SMALL_WORK ? 1 : c->threads;
}

void fab_centres_assign(const fab_centres *c, fab_assignment *a)
{
    const int64_t n = a->x->n, D = c->D, K = c->K;
    assigning e = {.c = c, .a = a};
    e.chunk = a->sums ? summed_chunk(n, K) : fab_centres_chunk(n);
    const int64_t chunks = n > 0 ? chunks_of(n, e.chunk) : 0;
    fab_parallel(threads_for(c, (double)n * (double)D * (double)K), chunks, assign_chunk, &e);
    a->changed = a->second = 0;
    for (int64_t t = 0; t < chunks; t++) {
        a->changed += e.changed[t];
        a->second += e.second[t];
    }
    if (!a->sums) return;
    memset(a->sums, 0, (size_t)(K * D) * sizeof *a->sums);
    memset(a->counts, 0, (size_t)K * sizeof *a->counts);
    for (int64_t t = 0; t < chunks; t++) {
        const double *sums = a->partial + t * K * (D + 1), *counts = sums + K * D;
        for (int64_t i = 0; i < K * D; i++) a->sums[i] += sums[i];
        for (int64_t k = 0; k < K; k++) a->counts[k] += counts[k];
    }
}

/* ---- distances -------------------------------------------------------------------------------------- */

typedef struct measuring {
    const fab_centres *c;
    const fab_rows *x;
    const double *weight, *mu;
    const int32_t *label;
    double *each;
    fab_potential *p;
    int64_t chunk;
    double sum[FAB_MAX_CHUNKS];
} measuring;

static int64_t end_of(const measuring *e, int64_t t)
{
    const int64_t end = (t + 1) * e->chunk;
    return end < e->x->n ? end : e->x->n;
}

static void cost_chunk(void *ctx, int64_t t, int thread)
{
    measuring *e = ctx;
    const int64_t D = e->c->D, end = end_of(e, t);
    const fab_nn *own = fab_nn_find(e->x->type);
    const desk at = desk_of(e->c, thread);
    double sum = 0;
    for (int64_t i = t * e->chunk; i < end; i++) {
        int64_t ld;
        double square;
        const void *row = as_they_are(e->x, D, i, 1, at.raw, &ld);
        own->distances(1, 1, D, row, ld, e->mu + (int64_t)e->label[i] * D, &square);
        if (e->weight) square *= e->weight[i];
        if (e->each) e->each[i] = square;
        sum += square;
    }
    e->sum[t] = sum;
}

static void norm_chunk(void *ctx, int64_t t, int thread)
{
    measuring *e = ctx;
    const fab_nn *own = fab_nn_find(e->x->type);
    const int64_t end = end_of(e, t);
    const desk at = desk_of(e->c, thread);
    for (int64_t i = t * e->chunk; i < end; i++) {
        int64_t ld;
        const void *row = as_they_are(e->x, e->c->D, i, 1, at.raw, &ld);
        own->distances(1, 1, e->c->D, row, ld, e->c->shift ? e->c->shift : e->c->zeros,
                       e->each + i);
        e->each[i] = sqrt(e->each[i]);
    }
}

static int64_t measure(measuring *e, fab_task *task, double steps)
{
    e->chunk = fab_centres_chunk(e->x->n);
    const int64_t chunks = e->x->n > 0 ? chunks_of(e->x->n, e->chunk) : 0;
    fab_parallel(threads_for(e->c, (double)e->x->n * steps), chunks, task, e);
    return chunks;
}

void fab_centres_norms(const fab_centres *c, const fab_rows *x, double *norm)
{
    measuring e = {.c = c, .x = x, .each = norm};
    measure(&e, norm_chunk, (double)c->D);
}

double fab_centres_cost(const fab_centres *c, const fab_rows *x, const double *weight,
                        const double *mu, const int32_t *label, double *cost)
{
    measuring e = {.c = c, .x = x, .weight = weight, .mu = mu, .label = label, .each = cost};
    const int64_t chunks = measure(&e, cost_chunk, (double)c->D);
    double sum = 0;
    for (int64_t t = 0; t < chunks; t++) sum += e.sum[t];
    return sum;
}

enum { FEW_ROWS = 8, AHEAD = 2 };

static void potential_chunk(void *ctx, int64_t t, int thread)
{
    measuring *e = ctx;
    const fab_potential *p = e->p;
    const int64_t D = e->c->D, end = end_of(e, t), m = p->m;
    const fab_nn *own = fab_nn_find(e->x->type);
    const desk at = desk_of(e->c, thread);
    double *sum = p->partial + t * m, u[FEW_ROWS * FAB_CANDIDATES];
    for (int64_t j = 0; j < m; j++) sum[j] = 0;
    for (int64_t i = t * e->chunk, n; i < end; i += n) {
        int64_t ld;
        n = end - i < FEW_ROWS ? end - i : FEW_ROWS;
        const void *rows = as_they_are(e->x, D, i, n, at.raw, &ld);
        if (rows != at.raw && i + AHEAD * n < end)
            fetch_row((const char *)rows + (size_t)(AHEAD * n * ld) * own->size,
                      (size_t)(n * ld) * own->size);
        own->distances(n, m, D, rows, ld, p->candidate, u);
        for (int64_t r = 0; r < n; r++) {
            const double best = p->best ? p->best[i + r] : INFINITY;
            const double w = e->weight ? e->weight[i + r] : 1;
            for (int64_t j = 0; j < m; j++) {
                const double square = u[r * m + j] < best ? u[r * m + j] : best;
                sum[j] += w * square;
                if (p->lower) p->lower[j][i + r] = square;
            }
        }
    }
}

void fab_centres_potential(const fab_centres *c, fab_potential *p)
{
    measuring e = {.c = c, .x = p->x, .weight = p->weight, .p = p};
    const int64_t chunks = measure(&e, potential_chunk, (double)(c->D * p->m));
    for (int64_t j = 0; j < p->m; j++) {
        p->sum[j] = 0;
        for (int64_t t = 0; t < chunks; t++) p->sum[j] += p->partial[t * p->m + j];
    }
}

/* ---- how rows lie ------------------------------------------------------------------------------------ */

/* Mean, squared, above so many variances: far. */
#define FAR 4

/* The mean about the first row, then the squares about the mean. */
fab_status fab_rows_spread(const fab_rows *x, const double *weight, int64_t D, int threads,
                           const char *who, double *mean, fab_spread *out)
{
    const int64_t n = x->n;
    fab_centres c;
    double *first, square = 0;
    FAB_TRY(fab_centres_init(&c, D, 1, fab_centres_type(x, FAB_F64), NULL, threads, who));
    const fab_status s =
        fab_alloc_array((void **)&first, D + fab_centres_partials(n, 1, D) + n, sizeof *first, who);
    if (s != FAB_OK) {
        fab_centres_free(&c);
        return s;
    }
    double *partial = first + D;
    int32_t *label = (int32_t *)(void *)(partial + fab_centres_partials(n, 1, D));
    for (int64_t i = 0; i < n; i++) label[i] = 0;
    fab_rows_get(x, 0, D, first);
    c.shift = first;
    fab_assignment a = {.x = x,
                        .weight = weight,
                        .label = label,
                        .sums = mean,
                        .counts = &out->weight,
                        .partial = partial};
    fab_centres_set(&c, 1, first);
    fab_centres_assign(&c, &a);
    for (int64_t d = 0; d < D; d++) {
        mean[d] = first[d] + mean[d] / out->weight;
        square += mean[d] * mean[d];
    }
    out->variance = fab_centres_cost(&c, x, weight, mean, label, NULL) / out->weight;
    out->far = square > FAR * out->variance;
    fab_centres_free(&c);
    fab_release(first);
    return FAB_OK;
}
