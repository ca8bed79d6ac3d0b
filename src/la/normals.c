/* normals.c - fab_random_normal: normal numbers by address, many at a time.
 *
 * SPDX-License-Identifier: MIT */
#include "base/random_ref.h"
#include <string.h>

/* The block that holds `index`, and how many of its numbers follow it. */
static int64_t normal_f64(uint64_t seed, uint64_t stream, uint64_t index, int64_t n, double *out)
{
    uint32_t bits[4];
    double block[2];
    fab_random_bits(seed, stream, index / 2, bits);
    fab_normal_pair_f64(bits, block);
    const int64_t from = (int64_t)(index % 2), count = n < 2 - from ? n : 2 - from;
    memcpy(out, block + from, (size_t)count * sizeof *out);
    return count;
}

static int64_t normal_f32(uint64_t seed, uint64_t stream, uint64_t index, int64_t n, float *out)
{
    uint32_t bits[4];
    float block[4];
    fab_random_bits(seed, stream, index / 4, bits);
    fab_normal_quad_f32(bits, block);
    const int64_t from = (int64_t)(index % 4), count = n < 4 - from ? n : 4 - from;
    memcpy(out, block + from, (size_t)count * sizeof *out);
    return count;
}

void fab_random_normal(uint64_t seed, uint64_t stream, uint64_t index0, int64_t n, fab_dtype type, void *out)
{
    int64_t done = 0;
    while (done < n) {
        const uint64_t index = index0 + (uint64_t)done;
        if (type == FAB_F64)
            done += normal_f64(seed, stream, index, n - done, (double *)out + done);
        else
            done += normal_f32(seed, stream, index, n - done, (float *)out + done);
    }
}
