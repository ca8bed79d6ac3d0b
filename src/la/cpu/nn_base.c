/* nn_base.c - the kernels of layers for the instructions every CPU of this architecture has.
 *
 * SPDX-License-Identifier: MIT */
#define VECTOR_BYTES 16
#define NN_TABLE     fab_nn_base
#include "la/cpu/nn_isa.h"
