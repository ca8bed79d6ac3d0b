/* fuzz.h - what the fuzz targets share: a check that stops the fuzzer, and the rules for refusals.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_FUZZ_H
#define FAB_FUZZ_H

#include "fabayes/status.h"
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t room, unsigned seed);

#define must(truth)            \
    do {                       \
        if (!(truth)) abort(); \
    } while (0)

/* Read every byte, so that the address sanitizer sees it. */
static inline void touch(const void *p, size_t n)
{
    static volatile unsigned char sum;
    for (size_t i = 0; i < n; i++) sum = (unsigned char)(sum + ((const unsigned char *)p)[i]);
}

/* The library must live with a machine that has little memory: fab_set_allocator(small_alloc, free). */
static inline void *small_alloc(size_t bytes)
{
    return bytes > (size_t)1 << 24 ? NULL : aligned_alloc(64, (bytes + 63) / 64 * 64);
}

/* A refusal blames what `name` says, in one line without control characters. */
static inline void check_sentence(const char *name)
{
    must(strncmp(fab_detail(), name, strlen(name)) == 0);
    for (const char *c = fab_detail(); *c; c++) must((unsigned char)*c >= 0x20 && *c != 0x7f);
}

static inline void check_refusal(fab_status s, const char *name)
{
    must(s == FAB_BAD_FILE);
    check_sentence(name);
}

/* Any refusal: with a sentence. */
static inline void refused(fab_status s)
{
    must(s != FAB_OK && fab_detail()[0]);
    check_sentence("");
}

/* A change of a safetensors file, whose header's length is mended so that it gets beyond it (see fuzz_tensors.c); or one bit of
 * header or data, and nothing moves. */
static inline size_t mutate_file(uint8_t *bytes, size_t size, size_t room, unsigned seed)
{
    const size_t old = size;
    uint64_t length = 0;
    if (size >= 8) memcpy(&length, bytes, sizeof length);
    if (seed % 2 && length > 0 && length < size - 8) {
        const size_t at = 8 + (seed / 8) % (size - 8);
        bytes[at] = (uint8_t)(bytes[at] ^ 1u << seed / 2 % 8);
        return size;
    }
    size = LLVMFuzzerMutate(bytes, size, room);
    if (size < 8 || seed % 8 == 0) return size;
    length += size - old;
    if (length < size - 8) memcpy(bytes, &length, sizeof length);
    return size;
}

/* The bytes as a file, in memory where the system has such a folder: what is saved is flushed to the disk.  NULL: there is no room. */
static inline const char *put_file(const char *name, const uint8_t *bytes, size_t size)
{
    static char path[96];
    if (!path[0])
        snprintf(path, sizeof path, "%s/fuzz-%s-%ld",
                 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", name, (long)getpid());
    FILE *f = fopen(path, "wb");
    if (!f) return NULL;
    const size_t done = fwrite(bytes, 1, size, f);
    return fclose(f) == 0 && done == size ? path : NULL;
}

#endif
