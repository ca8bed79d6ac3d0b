/* json.c - one value of a JSON text.
 *
 * SPDX-License-Identifier: MIT */
#include "base/json.h"
#include <jansson.h>
#include <string.h>

int fab_json_is(const char *json, const char *key, const char *value)
{
    json_t *j = json ? json_loads(json, 0, NULL) : NULL;
    const char *text = json_string_value(json_object_get(j, key));
    const int same = text && strcmp(text, value) == 0;
    json_decref(j);
    return same;
}
