/* nn_avx512.c - the kernels of layers for AVX-512.
 *
 * SPDX-License-Identifier: MIT */
#define VECTOR_BYTES 64
#define NN_TABLE     fab_nn_avx512
#include "la/cpu/nn_isa.h"
