/* nn_avx2.c - the kernels of layers for AVX2 and FMA.
 *
 * SPDX-License-Identifier: MIT */
#define VECTOR_BYTES 32
#define NN_TABLE     fab_nn_avx2
#include "la/cpu/nn_isa.h"
