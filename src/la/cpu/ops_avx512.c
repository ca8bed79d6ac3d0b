/* ops_avx512.c - the kernels for AVX-512 (F, DQ, BW, VL).
 *
 * SPDX-License-Identifier: MIT */
#define VECTOR_BYTES 64
#define ISA_NAME     "avx512"
#define ISA_TABLE    fab_isa_avx512
#include "la/cpu/isa.h"
