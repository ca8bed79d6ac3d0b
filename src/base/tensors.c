/* tensors.c - a set of named arrays and metadata strings.
 *
 * SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/bytes.h"
#include "base/tensors_set.h"
#include "base/text.h"
#include <string.h>

static const struct {
    fab_dtype type;
    const char *name;
} dtypes[] = {{FAB_F64, "F64"}, {FAB_F32, "F32"}, {FAB_I64, "I64"}};
enum { DTYPES = sizeof dtypes / sizeof *dtypes };

fab_item *fab_item_at(const fab_tensors *t, int64_t i)
{
    return t->items.p[i];
}

fab_entry *fab_entry_at(const fab_tensors *t, int64_t i)
{
    return t->entries.p[i];
}

/* Room for one more, so that the push itself cannot fail. */
static fab_status reserve(fab_list *l)
{
    if (l->n < l->room) return FAB_OK;
    const int64_t room = 2 * l->room + 8;
    void **p;
    FAB_TRY(fab_alloc_array((void **)&p, room, sizeof *p, "tensors"));
    if (l->n) memcpy(p, l->p, (size_t)l->n * sizeof *p);
    fab_release(l->p);
    l->p = p;
    l->room = room;
    return FAB_OK;
}

const char *fab_tensor_dtype(fab_dtype type)
{
    for (int i = 0; i < DTYPES; i++)
        if (dtypes[i].type == type) return dtypes[i].name;
    return NULL;
}

int fab_tensor_find_dtype(const char *name, fab_dtype *type)
{
    for (int i = 0; i < DTYPES; i++) {
        if (strcmp(dtypes[i].name, name) != 0) continue;
        *type = dtypes[i].type;
        return 1;
    }
    return 0;
}

int64_t fab_tensor_width(fab_dtype type)
{
    return type == FAB_F32 ? 4 : 8;
}

int64_t fab_tensor_bytes(const fab_tensor *t)
{
    int64_t bytes = fab_tensor_width(t->type);
    for (int i = 0; i < t->ndim; i++)
        if (t->shape[i] < 0 || __builtin_mul_overflow(bytes, t->shape[i], &bytes)) return -1;
    return bytes;
}

fab_status fab_item_push(fab_tensors *t, const char *name, fab_item **made)
{
    const size_t size = strlen(name) + 1;
    FAB_TRY(reserve(&t->items));
    FAB_TRY(fab_alloc_array((void **)made, (int64_t)(sizeof **made + size), 1, "tensors"));
    memset(*made, 0, sizeof **made);
    memcpy((*made)->name, name, size);
    (*made)->t.name = (*made)->name;
    t->items.p[t->items.n++] = *made;
    return FAB_OK;
}

static fab_status make_entry(fab_entry **made, const char *key, const char *value)
{
    const size_t key_size = strlen(key) + 1, value_size = strlen(value) + 1;
    FAB_TRY(fab_alloc_array((void **)made, (int64_t)(sizeof **made + key_size + value_size), 1,
                            "tensors"));
    (*made)->value = (*made)->key + key_size;
    memcpy((*made)->key, key, key_size);
    memcpy((*made)->value, value, value_size);
    return FAB_OK;
}

fab_status fab_entry_push(fab_tensors *t, const char *key, const char *value)
{
    fab_entry *made;
    FAB_TRY(reserve(&t->entries));
    FAB_TRY(make_entry(&made, key, value));
    t->entries.p[t->entries.n++] = made;
    return FAB_OK;
}

fab_status fab_tensors_create(fab_tensors **t)
{
    FAB_TRY(fab_alloc_array((void **)t, 1, sizeof **t, "tensors"));
    memset(*t, 0, sizeof **t);
    return FAB_OK;
}

void fab_tensors_free(fab_tensors *t)
{
    if (!t) return;
    for (int64_t i = 0; i < t->items.n; i++) {
        fab_release(fab_item_at(t, i)->straight);
        fab_release(fab_item_at(t, i));
    }
    for (int64_t i = 0; i < t->entries.n; i++) fab_release(fab_entry_at(t, i));
    fab_release(t->items.p);
    fab_release(t->entries.p);
    fab_release(t->data);
    fab_release(t);
}

static fab_status check_utf8(const char *what, const char *text)
{
    char shown[FAB_SHOWN];
    if (fab_text_is_utf8(text)) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT, "%s '%s' is not UTF-8", what,
                    fab_show(shown, text, strlen(text)));
}

static fab_status check_name(const fab_tensors *t, const char *name)
{
    char shown[FAB_SHOWN];
    if (!name || !*name) return FAB_FAIL(FAB_BAD_ARGUMENT, "a tensor has an empty name");
    if (strcmp(name, FAB_METADATA) == 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "a tensor cannot be named '%s'", FAB_METADATA);
    FAB_TRY(check_utf8("the tensor name", name));
    if (fab_tensors_find(t, name))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "tensor '%s' is there already",
                        fab_show(shown, name, strlen(name)));
    return FAB_OK;
}

static fab_status check_tensor(const fab_tensor *x)
{
    char shown[FAB_SHOWN];
    fab_show(shown, x->name, strlen(x->name));
    if (!fab_tensor_dtype(x->type))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "tensor '%s': its type is not f64, f32 or i64", shown);
    const int64_t bytes = fab_tensor_bytes(x);
    if (bytes < 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "tensor '%s': its shape is negative or too large", shown);
    if (!x->data && bytes > 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "tensor '%s': its data are NULL", shown);
    return FAB_OK;
}

fab_status fab_tensors_add(fab_tensors *t, const char *name, fab_dtype type, int ndim,
                           const int64_t *shape, const void *data)
{
    fab_item *it;
    fab_tensor x = {.name = name, .type = type, .ndim = ndim, .data = data};
    FAB_TRY(check_name(t, name));
    if (ndim < 0 || ndim > FAB_MAX_DIMS)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "a tensor has %d dimensions, outside [0, %d]", ndim,
                        FAB_MAX_DIMS);
    if (ndim > 0) memcpy(x.shape, shape, (size_t)ndim * sizeof *shape);
    FAB_TRY(check_tensor(&x));
    FAB_TRY(fab_item_push(t, name, &it));
    x.name = it->name;
    it->t = x;
    return FAB_OK;
}

fab_status fab_tensors_set(fab_tensors *t, const char *key, const char *value)
{
    if (!key || !value) return FAB_FAIL(FAB_BAD_ARGUMENT, "a metadata key or value is NULL");
    FAB_TRY(check_utf8("the metadata key", key));
    FAB_TRY(check_utf8("the metadata value", value));
    int64_t i = 0;
    while (i < t->entries.n && strcmp(fab_entry_at(t, i)->key, key) != 0) i++;
    if (i == t->entries.n) return fab_entry_push(t, key, value);
    fab_entry *made;
    FAB_TRY(make_entry(&made, key, value));
    fab_release(fab_entry_at(t, i));
    t->entries.p[i] = made;
    return FAB_OK;
}

const fab_tensor *fab_tensors_find(const fab_tensors *t, const char *name)
{
    for (int64_t i = 0; i < t->items.n; i++)
        if (strcmp(fab_item_at(t, i)->name, name) == 0) return &fab_item_at(t, i)->t;
    return NULL;
}

const char *fab_tensors_get(const fab_tensors *t, const char *key)
{
    for (int64_t i = 0; i < t->entries.n; i++)
        if (strcmp(fab_entry_at(t, i)->key, key) == 0) return fab_entry_at(t, i)->value;
    return NULL;
}

int64_t fab_tensors_count(const fab_tensors *t)
{
    return t->items.n;
}

const fab_tensor *fab_tensors_at(const fab_tensors *t, int64_t i)
{
    return i >= 0 && i < t->items.n ? &fab_item_at(t, i)->t : NULL;
}

int64_t fab_tensors_meta_count(const fab_tensors *t)
{
    return t->entries.n;
}

const char *fab_tensors_meta_key(const fab_tensors *t, int64_t i)
{
    return i >= 0 && i < t->entries.n ? fab_entry_at(t, i)->key : NULL;
}
