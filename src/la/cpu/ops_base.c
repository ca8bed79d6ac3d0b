/* ops_base.c - the kernels for the instructions every CPU of this architecture has.
 *
 * SPDX-License-Identifier: MIT */
#define VECTOR_BYTES 16
#define ISA_NAME     "base"
#define ISA_TABLE    fab_isa_base
#include "la/cpu/isa.h"
