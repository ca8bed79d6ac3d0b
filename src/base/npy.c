/* npy.c - NumPy's .npy files: one array, C order, f4 or f8.
 *
 * SPDX-License-Identifier: MIT */
#include "fabayes/files.h"
#include "base/atomic_file.h"
#include "base/memory.h"
#include "base/npy_header.h"
#include "base/bytes.h"
#include <inttypes.h>
#include <string.h>

/* ---- reading ------------------------------------------------------------------------------------ */

static fab_status take_header(fab_npy_header *h, fab_bytes *src)
{
    char start[FAB_NPY_START], *bytes;
    size_t size;
    FAB_TRY(fab_bytes_take(src, start, sizeof start));
    FAB_TRY(fab_npy_header_size(&size, src->name, start));
    FAB_TRY(fab_alloc_array((void **)&bytes, (int64_t)size, 1, src->name));
    memcpy(bytes, start, sizeof start);
    fab_status s = fab_bytes_take(src, bytes + sizeof start, size - sizeof start);
    if (s == FAB_OK) s = fab_npy_header_parse(h, src->name, bytes, size);
    fab_release(bytes);
    if (s == FAB_OK && h->by_columns)
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: the array is in Fortran order: save np.ascontiguousarray(a)",
                        src->name);
    return s;
}

/* The elements are all that follows the header. */
static fab_status check_size(const fab_npy_header *h, const fab_bytes *src)
{
    const size_t left = fab_bytes_left(src);
    if (left == h->bytes) return FAB_OK;
    return FAB_FAIL(FAB_BAD_FILE,
                    "%s: %s: %" PRId64 " x %" PRId64 " elements of type %s take %zu bytes and "
                    "%zu follow the header",
                    src->name, left < h->bytes ? "is cut short" : "is too long", h->rows, h->cols,
                    fab_dtype_name(h->type), h->bytes, left);
}

static fab_status take_array(fab_npy *a, fab_bytes *src)
{
    fab_npy_header h;
    void *data;
    FAB_TRY(take_header(&h, src));
    FAB_TRY(check_size(&h, src));
    FAB_TRY(fab_alloc_array(&data, (int64_t)h.bytes, 1, src->name));
    const fab_status s = fab_bytes_take(src, data, h.bytes);
    if (s != FAB_OK) {
        fab_release(data);
        return s;
    }
    *a = (fab_npy){data, h.type, h.ndim, h.rows, h.cols};
    return FAB_OK;
}

fab_status fab_npy_read(fab_npy *a, const char *path)
{
    fab_bytes src;
    memset(a, 0, sizeof *a);
    FAB_TRY(fab_bytes_open(&src, path));
    const fab_status s = take_array(a, &src);
    fab_bytes_close(&src);
    return s;
}

fab_status fab_npy_parse(fab_npy *a, const char *name, const void *bytes, size_t size)
{
    fab_bytes src = fab_bytes_memory(name, bytes, size);
    memset(a, 0, sizeof *a);
    return take_array(a, &src);
}

void fab_npy_free(fab_npy *a)
{
    if (!a) return;
    fab_release(a->data);
    memset(a, 0, sizeof *a);
}

/* ---- writing ------------------------------------------------------------------------------------ */

struct fab_npy_writer {
    fab_atomic_file file;
    size_t size; /* of an element */
    int64_t rows, cols, came;
};

static fab_status check_array(const char *path, fab_dtype type, int ndim, int64_t rows,
                              int64_t cols)
{
    int64_t count;
    if (type != FAB_F64 && type != FAB_F32)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: a .npy file holds f64 or f32, not %s", path,
                        fab_dtype_name(type));
    if (ndim != 1 && ndim != 2)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: a .npy file is written with 1 or 2 dimensions, not %d", path, ndim);
    if (rows < 0 || cols < 0 || __builtin_mul_overflow(rows, cols, &count) || count > INT64_MAX / 8)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: %" PRId64 " x %" PRId64 " elements cannot be written", path, rows,
                        cols);
    return FAB_OK;
}

static fab_status open_writer(fab_npy_writer **w, const char *path, const fab_npy *a)
{
    char header[FAB_NPY_WRITTEN];
    const int64_t cols = a->ndim == 1 ? 1 : a->cols;
    fab_npy_writer *made;
    *w = NULL;
    FAB_TRY(check_array(path, a->type, a->ndim, a->rows, cols));
    FAB_TRY(fab_alloc_array((void **)&made, 1, sizeof *made, path));
    *made = (fab_npy_writer){.size = a->type == FAB_F32 ? 4 : 8, .rows = a->rows, .cols = cols};
    fab_npy_header_print(header, a->type, a->ndim, a->rows, cols);
    fab_status s = fab_atomic_open(&made->file, path);
    if (s == FAB_OK) s = fab_atomic_write(&made->file, header, sizeof header);
    if (s == FAB_OK)
        *w = made;
    else
        fab_npy_discard(made);
    return s;
}

fab_status fab_npy_open(fab_npy_writer **w, const char *path, fab_dtype type, int64_t rows,
                        int64_t cols)
{
    return open_writer(w, path, &(fab_npy){.type = type, .ndim = 2, .rows = rows, .cols = cols});
}

fab_status fab_npy_append(fab_npy_writer *w, const void *elements, int64_t count)
{
    const int64_t left = w->rows * w->cols - w->came;
    if (count < 0 || count > left)
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "%s: %" PRId64 " more elements came, the array of %" PRId64 " x %" PRId64
                        " has room for %" PRId64,
                        w->file.name, count, w->rows, w->cols, left);
    if (!elements && count > 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the elements are NULL", w->file.name);
    FAB_TRY(fab_atomic_write(&w->file, elements, (size_t)count * w->size));
    w->came += count;
    return FAB_OK;
}

fab_status fab_npy_close(fab_npy_writer *w)
{
    fab_status s = FAB_OK;
    if (w->came != w->rows * w->cols)
        s = FAB_FAIL(FAB_BAD_ARGUMENT, "%s: %" PRId64 " of %" PRId64 " x %" PRId64 " elements came",
                     w->file.name, w->came, w->rows, w->cols);
    if (s == FAB_OK) s = fab_atomic_commit(&w->file);
    fab_npy_discard(w);
    return s;
}

void fab_npy_discard(fab_npy_writer *w)
{
    if (!w) return;
    fab_atomic_discard(&w->file);
    fab_release(w);
}

fab_status fab_npy_write(const char *path, const fab_npy *a)
{
    fab_npy_writer *w;
    FAB_TRY(open_writer(&w, path, a));
    const fab_status s = fab_npy_append(w, a->data, w->rows * w->cols);
    if (s == FAB_OK) return fab_npy_close(w);
    fab_npy_discard(w);
    return s;
}
