/* tensors_shards.c - a set of tensors in several files and their index.
 *
 * SPDX-License-Identifier: MIT */
#include "base/tensors_shards.h"
#include "base/atomic_file.h"
#include "base/bytes.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/tensors_set.h"
#include "base/text.h"
#include "fabayes/settings.h"
#include <string.h>

enum { INDEX_BYTES_MAX = 1 << 28, DIGITS = 5 };

/* ---- names ----------------------------------------------------------------------------------- */

int fab_is_index(const char *path)
{
    const size_t n = strlen(path), end = strlen(FAB_INDEX_END);
    return n > end && strcmp(path + n - end, FAB_INDEX_END) == 0;
}

fab_status fab_shard_name(const char *index, int64_t number, int64_t all, int folder, char **name)
{
    fab_text text = {0};
    const char *slash = strrchr(index, '/'), *from = slash && !folder ? slash + 1 : index;
    const int stem = (int)(strlen(from) - strlen(FAB_INDEX_END));
    fab_text_add(&text, "%.*s-%05lld-of-%05lld.safetensors", stem, from, (long long)number,
                 (long long)all);
    return fab_text_give(&text, name);
}

/* ---- out ------------------------------------------------------------------------------------- */

static void add_entries(fab_text *text, const fab_tensors *t)
{
    for (int64_t i = 0; i < fab_tensors_meta_count(t); i++) {
        const char *key = fab_tensors_meta_key(t, i);
        fab_text_add(text, i ? ", " : "");
        fab_text_add_json(text, key);
        fab_text_add(text, ": ");
        fab_text_add_json(text, fab_tensors_get(t, key));
    }
}

fab_status fab_index_write(const fab_tensors *t, const char *const *tensor, int64_t tensors,
                           int64_t all, const char *path)
{
    fab_text text = {0};
    fab_atomic_file f = {0};
    char *index;
    fab_text_add(&text, "{\"metadata\": {");
    add_entries(&text, t);
    fab_text_add(&text, "}, \"weight_map\": {");
    for (int64_t i = 1; i <= all; i++) {
        char *file;
        if (fab_shard_name(path, i, all, 0, &file) != FAB_OK) {
            text.failed = 1;
            break;
        }
        for (int64_t k = 0; k < tensors; k++) {
            fab_text_add(&text, "%s\n  \"%s.%05lld\": ", i > 1 || k ? "," : "", tensor[k],
                         (long long)i);
            fab_text_add_json(&text, file);
        }
        fab_text_free(file);
    }
    fab_text_add(&text, "\n}}\n");
    FAB_TRY(fab_text_give(&text, &index));
    fab_status s = fab_atomic_open(&f, path);
    if (s == FAB_OK) s = fab_atomic_write(&f, index, strlen(index));
    if (s == FAB_OK)
        s = fab_atomic_commit(&f);
    else
        fab_atomic_discard(&f);
    fab_text_free(index);
    return s;
}

/* ---- in -------------------------------------------------------------------------------------- */

static fab_status read_text(const char *path, json_t **root)
{
    fab_bytes src;
    char *text;
    FAB_TRY(fab_bytes_open(&src, path));
    const size_t n = fab_bytes_left(&src);
    fab_status s = n <= INDEX_BYTES_MAX
                       ? fab_alloc_array((void **)&text, (int64_t)n + 1, 1, path)
                       : FAB_FAIL(FAB_BAD_FILE, "%s: is too long for an index", path);
    if (s == FAB_OK) {
        s = fab_bytes_take(&src, text, n);
        if (s == FAB_OK) {
            s = fab_json_read(root, text, n, FAB_TENSORS_VALUES_MAX);
            if (s != FAB_OK) s = fab_prefix(s, "%s: ", path);
        }
        fab_release(text);
    }
    fab_bytes_close(&src);
    return s;
}

static fab_status read_entries(fab_tensors *t, const char *path, const json_t *object)
{
    const char *key;
    json_t *value;
    if (object && !json_is_object(object))
        return FAB_FAIL(FAB_BAD_FILE, "%s: its metadata is not an object", path);
    json_object_foreach((json_t *)object, key, value) if (json_is_string(value))
        FAB_TRY(fab_entry_push(t, key, json_string_value(value)));
    if (fab_tensors_get(t, FAB_SHARDS_CHECK)) return FAB_OK;
    return FAB_FAIL(FAB_BAD_FILE,
                    "%s: its metadata has no '%s': this is not an index of shards of a posterior",
                    path, FAB_SHARDS_CHECK);
}

/* "F.00003" -> 3, and the length of "F"; 0: it is no such name. */
static int64_t number_of(const char *name, size_t *stem)
{
    const size_t n = strlen(name);
    int64_t number = 0;
    if (n < DIGITS + 2 || name[n - DIGITS - 1] != '.') return 0;
    for (size_t i = n - DIGITS; i < n; i++) {
        if (name[i] < '0' || name[i] > '9') return 0;
        number = 10 * number + (name[i] - '0');
    }
    *stem = n - DIGITS - 1;
    return number;
}

/* How many shards there are; each tensor is in the file that has its number. */
static fab_status count_shards(const char *path, const json_t *map, int64_t *all)
{
    const char *key;
    json_t *value;
    size_t stem;
    char shown[FAB_SHOWN];
    *all = 0;
    json_object_foreach((json_t *)map, key, value)
    {
        const int64_t number = number_of(key, &stem);
        if (number > *all) *all = number;
    }
    if (*all == 0) return FAB_FAIL(FAB_BAD_FILE, "%s: its weight_map names no shard", path);
    json_object_foreach((json_t *)map, key, value)
    {
        char *file;
        const int64_t number = number_of(key, &stem);
        fab_show(shown, key, strlen(key));
        if (number == 0)
            return FAB_FAIL(FAB_BAD_FILE, "%s: '%s' is not a part of a tensor, as F.00001 is", path,
                            shown);
        FAB_TRY(fab_shard_name(path, number, *all, 0, &file));
        const int same = json_is_string(value) && strcmp(json_string_value(value), file) == 0;
        fab_text_free(file);
        if (!same)
            return FAB_FAIL(FAB_BAD_FILE, "%s: '%s' is not in the shard of its number and name",
                            path, shown);
    }
    return FAB_OK;
}

static fab_status read_shards(const char *path, const fab_tensors *t, fab_tensors **shard,
                              int64_t all)
{
    const char *check = fab_tensors_get(t, FAB_SHARDS_CHECK);
    for (int64_t i = 0; i < all; i++) {
        char *file;
        FAB_TRY(fab_shard_name(path, i + 1, all, 1, &file));
        fab_status s = fab_tensors_read(&shard[i], file);
        const char *own = s == FAB_OK ? fab_tensors_get(shard[i], FAB_SHARDS_CHECK) : NULL;
        if (s == FAB_OK && (!own || strcmp(own, check) != 0))
            s = FAB_FAIL(FAB_BAD_FILE, "%s: is not of the fit that %s is of", file, path);
        fab_text_free(file);
        FAB_TRY(s);
    }
    return FAB_OK;
}

/* Part `number` of the tensor x, whose name is that of part 1; a sentence where it is absent or of another kind. */
static fab_status find_part(const char *path, const fab_tensors *shard, const fab_tensor *x,
                            size_t stem, int64_t number, const fab_tensor **part)
{
    fab_text text = {0};
    char *name, shown[FAB_SHOWN];
    fab_text_add(&text, "%.*s.%05lld", (int)stem, x->name, (long long)number);
    FAB_TRY(fab_text_give(&text, &name));
    *part = fab_tensors_find(shard, name);
    fab_show(shown, name, strlen(name));
    fab_text_free(name);
    if (!*part) return FAB_FAIL(FAB_BAD_FILE, "%s: there is no tensor '%s'", path, shown);
    int same = (*part)->type == x->type && (*part)->ndim == x->ndim && x->ndim > 0;
    for (int k = 1; k < x->ndim && same; k++) same = (*part)->shape[k] == x->shape[k];
    if (same) return FAB_OK;
    return FAB_FAIL(FAB_BAD_FILE, "%s: tensor '%s' has another type or shape than '%s'", path,
                    shown, x->name);
}

static fab_status join(fab_tensors *t, const char *path, fab_tensors *const *shard, int64_t all,
                       const fab_tensor *x)
{
    size_t stem = 0;
    char shown[FAB_SHOWN], *name;
    int64_t rows = 0, bytes = 0;
    fab_item *it;
    const fab_tensor *part;
    fab_show(shown, x->name, strlen(x->name));
    if (number_of(x->name, &stem) != 1)
        return FAB_FAIL(FAB_BAD_FILE, "%s: tensor '%s' of the first shard is not a first part",
                        path, shown);
    for (int64_t i = 0; i < all; i++) {
        FAB_TRY(find_part(path, shard[i], x, stem, i + 1, &part));
        if (__builtin_add_overflow(rows, part->shape[0], &rows) ||
            __builtin_add_overflow(bytes, fab_tensor_bytes(part), &bytes))
            return FAB_FAIL(FAB_BAD_FILE, "%s: tensor '%s' is too large", path, shown);
    }
    fab_text text = {0};
    fab_text_add(&text, "%.*s", (int)stem, x->name);
    FAB_TRY(fab_text_give(&text, &name));
    const fab_status s = fab_item_push(t, name, &it);
    fab_text_free(name);
    FAB_TRY(s);
    it->t.type = x->type;
    it->t.ndim = x->ndim;
    memcpy(it->t.shape, x->shape, sizeof x->shape);
    it->t.shape[0] = rows;
    FAB_TRY(fab_alloc_array(&it->straight, bytes, 1, path));
    it->t.data = it->straight;
    for (int64_t i = 0, at = 0; i < all; i++) {
        FAB_TRY(find_part(path, shard[i], x, stem, i + 1, &part));
        const int64_t n = fab_tensor_bytes(part);
        if (n) memcpy((char *)it->straight + at, part->data, (size_t)n);
        at += n;
    }
    return FAB_OK;
}

static fab_status read_all(fab_tensors *t, const char *path, const json_t *root)
{
    const json_t *map = json_object_get(root, "weight_map");
    fab_tensors **shard;
    int64_t all;
    if (!json_is_object(map))
        return FAB_FAIL(FAB_BAD_FILE, "%s: has no object 'weight_map': this is no index", path);
    FAB_TRY(read_entries(t, path, json_object_get(root, "metadata")));
    FAB_TRY(count_shards(path, map, &all));
    FAB_TRY(fab_alloc_array((void **)&shard, all, sizeof *shard, path));
    memset(shard, 0, (size_t)all * sizeof *shard);
    fab_status s = read_shards(path, t, shard, all);
    for (int64_t i = 0; s == FAB_OK && i < fab_tensors_count(shard[0]); i++)
        s = join(t, path, shard, all, fab_tensors_at(shard[0], i));
    for (int64_t i = 0; i < all; i++) fab_tensors_free(shard[i]);
    fab_release(shard);
    return s;
}

fab_status fab_index_read(fab_tensors **t, const char *path)
{
    json_t *root = NULL;
    *t = NULL;
    FAB_TRY(read_text(path, &root));
    fab_status s = fab_tensors_create(t);
    if (s == FAB_OK) s = read_all(*t, path, root);
    json_decref(root);
    if (s == FAB_OK) return FAB_OK;
    fab_tensors_free(*t);
    *t = NULL;
    return s;
}
