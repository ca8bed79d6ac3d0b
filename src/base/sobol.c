/* sobol.c - Sobol's points in base 2.
 *
 *   1  v_k = m_k 2^(32 - k), k = 1 .. s                                           from the table
 *   2  v_k = a_1 v_k-1 ^ .. ^ a_s-1 v_k-s+1 ^ v_k-s ^ (v_k-s >> s), k > s          the recurrence of the polynomial
 *   3  point i = shift ^ v_k for each bit k of i
 *
 * The polynomials x^s + a_1 x^s-1 + .. + 1 and the first directions m are those of S. Joe and F. Y. Kuo, Constructing Sobol'
 * sequences with better two-dimensional projections, SIAM J. Sci. Comput. 30 (2008): the table new-joe-kuo-6.
 *
 * SPDX-License-Identifier: MIT */
#include "base/sobol.h"

enum { DEGREE_MAX = 7 };

static const struct {
    int s, a; /* degree, a_1 .. a_s-1 as bits */
    uint32_t m[DEGREE_MAX];
} table[FAB_SOBOL_MAX] = {
    {0, 0, {0}}, /* the first coordinate: all m are 1 */
    {1, 0, {1}},
    {2, 1, {1, 3}},
    {3, 1, {1, 3, 1}},
    {3, 2, {1, 1, 1}},
    {4, 1, {1, 1, 3, 3}},
    {4, 4, {1, 3, 5, 13}},
    {5, 2, {1, 1, 5, 5, 17}},
    {5, 4, {1, 1, 5, 5, 5}},
    {5, 7, {1, 1, 7, 11, 19}},
    {5, 11, {1, 1, 5, 1, 1}},
    {5, 13, {1, 1, 1, 3, 11}},
    {5, 14, {1, 3, 5, 5, 31}},
    {6, 1, {1, 3, 3, 9, 7, 49}},
    {6, 13, {1, 1, 1, 15, 21, 21}},
    {6, 16, {1, 3, 1, 13, 27, 49}},
    {6, 19, {1, 1, 1, 15, 7, 5}},
    {6, 22, {1, 3, 1, 15, 13, 25}},
    {6, 25, {1, 1, 5, 5, 19, 61}},
    {7, 1, {1, 3, 7, 11, 23, 15, 103}},
    {7, 4, {1, 3, 7, 13, 13, 15, 69}},
    {7, 7, {1, 1, 3, 13, 7, 35, 63}},
    {7, 8, {1, 3, 5, 9, 1, 25, 53}},
    {7, 14, {1, 3, 1, 13, 9, 35, 107}},
    {7, 19, {1, 3, 1, 5, 27, 61, 31}},
    {7, 21, {1, 1, 5, 11, 19, 41, 61}},
    {7, 28, {1, 3, 5, 3, 3, 13, 69}},
    {7, 31, {1, 1, 7, 13, 1, 19, 1}},
    {7, 32, {1, 3, 7, 5, 13, 19, 59}},
    {7, 37, {1, 1, 3, 9, 25, 29, 41}},
    {7, 41, {1, 3, 5, 13, 23, 1, 55}},
    {7, 42, {1, 3, 7, 3, 13, 59, 17}},
};

static void find_directions(int d, uint32_t *v)
{
    const int s = table[d].s;
    for (int k = 0; k < FAB_SOBOL_BITS; k++) {
        if (s == 0 || k < s) {
            v[k] = (s == 0 ? 1 : table[d].m[k]) << (FAB_SOBOL_BITS - 1 - k); /* 1 */
            continue;
        }
        v[k] = v[k - s] ^ v[k - s] >> s; /* 2 */
        for (int i = 1; i < s; i++)
            if (table[d].a >> (s - 1 - i) & 1) v[k] ^= v[k - i];
    }
}

void fab_sobol_init(fab_sobol *s, uint64_t seed, fab_purpose purpose, uint64_t stream, int64_t D)
{
    *s = (fab_sobol){.seed = seed, .stream = stream, .purpose = purpose, .D = D};
    uint32_t bits[4] = {0};
    for (int d = 0; d < FAB_SOBOL_MAX && d < D; d++) {
        if (d % 4 == 0) fab_random_bits(seed, purpose, stream, (uint64_t)d / 4, bits);
        s->shift[d] = bits[d % 4];
        find_directions(d, s->direction[d]);
    }
}

void fab_sobol_point(const fab_sobol *s, uint64_t index, double *u)
{
    const int64_t even = s->D < FAB_SOBOL_MAX ? s->D : FAB_SOBOL_MAX;
    for (int64_t d = 0; d < even; d++) {
        uint32_t x = s->shift[d];
        for (int k = 0; k < FAB_SOBOL_BITS && index >> k; k++)
            if (index >> k & 1) x ^= s->direction[d][k]; /* 3 */
        u[d] = ((double)x + 0.5) * 0x1p-32;
    }
    if (s->D > even) /* behind the blocks of the shifts */
        fab_random_uniform(s->seed, s->purpose, s->stream,
                           FAB_SOBOL_MAX + index * (uint64_t)(s->D - even), s->D - even, u + even);
}
