/* tensors_set.h - what the set of tensors is made of, for the files that build, read and write it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_TENSORS_SET_H
#define FAB_BASE_TENSORS_SET_H

#include "base/fail.h"
#include "fabayes/files.h"

/* In a file, the entry of the header that is no tensor, the bytes of the header's length, and the most
 * that length may be.  Most of a long header is one string, a scaling; of JSON values a tensor takes ten or so, and 2^18 of
 * them, 25,000 tensors, take some 25 MB to parse. */
#define FAB_METADATA "__metadata__"
enum {
    FAB_TENSORS_LENGTH = 8,
    FAB_TENSORS_HEADER_MAX = 100000000,
    FAB_TENSORS_VALUES_MAX = 1 << 18
};

typedef struct fab_item {
    fab_tensor t;
    int64_t begin, end; /* in the data of the file it was read from */
    void *straight;     /* the copy of data that lay crooked there, or NULL */
    char name[];
} fab_item;

typedef struct fab_entry {
    char *value;
    char key[]; /* and the value behind it */
} fab_entry;

/* Elements never move once they are in: what is lent stays good. */
typedef struct fab_list {
    void **p;
    int64_t n, room;
} fab_list;

struct fab_tensors {
    fab_list items;   /* of fab_item */
    fab_list entries; /* of fab_entry */
    char *data;       /* of the file; NULL in a set that was not read */
};

fab_item *fab_item_at(const fab_tensors *t, int64_t i);
fab_entry *fab_entry_at(const fab_tensors *t, int64_t i);

/* Add one at the end, unchecked; the item is cleared but for its name. */
fab_status fab_item_push(fab_tensors *t, const char *name, fab_item **made);
fab_status fab_entry_push(fab_tensors *t, const char *key, const char *value);

/* The name of a type in a file, "F64", or NULL; and back, 0 when there is no such type. */
const char *fab_tensor_dtype(fab_dtype type);
int fab_tensor_find_dtype(const char *name, fab_dtype *type);

/* Bytes of an element; of a whole tensor, -1 when they are not an int64_t. */
int64_t fab_tensor_width(fab_dtype type);
int64_t fab_tensor_bytes(const fab_tensor *t);

#endif
