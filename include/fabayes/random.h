/* random.h - random numbers with an address: (seed, stream, index) -> number.
 *
 * No state: the same address gives the same bits on every machine, in any order, from any thread.
 * Philox-4x32-10 (Salmon, Moraes, Dror, Shaw, 2011) is keyed by the seed; its 128-bit counter is
 * (block, stream).  Block b of a stream holds 128 bits: two doubles or four floats, so index i of a
 * double stream lives in block i/2 and index i of a float stream in block i/4.  Normals are made by
 * Box-Muller from the uniforms of their block.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_RANDOM_H
#define FABAYES_RANDOM_H

#include "fabayes/exec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The 128 bits of one block. */
FAB_API void fab_random_bits(uint64_t seed, uint64_t stream, uint64_t block, uint32_t out[4]);

/* Uniforms on (0, 1), never 0 or 1, for indices index0 .. index0 + n - 1 of a double stream. */
FAB_API void fab_random_uniform(uint64_t seed, uint64_t stream, uint64_t index0, int64_t n,
                                double *out);

/* Standard normals for indices index0 .. index0 + n - 1; out holds n elements of `type` (F64 or F32).
 * The two types are different streams of numbers. */
FAB_API void fab_random_normal(uint64_t seed, uint64_t stream, uint64_t index0, int64_t n,
                               fab_dtype type, void *out);

/* A random order of 0 .. n-1 (Fisher-Yates from addressed uniforms). */
FAB_API void fab_random_shuffle(uint64_t seed, uint64_t stream, int64_t n, int64_t *order);

#ifdef __cplusplus
}
#endif
#endif
