/* fuzz_npy.c - any bytes as a .npy file: refused with a sentence, or an array whose every byte is there.
 *
 * SPDX-License-Identifier: MIT */
#include "base/npy_header.h"
#include "fabayes/files.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    fab_npy a;
    const fab_status s = fab_npy_parse(&a, "fuzz.npy", bytes, size);
    if (s != FAB_OK) {
        must(!a.data);
        check_refusal(s, "fuzz.npy: ");
        return 0;
    }
    must(a.type == FAB_F32 || a.type == FAB_F64);
    must(a.ndim == 2 || (a.ndim == 1 && a.cols == 1));
    must(a.rows >= 0 && a.cols >= 0);
    const size_t n = (size_t)(a.rows * a.cols) * (a.type == FAB_F32 ? 4 : 8);
    must(n < size && memcmp(a.data, bytes + size - n, n) == 0);

    char head[FAB_NPY_WRITTEN]; /* what we write of it reads back the same */
    fab_npy_header h;
    fab_npy_header_print(head, a.type, a.ndim, a.rows, a.cols);
    must(fab_npy_header_parse(&h, "again", head, sizeof head) == FAB_OK);
    must(h.type == a.type && h.ndim == a.ndim && h.rows == a.rows && h.cols == a.cols);
    must(h.bytes == n);
    fab_npy_free(&a);
    return 0;
}
