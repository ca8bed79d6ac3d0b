/* ops_avx2.c - the kernels for AVX2 and FMA.
 *
 * SPDX-License-Identifier: MIT */
#define VECTOR_BYTES 32
#define ISA_NAME     "avx2"
#define ISA_TABLE    fab_isa_avx2
#include "la/cpu/isa.h"
