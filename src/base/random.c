/* random.c - Philox by address, and the meaning of a uniform and a normal number.
 *
 *   block b of (seed, purpose, stream):
 *                               key (seed lo, seed hi); counter (b lo, purpose and b hi, stream lo, stream hi),
 *                               the second word with the purpose in its upper and b's bits 32 .. 47 in its lower half
 *   double uniform 2b + h:      (52 high bits of the h-th 64-bit half + 1/2) 2^-52
 *   double normals 2b, 2b + 1:  r cos, r sin;  r = sqrt(-2 log u1), angle = 2 pi u2
 *   float uniforms 4b .. 4b+3:  (23 high bits of word j + 1/2) 2^-23 for the angle; the radius takes all
 *                               32 bits, (word + 1/2) 2^-32, so that the tail reaches 6.7 sigma
 *   float normals 4b .. 4b+3:   two pairs: words (0, 1) and words (2, 3)
 *
 * src/la makes the same numbers many at a time; this file is the reference.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/random.h"
#include "base/random_ref.h"
#include <Random123/philox.h>
#include <math.h>

void fab_random_bits(uint64_t seed, fab_purpose purpose, uint64_t stream, uint64_t block,
                     uint32_t out[4])
{
    const uint32_t second = (uint32_t)purpose << 16 | (uint32_t)(block >> 32 & 0xffff);
    const philox4x32_ctr_t counter = {
        {(uint32_t)block, second, (uint32_t)stream, (uint32_t)(stream >> 32)}};
    const philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    const philox4x32_ctr_t bits = philox4x32(counter, key);
    for (int j = 0; j < 4; j++) out[j] = bits.v[j];
}

static double unit_f64(const uint32_t *half)
{
    const uint64_t bits = (uint64_t)half[1] << 32 | half[0];
    return ((double)(bits >> 12) + 0.5) * 0x1p-52;
}

void fab_random_uniform(uint64_t seed, fab_purpose purpose, uint64_t stream, uint64_t index0,
                        int64_t n, double *out)
{
    uint32_t bits[4];
    for (int64_t i = 0; i < n; i++) {
        const uint64_t index = index0 + (uint64_t)i;
        if (i == 0 || index % 2 == 0) fab_random_bits(seed, purpose, stream, index / 2, bits);
        out[i] = unit_f64(bits + 2 * (index % 2));
    }
}

static void pair(double u1, double u2, double *a, double *b)
{
    const double r = sqrt(-2 * log(u1));
    *a = r * cos(6.283185307179586477 * u2);
    *b = r * sin(6.283185307179586477 * u2);
}

void fab_normal_pair_f64(const uint32_t bits[4], double out[2])
{
    pair(unit_f64(bits), unit_f64(bits + 2), &out[0], &out[1]);
}

void fab_normal_quad_f32(const uint32_t bits[4], float out[4])
{
    for (int j = 0; j < 4; j += 2) {
        double a, b;
        pair(((double)bits[j] + 0.5) * 0x1p-32, ((double)(bits[j + 1] >> 9) + 0.5) * 0x1p-23, &a,
             &b);
        out[j] = (float)a;
        out[j + 1] = (float)b;
    }
}

void fab_random_shuffle(uint64_t seed, fab_purpose purpose, uint64_t stream, int64_t n,
                        int64_t *order)
{
    for (int64_t i = 0; i < n; i++) {
        double u;
        fab_random_uniform(seed, purpose, stream, (uint64_t)i, 1, &u);
        int64_t j = (int64_t)(u * (double)(i + 1)); /* uniform on 0 .. i */
        if (j > i) j = i;
        order[i] = order[j]; /* the inside-out Fisher-Yates shuffle */
        order[j] = i;
    }
}
