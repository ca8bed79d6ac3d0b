/* normals.h - normal numbers, a vector of Philox blocks at a time; part of ops_cpu_kernel.h.
 *
 * The addresses and the bits are those of base/random.c; logarithm, sine and cosine are polynomials
 * on vectors (the kernels of fdlibm in double, of musl and cephes in float), so that the values agree
 * with the reference to rounding.  They are written out because both arguments are known exactly: the
 * angle is a fraction of a turn, reduced to an eighth without error, and a float radius needs the
 * logarithm near 1 of a number with 32 bits.  A number depends on its address only, not on its lane.
 *
 * SPDX-License-Identifier: MIT */

#define BLOCKS    (VECTOR_BYTES / 8)          /* Philox blocks in a vector */
#define GROUP     (2 * LANES)                 /* normals they make */
#define PER_BLOCK (2 * 8 / (int)sizeof(REAL)) /* normals of one block */
#define BITS      TYPED(bits)

typedef WORD BITS __attribute__((vector_size(VECTOR_BYTES), may_alias));

/* Constants by precision: double | float. */
#if REAL_BYTES == 8
#define MANTISSA       52
#define ONE_BITS       0x3ff0000000000000u
#define HALF_ROOT_BITS 0x3fe6a09e667f3bcdu /* sqrt(1/2) */
#define INTEGER_BITS   0x4330000000000000u /* 2^52 */
#define ROUNDER        0x1.8p52
#define EXPONENT_BIAS  (0x1p52 + 1023)
static const double TYPED(log_terms)[] = {6.666666666666735130e-01, 3.999999999940941908e-01,
                                          2.857142874366239149e-01, 2.222219843214978396e-01,
                                          1.818357216161805012e-01, 1.531383769920937332e-01,
                                          1.479819860511658591e-01};
static const double TYPED(sin_terms)[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                          -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                          -2.50507602534068634195e-08, 1.58969099521155010221e-10};
static const double TYPED(cos_terms)[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                          2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                          2.08757232129817482790e-09, -1.13596475577881948265e-11};
enum { TYPED(LOG_TERMS) = 7, TYPED(ARC_TERMS) = 6 };
#else
#define MANTISSA       23
#define ONE_BITS       0x3f800000u
#define HALF_ROOT_BITS 0x3f3504f3u
#define INTEGER_BITS   0x4b000000u /* 2^23 */
#define ROUNDER        0x1.8p23f
#define EXPONENT_BIAS  (0x1p23f + 127)
static const float TYPED(log_terms)[] = {0xaaaaaa.0p-24f, 0xccce13.0p-25f, 0x91e9ee.0p-25f,
                                         0xf89e26.0p-26f};
static const float TYPED(sin_terms)[] = {-1.6666654611e-1f, 8.3321608736e-3f, -1.9515295891e-4f};
static const float TYPED(cos_terms)[] = {4.166664568298827e-2f, -1.388731625493765e-3f,
                                         2.443315711809948e-5f};
enum { TYPED(LOG_TERMS) = 4, TYPED(ARC_TERMS) = 3 };
#endif

INLINE VEC TYPED(horner)(const int terms, const REAL *c, VEC z)
{
    VEC sum = (VEC){0} + c[terms - 1];
    for (int t = terms - 2; t >= 0; t--) sum = sum * z + c[t];
    return sum;
}

/* log(2^e (1 + f)), sqrt(1/2) <= 1 + f < sqrt(2). */
INLINE VEC TYPED(log_parts)(VEC e, VEC f)
{
    const VEC s = f / (f + 2), z = s * s, half = f * f * (REAL)0.5;
    const VEC series = TYPED(horner)(TYPED(LOG_TERMS), TYPED(log_terms), z) * z;
    return e * (REAL)0.693147180559945309417 + (f - (half - s * (half + series)));
}

/* The parts of u: u = 2^e (1 + f). */
INLINE VEC TYPED(exponent)(VEC u, VEC *f)
{
    const BITS shifted = (BITS)u + (ONE_BITS - HALF_ROOT_BITS);
    *f = (VEC)((shifted & (((WORD)1 << MANTISSA) - 1)) + HALF_ROOT_BITS) - 1;
    return (VEC)((shifted >> MANTISSA) | INTEGER_BITS) - EXPONENT_BIAS;
}

/* (m + 1/2) 2^-MANTISSA of the MANTISSA high bits m. */
INLINE VEC TYPED(unit)(BITS word)
{
    const VEC above_one = (VEC)((word >> (8 * (int)sizeof(WORD) - MANTISSA)) | ONE_BITS);
    return (above_one - 1) + (REAL)0.5 / ((WORD)1 << MANTISSA);
}

/* log of the radius' uniform. */
INLINE VEC TYPED(log_unit)(BITS word)
{
    VEC f;
#if REAL_BYTES == 8
    const VEC e = TYPED(exponent)(TYPED(unit)(word), &f);
#else
    const VEC u = (__builtin_convertvector(word, VEC) + 0.5f) * 0x1p-32f;
    const VEC rest = (__builtin_convertvector(~word, VEC) + 0.5f) *
                     0x1p-32f; /* 1 - u, to all its digits */
    const VEC e = TYPED(exponent)(u, &f);
    const BITS near_one = (BITS)(word >= 0xb6000000u); /* there e = 0 */
    f = (VEC)(((BITS)f & ~near_one) | ((BITS)-rest & near_one));
#endif
    return TYPED(log_parts)(e, f);
}

/* cos and sin of 2 pi u: whole quarters turn, the rest is in [-1/8, 1/8]. */
INLINE void TYPED(circle)(VEC u, VEC *cosine, VEC *sine)
{
    const VEC rounded = u * 4 + ROUNDER;
    const BITS quarter = (BITS)rounded;
    const VEC x = (u - (rounded - ROUNDER) * (REAL)0.25) * (REAL)6.283185307179586477, z = x * x;
    const VEC s = x + x * z * TYPED(horner)(TYPED(ARC_TERMS), TYPED(sin_terms), z);
    const VEC c = 1 -
                  (z * (REAL)0.5 - z * z * TYPED(horner)(TYPED(ARC_TERMS), TYPED(cos_terms), z));
    const BITS swap = 0 - (quarter & 1);
    const int sign = 8 * (int)sizeof(WORD) - 2;
    *cosine = (VEC)((((BITS)c & ~swap) | ((BITS)s & swap)) ^ (((quarter + 1) & 2) << sign));
    *sine = (VEC)((((BITS)s & ~swap) | ((BITS)c & swap)) ^ ((quarter & 2) << sign));
}

/* The words of BLOCKS consecutive blocks: radius and angle, as base/random.c pairs them. */
INLINE void TYPED(words)(uint64_t seed, fab_purpose purpose, uint64_t stream, uint64_t block,
                         BITS *radius, BITS *angle)
{
    bits_f64 x[4];
    philox(seed, purpose, stream, block, x);
#if REAL_BYTES == 8
    *radius = x[1] << 32 | (x[0] & 0xffffffffu);
    *angle = x[3] << 32 | (x[2] & 0xffffffffu);
#else
    *radius = (BITS)(x[2] << 32 |
                     (x[0] & 0xffffffffu)); /* lane 2b: words 0, 1; lane 2b + 1: words 2, 3 */
    *angle = (BITS)(x[3] << 32 | (x[1] & 0xffffffffu));
#endif
}

/* GROUP normals, from the first of a block. */
INLINE void TYPED(group)(uint64_t seed, fab_purpose purpose, uint64_t stream, uint64_t block,
                         REAL *out)
{
    BITS radius, angle;
    VEC c, s;
    TYPED(words)(seed, purpose, stream, block, &radius, &angle);
    const VEC r = ROOT(TYPED(log_unit)(radius) * -2); /* sqrt(-2 log u1) */
    TYPED(circle)(TYPED(unit)(angle), &c, &s);
    TYPED(spread)(out, 2 * QUARTER, LOW(r * c, r * s));
    TYPED(spread)(out + QUARTER, 2 * QUARTER, HIGH(r * c, r * s));
}

static void TYPED(normals)(uint64_t seed, fab_purpose purpose, uint64_t stream, uint64_t index0,
                           int64_t n, void *to)
{
    REAL *out = to;
    int64_t done = 0;
    while (done < n) {
        const uint64_t index = index0 + (uint64_t)done;
        const int64_t skip = (int64_t)(index % PER_BLOCK), left = n - done;
        REAL some[GROUP];
        const int whole = skip == 0 && left >= GROUP;
        TYPED(group)(seed, purpose, stream, index / PER_BLOCK, whole ? out + done : some);
        const int64_t got = left < GROUP - skip ? left : GROUP - skip;
        if (!whole) memcpy(out + done, some + skip, (size_t)got * sizeof *out);
        done += got;
    }
}

/* An array whose rows do not follow each other without gaps has its numbers made in a buffer, as many
 * rows of it at a time as fit. */
static void TYPED(randn)(const fab_job *job, fab_span rows, void *scratch, double *partial)
{
    (void)partial;
    const fab_long *A = job->A;
    const int64_t k = A->k, fit = k < SUB_ROWS ? SUB_ROWS / (k > 0 ? k : 1) : 1;
    const int direct = A->cs == 1 && A->rs == k;
    REAL *some = scratch;
    FOR_BLOCKS(i, m, rows, direct ? rows.count : fit)
    {
        const uint64_t index = (uint64_t)(job->first_row + i) * (uint64_t)k;
        REAL *to = direct ? TYPED(at)(A, i, 0) : some;
        TYPED(normals)(job->seed, job->purpose, job->stream, index, m * k, to);
        if (!direct)
            for (int64_t j = 0; j < k; j++)
                for (int64_t r = 0; r < m; r++) *TYPED(at)(A, i + r, j) = some[r * k + j];
    }
}

#undef BLOCKS
#undef GROUP
#undef PER_BLOCK
#undef BITS
#undef MANTISSA
#undef ONE_BITS
#undef HALF_ROOT_BITS
#undef INTEGER_BITS
#undef ROUNDER
#undef EXPONENT_BIAS
