/* tensors_write.c - a set of tensors into a safetensors file.
 *
 * The header keeps the order in which things were added and is filled up with spaces, so that the data
 * start at a multiple of 64 bytes.  The data of the 8-byte types come first and those of the 4-byte type
 * after them, so that every array lies aligned in the file, and so in the memory of who maps it.
 *
 * SPDX-License-Identifier: MIT */
#include "base/atomic_file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/tensors_set.h"
#include <inttypes.h>
#include <string.h>

enum { DATA_ALIGN = 64 };

/* The order of the data in the file: the wide types, then the narrow one. */
static const int64_t widths[] = {8, 4};

static int64_t width_of(const fab_item *it)
{
    return fab_tensor_width(it->t.type);
}

static int64_t bytes_of(const fab_item *it)
{
    return fab_tensor_bytes(&it->t);
}

/* Where the data of each width start in the file, and where all end; 0 when that overflows. */
static int start_widths(const fab_tensors *t, int64_t start[2], int64_t *end)
{
    *end = 0;
    for (int w = 0; w < 2; w++) {
        start[w] = *end;
        for (int64_t i = 0; i < t->items.n; i++)
            if (width_of(fab_item_at(t, i)) == widths[w] &&
                __builtin_add_overflow(*end, bytes_of(fab_item_at(t, i)), end))
                return 0;
    }
    return 1;
}

/* Every call below gives NULL or fails when jansson finds no memory. */
static json_t *describe(const fab_item *it, int64_t begin)
{
    json_t *shape = json_array();
    for (int i = 0; i < it->t.ndim; i++) {
        if (json_array_append_new(shape, json_integer(it->t.shape[i])) == 0) continue;
        json_decref(shape);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:[I, I]}", "dtype", fab_tensor_dtype(it->t.type), "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)begin + bytes_of(it));
}

static int describe_metadata(const fab_tensors *t, json_t *root)
{
    if (t->entries.n == 0) return 0;
    json_t *object = json_object();
    int failed = json_object_set_new(root, FAB_METADATA, object);
    for (int64_t i = 0; i < t->entries.n && !failed; i++)
        failed = json_object_set_new(object, fab_entry_at(t, i)->key,
                                     json_string(fab_entry_at(t, i)->value));
    return failed;
}

static int describe_all(const fab_tensors *t, const int64_t start[2], json_t *root)
{
    int64_t next[2] = {start[0], start[1]};
    int failed = describe_metadata(t, root);
    for (int64_t i = 0; i < t->items.n && !failed; i++) {
        const fab_item *it = fab_item_at(t, i);
        int64_t *begin = &next[width_of(it) == widths[1]];
        failed = json_object_set_new(root, it->name, describe(it, *begin));
        *begin += bytes_of(it);
    }
    return failed;
}

/* Length and text of the header in one block, padded so that the data start at a multiple of 64. */
static fab_status print_header(const json_t *root, const char *path, char **head, size_t *size)
{
    const int64_t before = fab_json_failures();
    const size_t text = json_dumpb(root, NULL, 0, JSON_COMPACT);
    *size = (FAB_TENSORS_LENGTH + text + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN;
    if (text == 0 || fab_json_failures() != before)
        return FAB_FAIL(FAB_NO_MEMORY, "%s: cannot allocate the header", path);
    if (*size - FAB_TENSORS_LENGTH > FAB_TENSORS_HEADER_MAX)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: names and metadata take %zu bytes, more than %d",
                        path, text, FAB_TENSORS_HEADER_MAX);
    FAB_TRY(fab_alloc_array((void **)head, (int64_t)*size, 1, path));
    const uint64_t length = *size - FAB_TENSORS_LENGTH;
    memcpy(*head, &length, FAB_TENSORS_LENGTH);
    memset(*head + FAB_TENSORS_LENGTH, ' ', length);
    if (json_dumpb(root, *head + FAB_TENSORS_LENGTH, text, JSON_COMPACT) == text &&
        fab_json_failures() == before)
        return FAB_OK;
    fab_release(*head);
    *head = NULL;
    return FAB_FAIL(FAB_NO_MEMORY, "%s: cannot allocate the header", path);
}

static fab_status make_header(const fab_tensors *t, const char *path, char **head, size_t *size)
{
    int64_t start[2], end;
    if (!start_widths(t, start, &end))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "%s: the tensors are too large", path);
    const int64_t before = fab_json_failures();
    json_t *root = json_object();
    const int failed = !root || describe_all(t, start, root) || fab_json_failures() != before;
    const fab_status s = failed ? FAB_FAIL(FAB_NO_MEMORY, "%s: cannot allocate the header", path)
                                : print_header(root, path, head, size);
    json_decref(root);
    return s;
}

static fab_status write_data(const fab_tensors *t, fab_atomic_file *f)
{
    for (int w = 0; w < 2; w++)
        for (int64_t i = 0; i < t->items.n; i++)
            if (width_of(fab_item_at(t, i)) == widths[w])
                FAB_TRY(fab_atomic_write(f, fab_item_at(t, i)->t.data,
                                         (size_t)bytes_of(fab_item_at(t, i))));
    return FAB_OK;
}

fab_status fab_tensors_pack(const fab_tensors *t, void **bytes, size_t *size)
{
    char *head, *all;
    size_t used = 0;
    *bytes = NULL;
    *size = 0;
    FAB_TRY(make_header(t, "a file in memory", &head, &used));
    int64_t total = (int64_t)used;
    for (int64_t i = 0; i < t->items.n; i++) total += bytes_of(fab_item_at(t, i));
    const fab_status s = fab_alloc_array((void **)&all, total, 1, "a file in memory");
    if (s == FAB_OK) {
        memcpy(all, head, used);
        for (int w = 0; w < 2; w++)
            for (int64_t i = 0; i < t->items.n; i++) {
                const fab_item *it = fab_item_at(t, i);
                if (width_of(it) != widths[w]) continue;
                memcpy(all + used, it->t.data, (size_t)bytes_of(it));
                used += (size_t)bytes_of(it);
            }
        *bytes = all;
        *size = used;
    }
    fab_release(head);
    return s;
}

void fab_bytes_free(void *bytes)
{
    fab_release(bytes);
}

fab_status fab_tensors_write(const fab_tensors *t, const char *path)
{
    fab_atomic_file f = {0};
    char *head;
    size_t size = 0;
    FAB_TRY(make_header(t, path, &head, &size));
    fab_status s = fab_atomic_open(&f, path);
    if (s == FAB_OK) s = fab_atomic_write(&f, head, size);
    if (s == FAB_OK) s = write_data(t, &f);
    if (s == FAB_OK)
        s = fab_atomic_commit(&f);
    else
        fab_atomic_discard(&f);
    fab_release(head);
    return s;
}
