/* status.c - what failed and why, per thread.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "base/fail.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local fab_sentence said;

const char *fab_strerror(fab_status s)
{
    static const char *const phrase[] = {
        [FAB_OK] = "done",
        [FAB_BAD_ARGUMENT] = "bad argument",
        [FAB_BAD_DATA] = "bad data",
        [FAB_BAD_FILE] = "bad file",
        [FAB_NO_MEMORY] = "out of memory",
        [FAB_NUMERIC] = "numerical failure",
        [FAB_UNSUPPORTED] = "not supported",
        [FAB_STOPPED] = "stopped on request",
        [FAB_MISSING_VALUE] = "a missing value",
    };
    const int known = (int)s >= 0 && (size_t)s < sizeof phrase / sizeof *phrase;
    return known ? phrase[s] : "unknown status";
}

const char *fab_detail(void)
{
    return said.text;
}

const char *fab_version(void)
{
    return FAB_VERSION;
}

/* Whom a sentence begins with, as "NAME: .." or as the letters of its format: so many bytes; 0: it does not say. */
static size_t about_of(const char *format, va_list args)
{
    if (strncmp(format, "%s", 2) == 0) {
        const char *name = va_arg(args, const char *);
        if (name == said.text) return said.about; /* the old sentence, and words behind it */
        if (format[2] == ':') return name ? strlen(name) : 0;
        return 0;
    }
    const size_t n = strcspn(format, "%:");
    return format[n] == ':' ? n : 0;
}

void fab_no_controls(char *s)
{
    for (unsigned char *p = (unsigned char *)s; *p; p++) {
        if ((*p < 0x20 && !strchr("\t\n\r", *p)) || *p == 0x7f) *p = '?';
        if (p[0] == 0xc2 && (p[1] & 0xe0) == 0x80) p[0] = p[1] = '?'; /* U+0080 to U+009F */
    }
}

fab_status fab_fail(fab_status s, const char *format, ...)
{
    fab_sentence next = {0}; /* an argument may point into the old one */
    va_list args;
    va_start(args, format);
    vsnprintf(next.text, sizeof next.text, format, args);
    va_end(args);
    va_start(args, format);
    next.about = about_of(format, args);
    va_end(args);
    fab_no_controls(next.text);
    said = next;
    return s;
}

fab_status fab_prefix(fab_status s, const char *format, ...)
{
    fab_sentence next = {0};
    va_list args;
    va_start(args, format);
    const int used = vsnprintf(next.text, sizeof next.text, format, args);
    va_end(args);
    va_start(args, format);
    next.about = about_of(format, args);
    va_end(args);
    const size_t most = sizeof next.text - 1;
    size_t n = used < 0 ? 0 : (size_t)used;
    if (n > most) n = most;
    const size_t rest = strnlen(said.text, most - n); /* a long front cuts the sentence's end */
    memcpy(next.text + n, said.text, rest);
    fab_no_controls(next.text);
    said = next;
    return s;
}

fab_status fab_about(const char *name, fab_status s)
{
    if (s == FAB_OK || s == FAB_STOPPED || !name) return s;
    fab_sentence front = {.about = strlen(name)};
    snprintf(front.text, sizeof front.text, "%s", name);
    fab_no_controls(front.text);
    if (said.about == front.about && strncmp(said.text, front.text, strlen(front.text)) == 0)
        return s;
    return fab_prefix(s, "%s: ", name);
}

void fab_sentence_keep(fab_sentence *to)
{
    *to = said;
}

fab_status fab_sentence_raise(fab_status s, const fab_sentence *kept)
{
    said = *kept;
    return s;
}
