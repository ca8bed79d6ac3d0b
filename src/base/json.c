/* json.c - JSON texts read with jansson, and the memory that jansson takes.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "base/json.h"
#include "base/bytes.h"
#include <math.h>
#include <pthread.h>
#include <string.h>

/* ---- memory ------------------------------------------------------------------------------------------ */

/* What helps out.  A number of up to FAB_JSON_NUMBER_MAX characters must fit several times: the buffer it is collected in doubles. */
enum { RESERVE = 1 << 16, ALIGN = 16 };

static struct {
    pthread_mutex_t lock;
    size_t used;
    int64_t held; /* pieces in use; with the last one the reserve is empty again */
    _Alignas(ALIGN) char bytes[RESERVE];
} reserve = {.lock = PTHREAD_MUTEX_INITIALIZER};

static json_malloc_t below_malloc;
static json_free_t below_free;
static _Thread_local int64_t failures;

static void *take(size_t n)
{
    void *p = below_malloc(n);
    if (p) return p;
    failures++;
    pthread_mutex_lock(&reserve.lock);
    if (n <= RESERVE - reserve.used) {
        p = reserve.bytes + reserve.used;
        reserve.used += (n + ALIGN - 1) / ALIGN * ALIGN;
        reserve.held++;
    }
    pthread_mutex_unlock(&reserve.lock);
    return p;
}

static void give(void *p)
{
    const uintptr_t at = (uintptr_t)p, first = (uintptr_t)reserve.bytes;
    if (at < first || at >= first + RESERVE) {
        below_free(p);
        return;
    }
    pthread_mutex_lock(&reserve.lock);
    if (--reserve.held == 0) reserve.used = 0;
    pthread_mutex_unlock(&reserve.lock);
}

static void set_allocator(void)
{
    json_get_alloc_funcs(&below_malloc, &below_free);
    json_set_alloc_funcs(take, give);
}

int64_t fab_json_failures(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_allocator);
    return failures;
}

/* ---- parsing ----------------------------------------------------------------------------------------- */

/* Count values and measure numbers before any memory is taken: a comma, a colon or a bracket outside strings announces a value. */
static fab_status check_limits(const char *text, size_t n, int64_t values_max)
{
    int64_t values = 1, digits = 0;
    for (size_t i = 0; i < n; i++) {
        const char c = text[i];
        if (c == '"') {
            for (i++; i < n && text[i] != '"'; i++)
                if (text[i] == '\\') i++;
        }
        values += c == ',' || c == ':' || c == '[' || c == '{';
        digits = (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E'
                     ? digits + 1
                     : 0;
        if (digits > FAB_JSON_NUMBER_MAX)
            return FAB_FAIL(FAB_BAD_FILE, "has a number of more than %d characters",
                            FAB_JSON_NUMBER_MAX);
    }
    if (values > values_max)
        return FAB_FAIL(FAB_BAD_FILE, "has %lld values, more than the %lld that are read",
                        (long long)values, (long long)values_max);
    return FAB_OK;
}

fab_status fab_json_read(json_t **o, const char *text, size_t n, int64_t values_max)
{
    char shown[FAB_SHOWN];
    json_error_t error = {0};
    *o = NULL;
    FAB_TRY(check_limits(text, n, values_max));
    const int64_t before = fab_json_failures();
    json_t *made = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    if (fab_json_failures() != before) {
        json_decref(made);
        return FAB_FAIL(FAB_NO_MEMORY, "takes more memory than there is");
    }
    if (!made)
        return FAB_FAIL(FAB_BAD_FILE, "%s: %s",
                        json_error_code(&error) == json_error_duplicate_key ? "names a thing twice"
                                                                            : "is not JSON",
                        fab_show(shown, error.text, strlen(error.text)));
    *o = made;
    return FAB_OK;
}

fab_status fab_json_read_string(json_t **o, const char *what, const char *json)
{
    if (!json) json = "";
    const fab_status s = fab_json_read(o, json, strlen(json), FAB_JSON_VALUES_MAX);
    return s == FAB_OK ? s : fab_prefix(s, "%s: this ", what);
}

/* ---- single values ----------------------------------------------------------------------------------- */

/* Behind the string that begins at p, or NULL where it does not end. */
static const char *behind_string(const char *p)
{
    for (p++; *p && *p != '"'; p++)
        if (*p == '\\' && p[1]) p++;
    return *p ? p + 1 : NULL;
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

/* Does the string at p, quotes and all, say `text`?  Ours have no escapes. */
static int says(const char *p, const char *text)
{
    const size_t n = strlen(text);
    return *p == '"' && strncmp(p + 1, text, n) == 0 && p[n + 1] == '"';
}

int fab_json_is(const char *json, const char *key, const char *value)
{
    int depth = 0;
    for (const char *p = json; p && *p;) {
        if (*p == '"') {
            const char *after = behind_string(p);
            const char *colon = after ? skip_blanks(after) : NULL;
            if (depth == 1 && colon && *colon == ':' && says(p, key))
                return says(skip_blanks(colon + 1), value);
            p = after;
            continue;
        }
        depth += (*p == '{' || *p == '[') - (*p == '}' || *p == ']');
        p++;
    }
    return 0;
}

static int64_t take_numbers(const json_t *v, double *x, int64_t most)
{
    const int64_t n = json_is_array(v) ? (int64_t)json_array_size(v) : 1;
    for (int64_t i = 0; i < n; i++) {
        const json_t *one = json_is_array(v) ? json_array_get(v, (size_t)i) : v;
        if (!json_is_number(one)) return -1;
        if (i < most) x[i] = json_number_value(one);
    }
    return n;
}

int64_t fab_json_numbers(const char *json, const char *key, double *x, int64_t most)
{
    json_t *o;
    if (fab_json_read_string(&o, key, json) != FAB_OK) return -1;
    const json_t *v = json_object_get(o, key);
    const int64_t n = v ? take_numbers(v, x, most) : 0;
    json_decref(o);
    return n;
}

fab_status fab_json_number_or_nan(const char *json, const char *key, double *x)
{
    json_t *o;
    *x = NAN;
    if (!json) return FAB_OK;
    const fab_status s = fab_json_read_string(&o, key, json);
    if (s == FAB_NO_MEMORY) return s;
    if (s != FAB_OK) return FAB_OK;
    const json_t *v = json_object_get(o, key);
    if (json_is_number(v) && isfinite(json_number_value(v))) *x = json_number_value(v);
    json_decref(o);
    return FAB_OK;
}
