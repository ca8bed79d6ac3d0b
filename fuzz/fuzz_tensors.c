/* fuzz_tensors.c - any bytes as a safetensors file: refused with a sentence, or tensors that tile its
 * data.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/files.h"
#include "fuzz.h"

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed);

/* Blind changes mostly break the header length and get no further: three times of four it is mended,
 * so that the header ends at the last brace. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
    size = LLVMFuzzerMutate(bytes, size, room);
    if (size < 8 || seed % 4 == 0) return size;
    size_t end = size;
    while (end > 8 && bytes[end - 1] != '}') end--;
    const uint64_t length = end - 8;
    memcpy(bytes, &length, sizeof length);
    return size;
}

static size_t walk_tensor(const fab_tensors *t, int64_t i, size_t size)
{
    const fab_tensor *x = fab_tensors_at(t, i);
    must(x && x->name[0] && fab_tensors_find(t, x->name) == x);
    must(x->type == FAB_F64 || x->type == FAB_F32 || x->type == FAB_I64);
    must(x->ndim >= 0 && x->ndim <= FAB_MAX_DIMS);
    const size_t width = x->type == FAB_F32 ? 4 : 8;
    size_t n = width;
    for (int k = 0; k < x->ndim; k++) {
        must(x->shape[k] >= 0);
        n *= (size_t)x->shape[k];
    }
    must(n <= size && (uintptr_t)x->data % width == 0);
    touch(x->data, n);
    return n;
}

static void walk_metadata(const fab_tensors *t)
{
    for (int64_t i = 0; i < fab_tensors_meta_count(t); i++) {
        const char *key = fab_tensors_meta_key(t, i);
        must(key && fab_tensors_get(t, key));
        touch(fab_tensors_get(t, key), strlen(fab_tensors_get(t, key)));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fab_tensors *t;
    const fab_status s = fab_tensors_parse(&t, "fuzz.safetensors", bytes, size);
    if (s != FAB_OK) {
        must(!t);
        check_refusal(s, "fuzz.safetensors: ");
        return 0;
    }
    uint64_t header;
    memcpy(&header, bytes, sizeof header);
    size_t total = 0;
    for (int64_t i = 0; i < fab_tensors_count(t); i++) total += walk_tensor(t, i, size);
    must(total == size - 8 - header); /* no byte is lost, none counted twice */
    walk_metadata(t);
    fab_tensors_free(t);
    return 0;
}
