/* random.h - random numbers with an address: (seed, purpose, stream, index) -> number.
 *
 * No state: the same address gives the same bits on every machine, in any order, from any thread.
 * Philox-4x32-10 (Salmon, Moraes, Dror, Shaw, 2011) is keyed by the seed (64 bits); its 128-bit counter is
 * (purpose: 16 bits, block: 48 bits, stream: 64 bits), each in bits of its own, nothing added or mixed.
 *
 * The purpose keeps apart what is given one seed: the rows a caller makes, the start of the method that learns
 * them, its batches, its draws.  For one seed Philox is a one-to-one map of the counter, so two purposes never
 * have a block of 128 bits in common, whatever their streams and indices; for two seeds (runs have seed,
 * seed + 1, ..) the blocks are those of two keys, which agree no more often than chance.
 *
 * Block b of a stream holds 128 bits: two doubles or four floats, so index i of a
 * double stream lives in block i/2 and index i of a float stream in block i/4; blocks are counted modulo 2^48.  Normals are made by
 * Box-Muller from the uniforms of their block.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_RANDOM_H
#define FABAYES_RANDOM_H

#include "fabayes/exec.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What numbers are for.  Each name is its number for good: results depend on it. */
typedef enum fab_purpose {
    FAB_PURPOSE_DATA = 0,       /* rows, models and whatever else a caller makes up */
    FAB_PURPOSE_START = 1,      /* where a method starts: F, psi */
    FAB_PURPOSE_WEIGHTS = 2,    /* where the weights of a network start */
    FAB_PURPOSE_SPLIT = 3,      /* which rows train and which test; folds */
    FAB_PURPOSE_BATCH = 4,      /* the order of the rows in an epoch */
    FAB_PURPOSE_DRAW = 5,       /* a method's draws of theta or of a predictor, while it learns */
    FAB_PURPOSE_CLASSES = 6,    /* a method's draws of the target */
    FAB_PURPOSE_DROPOUT = 7,    /* which numbers a dropout layer keeps */
    FAB_PURPOSE_PROBE = 8,      /* random subspaces and vectors that probe a matrix */
    FAB_PURPOSE_SEARCH = 9,     /* settings that a search tries */
    FAB_PURPOSE_SAMPLE = 10,    /* draws of a posterior, for a caller */
    FAB_PURPOSE_PREDICT = 11,   /* draws of a posterior that a prediction averages over */
    FAB_PURPOSE_HELD_OUT = 12,  /* rows that a method keeps apart from those it learns from */
    FAB_PURPOSE_FOLDS = 13,     /* rows that a fit leaves out to choose its network or noise */
    FAB_PURPOSE_CALIBRATE = 14, /* rows that a fit leaves out, to calibrate its predictions */
    FAB_PURPOSE_HELD = 15,      /* rows that a stream holds, to say how likely they are */
    FAB_PURPOSE_FEATURES = 16,  /* frequencies of random features */
    FAB_PURPOSE_PERMUTE = 17,   /* orders of the rows of a permutation test */
    FAB_PURPOSE_EVIDENCE = 18, /* draws of a posterior that are weighed: how likely are the data? */
    FAB_PURPOSES               /* how many; a caller's own may be any from 1000 to 65535 */
} fab_purpose;

/* The 128 bits of one block. */
FAB_API void fab_random_bits(uint64_t seed, fab_purpose purpose, uint64_t stream, uint64_t block,
                             uint32_t out[4]);

/* Uniforms on (0, 1), never 0 or 1, for indices index0 .. index0 + n - 1 of a double stream. */
FAB_API void fab_random_uniform(uint64_t seed, fab_purpose purpose, uint64_t stream,
                                uint64_t index0, int64_t n, double *out);

/* Standard normals for indices index0 .. index0 + n - 1; out holds n elements of `type` (F64 or F32).
 * The two types are different streams of numbers. */
FAB_API void fab_random_normal(uint64_t seed, fab_purpose purpose, uint64_t stream, uint64_t index0,
                               int64_t n, fab_dtype type, void *out);

/* A random order of 0 .. n-1 (Fisher-Yates from addressed uniforms). */
FAB_API void fab_random_shuffle(uint64_t seed, fab_purpose purpose, uint64_t stream, int64_t n,
                                int64_t *order);

#ifdef __cplusplus
}
#endif
#endif
