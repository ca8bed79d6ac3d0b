/* isa.h - the kernels of one instruction set, both precisions, as the table ISA_TABLE.
 *
 * Included by ops_cpu_base.c, ops_cpu_avx2.c and ops_cpu_avx512.c, each compiled for its set.
 *
 * SPDX-License-Identifier: MIT */
#include "la/cpu/ops.h"
#include <cblas.h>
#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Shuffles inside each 128 bits: the low (high) halves of a and b, in turn. */
#if VECTOR_BYTES == 16
#define UNPACK_LO_F64 0, 2
#define UNPACK_HI_F64 1, 3
#define UNPACK_LO_F32 0, 4, 1, 5
#define UNPACK_HI_F32 2, 6, 3, 7
#elif VECTOR_BYTES == 32
#define UNPACK_LO_F64 0, 4, 2, 6
#define UNPACK_HI_F64 1, 5, 3, 7
#define UNPACK_LO_F32 0, 8, 1, 9, 4, 12, 5, 13
#define UNPACK_HI_F32 2, 10, 3, 11, 6, 14, 7, 15
#else
#define UNPACK_LO_F64 0, 8, 2, 10, 4, 12, 6, 14
#define UNPACK_HI_F64 1, 9, 3, 11, 5, 13, 7, 15
#define UNPACK_LO_F32 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define UNPACK_HI_F32 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#endif

/* A loop of constant length, written out. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 32")
#endif

/* More registers: larger tiles. */
#if VECTOR_BYTES == 64
#define TILE  5
#define DEPTH 4
#else
#define TILE  3
#define DEPTH 2
#endif

/* What the vector extensions of C do not name. */
#if !defined(__x86_64__)
#define MULTIPLY_LOW(a, b) (((a)&0xffffffffu) * ((b)&0xffffffffu))
#define ROOT_F64(v)        root_f64(v)
#define ROOT_F32(v)        root_f32(v)
#elif VECTOR_BYTES == 16
#define MULTIPLY_LOW(a, b) ((bits_f64)_mm_mul_epu32((__m128i)(a), (__m128i)(b)))
#define ROOT_F64(v)        ((vec_f64)_mm_sqrt_pd((__m128d)(v)))
#define ROOT_F32(v)        ((vec_f32)_mm_sqrt_ps((__m128)(v)))
#elif VECTOR_BYTES == 32
#define MULTIPLY_LOW(a, b) ((bits_f64)_mm256_mul_epu32((__m256i)(a), (__m256i)(b)))
#define ROOT_F64(v)        ((vec_f64)_mm256_sqrt_pd((__m256d)(v)))
#define ROOT_F32(v)        ((vec_f32)_mm256_sqrt_ps((__m256)(v)))
#else
#define MULTIPLY_LOW(a, b) ((bits_f64)_mm512_mul_epu32((__m512i)(a), (__m512i)(b)))
#define ROOT_F64(v)        ((vec_f64)_mm512_sqrt_pd((__m512d)(v)))
#define ROOT_F32(v)        ((vec_f32)_mm512_sqrt_ps((__m512)(v)))
#endif

/* Up to this many columns are multiplied without leaving the registers; how often each of their vectors asks for memory. */
enum { FUSED_MOST = 12, FUSED_TURNS = 4 };

/* Memory that will be needed soon: p .. end, and what is `beside` it (0: nothing) to be written. */
typedef struct fab_ahead {
    const char *p, *end;
    int64_t beside;
    int64_t lines; /* of 64 bytes, at a turn */
    int runs;      /* more runs of memory to read after that */
    struct {
        const char *p, *end;
    } run[5 + FAB_SWEEP_TERMS];
} fab_ahead;

/* Ask for the next lines of it. */
static inline __attribute__((always_inline)) void ask(fab_ahead *a)
{
    if (a->p >= a->end) {
        if (a->runs == 0) return;
        a->runs--;
        a->p = a->run[a->runs].p;
        a->end = a->run[a->runs].end;
        a->beside = 0;
    }
    for (int64_t l = 0; l < a->lines; l++, a->p += 64) {
        __builtin_prefetch(a->p, 0, 2);
        if (a->beside) __builtin_prefetch(a->p + a->beside, 1, 2);
    }
}

/* Add a run to what will be needed; NULL: nothing. */
static inline void also(fab_ahead *a, const void *p, int64_t bytes)
{
    if (!p) return;
    a->run[a->runs].p = p;
    a->run[a->runs].end = (const char *)p + bytes;
    a->runs++;
}

static inline int64_t count_lines(const fab_ahead *a)
{
    int64_t bytes = a->end - a->p;
    for (int r = 0; r < a->runs; r++) bytes += a->run[r].end - a->run[r].p;
    return bytes / 64;
}

typedef double half_f64 __attribute__((vector_size(32), aligned(4), may_alias));
typedef uint64_t bits_f64 __attribute__((vector_size(VECTOR_BYTES), may_alias));

/* Philox-4x32-10 of consecutive blocks, one per 64-bit lane; the words are in the low halves, what the
 * high halves hold means nothing.  (Salmon, Moraes, Dror, Shaw, 2011; base/random.c has one block.) */
static inline __attribute__((always_inline)) void philox(uint64_t seed, fab_purpose purpose,
                                                         uint64_t stream, uint64_t block,
                                                         bits_f64 x[4])
{
    static const uint64_t lane[] = {0, 1, 2, 3, 4, 5, 6, 7};
    bits_f64 first, zero = {0};
    memcpy(&first, lane, sizeof first);
    uint64_t key0 = seed, key1 = seed >> 32;
    x[0] = first + block;
    x[1] = (x[0] >> 32 & 0xffff) | (uint64_t)purpose << 16;
    x[2] = zero + stream;
    x[3] = zero + (stream >> 32);
    for (int round = 0; round < 10; round++) {
        const bits_f64 p = MULTIPLY_LOW(x[0], zero + 0xD2511F53u),
                       q = MULTIPLY_LOW(x[2], zero + 0xCD9E8D57u);
        x[0] = (q >> 32) ^ x[1] ^ key0;
        x[1] = q;
        x[2] = (p >> 32) ^ x[3] ^ key1;
        x[3] = p;
        key0 += 0x9E3779B9u;
        key1 += 0xBB67AE85u;
    }
}

#if !defined(__x86_64__)
typedef double root_vec_f64 __attribute__((vector_size(VECTOR_BYTES)));
typedef float root_vec_f32 __attribute__((vector_size(VECTOR_BYTES)));

static inline root_vec_f64 root_f64(root_vec_f64 v)
{
    for (int l = 0; l < VECTOR_BYTES / 8; l++) v[l] = sqrt(v[l]);
    return v;
}

static inline root_vec_f32 root_f32(root_vec_f32 v)
{
    for (int l = 0; l < VECTOR_BYTES / 4; l++) v[l] = sqrtf(v[l]);
    return v;
}
#endif

#define REAL          double
#define REAL_BYTES    8
#define WORD          uint64_t
#define TYPED(name)   name##_f64
#define BLAS(name)    cblas_d##name
#define ROOT          ROOT_F64
#define UNPACK_LO     UNPACK_LO_F64
#define UNPACK_HI     UNPACK_HI_F64
#define JOIN_QUARTERS 0, 1, 2, 3
#define JOIN_HALVES   0, 1, 2, 3, 4, 5, 6, 7
#define QUARTER_0     0, 1
#define QUARTER_1     2, 3
#define QUARTER_2     4, 5
#define QUARTER_3     6, 7
#include "la/cpu/kernel.h"
#undef REAL
#undef REAL_BYTES
#undef WORD
#undef TYPED
#undef BLAS
#undef ROOT
#undef UNPACK_LO
#undef UNPACK_HI
#undef JOIN_QUARTERS
#undef JOIN_HALVES
#undef QUARTER_0
#undef QUARTER_1
#undef QUARTER_2
#undef QUARTER_3

#define REAL          float
#define REAL_BYTES    4
#define WORD          uint32_t
#define TYPED(name)   name##_f32
#define BLAS(name)    cblas_s##name
#define ROOT          ROOT_F32
#define UNPACK_LO     UNPACK_LO_F32
#define UNPACK_HI     UNPACK_HI_F32
#define JOIN_QUARTERS 0, 1, 2, 3, 4, 5, 6, 7
#define JOIN_HALVES   0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define QUARTER_0     0, 1, 2, 3
#define QUARTER_1     4, 5, 6, 7
#define QUARTER_2     8, 9, 10, 11
#define QUARTER_3     12, 13, 14, 15
#include "la/cpu/kernel.h"

#define KERNELS(t)                                                                        \
    {                                                                                     \
        .gram = gram_##t, .cross = cross_##t, .colquad = colquad_##t, .mult = mult_##t,   \
        .rowquad = rowquad_##t, .rowdot = rowdot_##t, .axpy = axpy_##t, .load = load_##t, \
        .get = get_##t, .put = put_##t, .randn = randn_##t, .sweep = sweep_##t,           \
        .normals = normals_##t                                                            \
    }

const fab_isa ISA_TABLE = {ISA_NAME, {KERNELS(f64), KERNELS(f32)}};
