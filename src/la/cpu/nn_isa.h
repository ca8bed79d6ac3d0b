/* nn_isa.h - the kernels of layers for one instruction set, both precisions, as the table NN_TABLE.
 *
 * Included by nn_base.c, nn_avx2.c and nn_avx512.c, each compiled for its set.
 *
 * SPDX-License-Identifier: MIT */
#include "la/nn.h"
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* Vectors of which only the first `count` numbers exist. */
#if VECTOR_BYTES == 64
#define LOAD_PART_F64(p, count) \
    ((vec_f64)_mm512_maskz_loadu_pd((__mmask8)((1u << (count)) - 1), (p)))
#define LOAD_PART_F32(p, count) \
    ((vec_f32)_mm512_maskz_loadu_ps((__mmask16)((1u << (count)) - 1), (p)))
#define STORE_PART_F64(p, count, v) \
    _mm512_mask_storeu_pd((p), (__mmask8)((1u << (count)) - 1), (__m512d)(v))
#define STORE_PART_F32(p, count, v) \
    _mm512_mask_storeu_ps((p), (__mmask16)((1u << (count)) - 1), (__m512)(v))
#define FOLD_F64(v)      _mm512_reduce_add_pd((__m512d)(v))
#define FOLD_F32(v)      _mm512_reduce_add_ps((__m512)(v))
#define STREAM_F64(p, v) _mm512_stream_pd((p), (__m512d)(v))
#define STREAM_F32(p, v) _mm512_stream_ps((p), (__m512)(v))
#elif VECTOR_BYTES == 32
#define STREAM_F64(p, v) _mm256_stream_pd((p), (__m256d)(v))
#define STREAM_F32(p, v) _mm256_stream_ps((p), (__m256)(v))
#elif defined(__x86_64__)
#define STREAM_F64(p, v) _mm_stream_pd((p), (__m128d)(v))
#define STREAM_F32(p, v) _mm_stream_ps((p), (__m128)(v))
#endif

/* Transpose a square of 16 bytes a side. */
#define TURN_SQUARE_F64(v)                          \
    do {                                            \
        const __typeof__(v[0]) a = v[0], b = v[1];  \
        v[0] = __builtin_shufflevector(a, b, 0, 2); \
        v[1] = __builtin_shufflevector(a, b, 1, 3); \
    } while (0)
#define TURN_SQUARE_F32(v)                                                          \
    do {                                                                            \
        const __typeof__(v[0]) a = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5), \
                               b = __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7), \
                               c = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5), \
                               d = __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7); \
        v[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5);                           \
        v[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);                           \
        v[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5);                           \
        v[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);                           \
    } while (0)

/* e^x = 2^k e^r, k the integer nearest to x / log 2, |r| <= log(2) / 2; e^r by its series, whose first term left out is
 * below 1e-17 */
typedef double wide __attribute__((vector_size(VECTOR_BYTES)));
typedef int64_t wide_bits __attribute__((vector_size(VECTOR_BYTES)));

INLINE wide exp_wide(wide x)
{
    const double whole =
        0x1.8p52; /* adding it rounds to an integer, which stands in its low bits */
    const wide shifted = x * 1.4426950408889634074 + whole, k = shifted - whole;
    const wide r = x - k * 0x1.62e42fee00000p-1 - k * 0x1.a39ef35793c76p-33;
    wide sum = r * (1.0 / 13) + 1;
    for (int term = 12; term >= 1; term--) sum = sum * r * (1.0 / term) + 1;
    return sum * (wide)(((wide_bits)shifted + 1023) << 52);
}

static void exps(int64_t n, const double *x, double *y)
{
    enum { AT_ONCE = VECTOR_BYTES / 8 };
    wide v = {0};
    int64_t i = 0;
    for (; i + AT_ONCE <= n; i += AT_ONCE) {
        memcpy(&v, x + i, sizeof v);
        v = exp_wide(v);
        memcpy(y + i, &v, sizeof v);
    }
    if (i == n) return;
    const size_t bytes = (size_t)(n - i) * sizeof *x;
    v = (wide){0};
    memcpy(&v, x + i, bytes);
    v = exp_wide(v);
    memcpy(y + i, &v, bytes);
}

/* x = k pi / 2 + r, |r| <= pi / 4, with pi / 2 in three parts of 33 bits, whose products with k of 20 bits are exact; sin r and cos r
 * by their series, whose first terms left out are below 1e-18, and the quadrant k mod 4 says which of them, and with which sign. */
INLINE void turns_wide(wide x, wide *c, wide *s)
{
    const double whole = 0x1.8p52;
    const wide shifted = x * 0.63661977236758134308 + whole, k = shifted - whole;
    const wide r = x - k * 0x1.921fb54400000p+0 - k * 0x1.0b4611a600000p-34 -
                   k * 0x1.3198a2e000000p-69;
    const wide q = r * r;
    wide sine = q * (-1.0 / (18 * 19)) + 1, cosine = q * (-1.0 / (17 * 18)) + 1;
    for (int n = 16; n >= 2; n -= 2) {
        sine = sine * q * (-1.0 / (n * (n + 1))) + 1;
        cosine = cosine * q * (-1.0 / (n * (n - 1))) + 1;
    }
    sine *= r;
    const wide_bits quadrant = (wide_bits)shifted, odd = -(quadrant & 1);
    const wide_bits a = ((wide_bits)cosine & ~odd) | ((wide_bits)sine & odd),
                    b = ((wide_bits)sine & ~odd) | ((wide_bits)cosine & odd);
    *c = (wide)(a ^ (((quadrant + 1) & 2) << 62));
    *s = (wide)(b ^ ((quadrant & 2) << 62));
}

static void turns(int64_t n, const double *x, double *c, double *s)
{
    enum { AT_ONCE = VECTOR_BYTES / 8 };
    wide v, a, b;
    int64_t i = 0;
    for (; i + AT_ONCE <= n; i += AT_ONCE) {
        memcpy(&v, x + i, sizeof v);
        turns_wide(v, &a, &b);
        memcpy(c + i, &a, sizeof a);
        memcpy(s + i, &b, sizeof b);
    }
    if (i == n) return;
    const size_t bytes = (size_t)(n - i) * sizeof *x;
    v = (wide){0};
    memcpy(&v, x + i, bytes);
    turns_wide(v, &a, &b);
    memcpy(c + i, &a, bytes);
    memcpy(s + i, &b, bytes);
}

#include "la/cpu/pairs.h"

#define REAL        double
#define REAL_BYTES  8
#define TYPED(name) name##_f64
#define MATH(name)  name
#define LOAD_PART   LOAD_PART_F64
#define STORE_PART  STORE_PART_F64
#define STREAM      STREAM_F64
#define TURN_SQUARE TURN_SQUARE_F64
#define FOLD        FOLD_F64
#include "la/cpu/nn_kernel.h"
#include "la/cpu/centres.h"
#include "la/cpu/nn_image.h"
#undef REAL
#undef REAL_BYTES
#undef TYPED
#undef MATH
#undef LOAD_PART
#undef STORE_PART
#undef STREAM
#undef TURN_SQUARE
#undef FOLD

#define REAL        float
#define REAL_BYTES  4
#define TYPED(name) name##_f32
#define MATH(name)  name##f
#define LOAD_PART   LOAD_PART_F32
#define STORE_PART  STORE_PART_F32
#define STREAM      STREAM_F32
#define TURN_SQUARE TURN_SQUARE_F32
#define FOLD        FOLD_F32
#include "la/cpu/nn_kernel.h"
#include "la/cpu/centres.h"
#include "la/cpu/nn_image.h"

#define NN_ENTRIES(t, type_, real)                                                                \
    {                                                                                             \
        .type = type_, .size = sizeof(real), .narrow = narrow_##t, .widen = widen_##t,            \
        .product = product_##t, .column_sums = column_sums_##t, .add = add_##t,                   \
        .square = square_##t, .curve = curve_##t, .slope = slope_##t, .outer = outer_##t,         \
        .gram_terms = gram_terms_##t, .spread = spread_##t, .gather = gather_##t,                 \
        .windows = windows_##t, .back = back_##t, .row_sums = row_sums_##t,                       \
        .fill_rows = fill_rows_##t, .scale = scale_##t, .pool = pool_##t, .unpool = unpool_##t,   \
        .cross_rows = cross_rows_##t, .combine_rows = combine_rows_##t, .padded = padded_##t,     \
        .pack = pack_##t, .scores = scores_##t, .choose = choose_##t, .distances = distances_##t, \
        .add_row = add_row_##t, .row_squares = row_squares_##t, .project_rows = project_rows_##t, \
        .adam = adam_##t, .exps = exps, .turns = turns, .squares = squares,                       \
        .square_sums = square_sums, .decay = decay                                                \
    }

const fab_nn NN_TABLE[2] = {NN_ENTRIES(f64, FAB_F64, double), NN_ENTRIES(f32, FAB_F32, float)};
