/* tensors_shards.h - a set of tensors in several files, and the index of them that safetensors users know.
 *
 * Shard number i of n (from 1), NAME-0000i-of-0000n.safetensors, has part i of a tensor X under the name X.0000i; the
 * parts are joined along the first dimension.  The index NAME.safetensors.index.json says which file has which:
 *
 *     {"metadata": {"key": "value", ...}, "weight_map": {"F.00001": "NAME-00001-of-00004.safetensors", ...}}
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_TENSORS_SHARDS_H
#define FAB_BASE_TENSORS_SHARDS_H

#include "base/fail.h"
#include "fabayes/files.h"

#define FAB_INDEX_END ".safetensors.index.json"
/* The metadata that shards and their index must have alike, or they are not of one fit. */
#define FAB_SHARDS_CHECK "shards_check"
enum { FAB_SHARDS_MOST = 99999 };

/* Is that the name of an index? */
int fab_is_index(const char *path);
/* The name of shard `number` of `all`, for that of the index; its folder stays in front where `folder` says so.  Gives *name:
 * fab_text_free. */
fab_status fab_shard_name(const char *index, int64_t number, int64_t all, int folder, char **name);
/* Write the index of shards that have these tensors each; metadata as in t. */
fab_status fab_index_write(const fab_tensors *t, const char *const *tensor, int64_t tensors,
                           int64_t all, const char *path);
/* The joined tensors, with the metadata of the index. */
fab_status fab_index_read(fab_tensors **t, const char *path);

#endif
