/* tensors_read.c - a safetensors file, read by someone who trusts nothing in it.
 *
 *     <u64 length of the header>
 *     {"__metadata__": {"key": "value", ...},
 *      "mu": {"dtype": "F64", "shape": [29], "data_offsets": [0, 232]}, ...}
 *     the data, without holes
 *
 * The header is checked against the size of the file before memory for the data is asked for.  An array
 * that lies crooked in the file (an f64 behind an odd number of f32) is copied straight.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/bytes.h"
#include "base/json.h"
#include "base/tensors_set.h"
#include "base/tensors_shards.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a refusal speaks of: the file, and the tensor in it. */
typedef struct place {
    const char *file;
    char tensor[FAB_SHOWN];
} place;

static place place_of(const char *file, const char *tensor)
{
    place at = {.file = file};
    fab_show(at.tensor, tensor, strlen(tensor));
    return at;
}

static fab_status read_metadata(fab_tensors *t, const char *file, const json_t *object)
{
    char shown[FAB_SHOWN];
    const char *key;
    json_t *value;
    if (!json_is_object(object))
        return FAB_FAIL(FAB_BAD_FILE, "%s: its metadata is not an object", file);
    json_object_foreach((json_t *)object, key, value)
    {
        if (!json_is_string(value))
            return FAB_FAIL(FAB_BAD_FILE, "%s: metadata '%s' is not a string", file,
                            fab_show(shown, key, strlen(key)));
        FAB_TRY(fab_entry_push(t, key, json_string_value(value)));
    }
    return FAB_OK;
}

static fab_status read_dtype(fab_item *it, const place *at, const json_t *dtype)
{
    char shown[FAB_SHOWN];
    const char *name = json_string_value(dtype);
    if (!name) return FAB_FAIL(FAB_BAD_FILE, "%s: tensor '%s' has no dtype", at->file, at->tensor);
    if (fab_tensor_find_dtype(name, &it->t.type)) return FAB_OK;
    return FAB_FAIL(FAB_BAD_FILE, "%s: tensor '%s' is of dtype %s; F64, F32 and I64 are read",
                    at->file, at->tensor, fab_show(shown, name, strlen(name)));
}

/* An array of at most `most` whole numbers >= 0; their count, or -1. */
static int read_sizes(const json_t *array, int most, int64_t *sizes)
{
    const size_t n = json_array_size(array);
    if (!json_is_array(array) || n > (size_t)most) return -1;
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_integer(value) || json_integer_value(value) < 0) return -1;
        sizes[i] = json_integer_value(value);
    }
    return (int)n;
}

static fab_status read_shape(fab_item *it, const place *at, const json_t *shape)
{
    it->t.ndim = read_sizes(shape, FAB_MAX_DIMS, it->t.shape);
    if (it->t.ndim >= 0) return FAB_OK;
    if (json_array_size(shape) > FAB_MAX_DIMS)
        return FAB_FAIL(FAB_BAD_FILE, "%s: tensor '%s' has %zu dimensions, more than %d", at->file,
                        at->tensor, json_array_size(shape), FAB_MAX_DIMS);
    return FAB_FAIL(FAB_BAD_FILE, "%s: the shape of tensor '%s' is not a list of sizes", at->file,
                    at->tensor);
}

static fab_status read_offsets(fab_item *it, const place *at, const json_t *offsets,
                               size_t data_size)
{
    int64_t o[2];
    if (read_sizes(offsets, 2, o) != 2)
        return FAB_FAIL(FAB_BAD_FILE, "%s: the data_offsets of tensor '%s' are not two positions",
                        at->file, at->tensor);
    const int64_t bytes = fab_tensor_bytes(&it->t);
    if (bytes < 0)
        return FAB_FAIL(FAB_BAD_FILE, "%s: the shape of tensor '%s' is too large", at->file,
                        at->tensor);
    if (o[0] > o[1])
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: tensor '%s' starts at byte %" PRId64
                        " and ends before, at byte %" PRId64,
                        at->file, at->tensor, o[0], o[1]);
    if (bytes != o[1] - o[0])
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: tensor '%s' takes %" PRId64 " bytes but its shape needs %" PRId64,
                        at->file, at->tensor, o[1] - o[0], bytes);
    if ((uint64_t)o[1] > data_size)
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: tensor '%s' ends at byte %" PRId64 " but the data end at byte %zu",
                        at->file, at->tensor, o[1], data_size);
    it->begin = o[0];
    it->end = o[1];
    return FAB_OK;
}

static fab_status read_tensor(fab_tensors *t, const char *file, const char *name,
                              const json_t *object, size_t data_size)
{
    const place at = place_of(file, name);
    fab_item *it;
    if (!*name) return FAB_FAIL(FAB_BAD_FILE, "%s: a tensor has an empty name", file);
    if (!json_is_object(object))
        return FAB_FAIL(FAB_BAD_FILE, "%s: tensor '%s' is not described by an object", file,
                        at.tensor);
    FAB_TRY(fab_item_push(t, name, &it));
    FAB_TRY(read_dtype(it, &at, json_object_get(object, "dtype")));
    FAB_TRY(read_shape(it, &at, json_object_get(object, "shape")));
    return read_offsets(it, &at, json_object_get(object, "data_offsets"), data_size);
}

static fab_status read_root(fab_tensors *t, const char *file, const json_t *root, size_t data_size)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)root, name, value)
    {
        if (strcmp(name, FAB_METADATA) == 0)
            FAB_TRY(read_metadata(t, file, value));
        else
            FAB_TRY(read_tensor(t, file, name, value, data_size));
    }
    return FAB_OK;
}

static fab_status read_header(fab_tensors *t, const char *file, const char *text, size_t size,
                              size_t data_size)
{
    if (size == 0 || text[0] != '{')
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: the header is not a JSON object; is this a safetensors file?", file);
    json_t *root;
    fab_status s = fab_json_read(&root, text, size, FAB_TENSORS_VALUES_MAX);
    if (s != FAB_OK) return fab_prefix(s, "%s: the header ", file);
    s = read_root(t, file, root, data_size);
    json_decref(root);
    return s;
}

static int by_offset(const void *a, const void *b)
{
    const fab_item *x = *(fab_item *const *)a, *y = *(fab_item *const *)b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

/* `sorted` tile the data: each starts where the one before it ends. */
static fab_status check_tiles(const char *file, fab_item *const *sorted, int64_t n,
                              size_t data_size)
{
    int64_t end = 0;
    for (int64_t i = 0; i < n; i++) {
        const place at = place_of(file, sorted[i]->name);
        if (sorted[i]->begin < end)
            return FAB_FAIL(FAB_BAD_FILE,
                            "%s: tensor '%s' starts at byte %" PRId64
                            " and overlaps another that ends at byte %" PRId64,
                            file, at.tensor, sorted[i]->begin, end);
        if (sorted[i]->begin > end)
            return FAB_FAIL(FAB_BAD_FILE,
                            "%s: a gap: bytes %" PRId64 " to %" PRId64
                            " before tensor '%s' belong to no tensor",
                            file, end, sorted[i]->begin, at.tensor);
        end = sorted[i]->end;
    }
    if ((uint64_t)end < data_size)
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: the tensors end at byte %" PRId64 " but the data end at byte %zu",
                        file, end, data_size);
    return FAB_OK;
}

static fab_status check_offsets(const fab_tensors *t, const char *file, size_t data_size)
{
    const int64_t n = t->items.n;
    fab_item **sorted;
    FAB_TRY(fab_alloc_array((void **)&sorted, n, sizeof *sorted, file));
    for (int64_t i = 0; i < n; i++) sorted[i] = fab_item_at(t, i);
    qsort(sorted, (size_t)n, sizeof *sorted, by_offset);
    const fab_status s = check_tiles(file, sorted, n, data_size);
    fab_release(sorted);
    return s;
}

/* Point each tensor at its data, or at a straight copy of them. */
static fab_status point(fab_tensors *t, const char *file)
{
    for (int64_t i = 0; i < t->items.n; i++) {
        fab_item *it = fab_item_at(t, i);
        it->t.data = t->data + it->begin;
        if (it->begin % fab_tensor_width(it->t.type) == 0) continue;
        FAB_TRY(fab_alloc_array(&it->straight, it->end - it->begin, 1, file));
        memcpy(it->straight, t->data + it->begin, (size_t)(it->end - it->begin));
        it->t.data = it->straight;
    }
    return FAB_OK;
}

static fab_status take_length(fab_bytes *src, size_t *length)
{
    uint64_t said;
    if (src->size < FAB_TENSORS_LENGTH)
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: is cut short: it has %zu bytes and the header length takes %d",
                        src->name, src->size, FAB_TENSORS_LENGTH);
    FAB_TRY(fab_bytes_take(src, &said, FAB_TENSORS_LENGTH));
    if (said > FAB_TENSORS_HEADER_MAX)
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: a header length of %" PRIu64 " bytes is not believed; is this a "
                        "safetensors file?",
                        src->name, said);
    if (said > fab_bytes_left(src))
        return FAB_FAIL(FAB_BAD_FILE,
                        "%s: is cut short: a header length of %" PRIu64
                        " bytes and only %zu follow",
                        src->name, said, fab_bytes_left(src));
    *length = (size_t)said;
    return FAB_OK;
}

static fab_status take_header(fab_tensors *t, fab_bytes *src)
{
    size_t size = 0;
    char *text;
    FAB_TRY(take_length(src, &size));
    FAB_TRY(fab_alloc_array((void **)&text, (int64_t)size, 1, src->name));
    fab_status s = fab_bytes_take(src, text, size);
    if (s == FAB_OK) s = read_header(t, src->name, text, size, fab_bytes_left(src));
    fab_release(text);
    return s;
}

static fab_status take_all(fab_tensors *t, fab_bytes *src)
{
    FAB_TRY(take_header(t, src));
    const size_t size = fab_bytes_left(src);
    FAB_TRY(check_offsets(t, src->name, size));
    FAB_TRY(fab_alloc_array((void **)&t->data, (int64_t)size, 1, src->name));
    FAB_TRY(fab_bytes_take(src, t->data, size));
    return point(t, src->name);
}

static fab_status take_set(fab_tensors **t, fab_bytes *src)
{
    FAB_TRY(fab_tensors_create(t));
    const fab_status s = take_all(*t, src);
    if (s == FAB_OK) return s;
    fab_tensors_free(*t);
    *t = NULL;
    return s;
}

fab_status fab_tensors_read(fab_tensors **t, const char *path)
{
    fab_bytes src;
    *t = NULL;
    if (fab_is_index(path)) return fab_index_read(t, path);
    FAB_TRY(fab_bytes_open(&src, path));
    const fab_status s = take_set(t, &src);
    fab_bytes_close(&src);
    return s;
}

fab_status fab_tensors_parse(fab_tensors **t, const char *name, const void *bytes, size_t size)
{
    fab_bytes src = fab_bytes_memory(name, bytes, size);
    return take_set(t, &src);
}
