/* json.h - one value of a JSON text.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_BASE_JSON_H
#define FAB_BASE_JSON_H

/* Is `json` an object whose string at `key` is `value`?  NULL and texts that are no JSON: 0. */
int fab_json_is(const char *json, const char *key, const char *value);

#endif
