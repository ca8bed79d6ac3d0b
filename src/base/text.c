/* text.c - strings that grow, and numbers that read back to the same bits.
 *
 * SPDX-License-Identifier: MIT */
#include "base/text.h"
#include "base/memory.h"
#include "fabayes/settings.h"
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Room for `more` further characters and the end mark. */
static int reserve(fab_text *t, size_t more)
{
    if (t->used + more + 1 <= t->room) return 1;
    const size_t room = 2 * (t->used + more + 1) + 256;
    char *p = t->failed ? NULL : fab_alloc(room);
    if (!p) {
        t->failed = 1;
        return 0;
    }
    if (t->p) memcpy(p, t->p, t->used + 1);
    fab_release(t->p);
    t->p = p;
    t->room = room;
    return 1;
}

void fab_text_add(fab_text *t, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n >= 0 && reserve(t, (size_t)n)) {
        vsnprintf(t->p + t->used, (size_t)n + 1, format, again);
        t->used += (size_t)n;
    }
    va_end(again);
}

void fab_text_add_json(fab_text *t, const char *s)
{
    fab_text_add(t, "\"");
    for (; *s; s++) {
        const unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            fab_text_add(t, "\\%c", c);
        else if (c < 0x20)
            fab_text_add(t, "\\u%04x", c);
        else
            fab_text_add(t, "%c", c);
    }
    fab_text_add(t, "\"");
}

int fab_text_is_utf8(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    while (*p) {
        uint32_t c = *p++;
        if (c < 0x80) continue;
        if (c < 0xC2 || c > 0xF4) return 0;
        const int more = 1 + (c >= 0xE0) + (c >= 0xF0); /* bytes that follow */
        c &= 0x3Fu >> more;
        for (int i = 0; i < more; i++, p++) {
            if ((*p & 0xC0) != 0x80) return 0;
            c = c << 6 | (*p & 0x3F);
        }
        static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
        if (c < least[more] || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 0;
    }
    return 1;
}

fab_status fab_text_give(fab_text *t, char **text)
{
    *text = NULL;
    fab_text_add(t, "%s", ""); /* an empty string is a string */
    if (t->failed) {
        fab_release(t->p);
        return FAB_FAIL(FAB_NO_MEMORY, "text: cannot allocate");
    }
    *text = t->p;
    return FAB_OK;
}

void fab_text_free(char *text)
{
    fab_release(text);
}

int fab_print_double(char *buf, size_t size, double x)
{
    char text[32]; /* whole, whatever the room in buf */
    if (x == 0 && signbit(x))
        return snprintf(buf, size, "-0.0"); /* "-0" is a whole number in JSON */
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtod(text, NULL) == x) break;
    }
    return snprintf(buf, size, "%s", text);
}
