/* recode.c - text in other encodings to UTF-8: UTF-16 as a stream, single words of Windows-1252.
 *
 * UTF-16 is recoded before anything is looked for in it, since its separators are two bytes.  Latin-1 and Windows-1252
 * differ from UTF-8 in words and names alone, and a file may show the first such word after a million rows: each word
 * that is no UTF-8 is recoded where it is read, by itself, and the stream is left as it is.
 *
 * SPDX-License-Identifier: MIT */
#include "data/source/recode.h"
#include "base/memory.h"
#include <stdint.h>
#include <string.h>

enum { ROOM = 1 << 14, REPLACEMENT = 0xFFFD };

struct fab_recoder {
    const char *name;
    int big;         /* the first byte of a pair is the high one */
    int dry;         /* the input has ended */
    uint32_t high;   /* the first half of a pair of surrogates; 0: none */
    size_t at, n;    /* in[at .. n) are not used yet */
    size_t sent, of; /* out[sent .. of) are not given yet */
    unsigned char in[ROOM];
    char out[8]; /* a character, or U+FFFD and a character */
};

/* ---- one character ------------------------------------------------------------------------------------- */

/* Write a character; how many bytes. */
static size_t put(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        to[0] = (char)(0xC0 | c >> 6);
        to[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        to[0] = (char)(0xE0 | c >> 12);
        to[1] = (char)(0x80 | (c >> 6 & 0x3F));
        to[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    to[0] = (char)(0xF0 | c >> 18);
    to[1] = (char)(0x80 | (c >> 12 & 0x3F));
    to[2] = (char)(0x80 | (c >> 6 & 0x3F));
    to[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

int fab_is_utf8(const char *text, size_t n)
{
    const unsigned char *p = (const unsigned char *)text, *end = p + n;
    while (p < end) {
        if (*p < 0x80) {
            p++;
            continue;
        }
        int more = 0;
        uint32_t c = 0, least = 0;
        if (*p >= 0xC2 && *p < 0xE0) {
            more = 1;
            c = *p & 0x1F;
            least = 0x80;
        } else if (*p >= 0xE0 && *p < 0xF0) {
            more = 2;
            c = *p & 0x0F;
            least = 0x800;
        } else if (*p >= 0xF0 && *p < 0xF5) {
            more = 3;
            c = *p & 0x07;
            least = 0x10000;
        } else {
            return 0;
        }
        if (end - p <= more) return 0;
        for (int i = 1; i <= more; i++) {
            if ((p[i] & 0xC0) != 0x80) return 0;
            c = c << 6 | (p[i] & 0x3F);
        }
        if (c < least || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000)) return 0;
        p += 1 + more;
    }
    return 1;
}

size_t fab_recode_1252(char *to, const char *p, size_t n)
{
    static const uint16_t high[32] = {
        0x20AC, 0x0081, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
        0x2039, 0x0152, 0x008D, 0x017D, 0x008F, 0x0090, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
        0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x009D, 0x017E, 0x0178};
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const unsigned char b = (unsigned char)p[i];
        char one[4];
        used += put(to ? to + used : one, b >= 0x80 && b < 0xA0 ? high[b - 0x80] : b);
    }
    return used;
}

/* ---- which encoding ------------------------------------------------------------------------------------ */

fab_encoding fab_encoding_find(const char *first, size_t n, size_t *mark)
{
    *mark = 0;
    if (n >= 3 && memcmp(first, "\xEF\xBB\xBF", 3) == 0) {
        *mark = 3;
        return FAB_ENCODING_UTF8;
    }
    if (n >= 2 && memcmp(first, "\xFF\xFE", 2) == 0) {
        *mark = 2;
        return FAB_ENCODING_UTF16_LITTLE;
    }
    if (n >= 2 && memcmp(first, "\xFE\xFF", 2) == 0) {
        *mark = 2;
        return FAB_ENCODING_UTF16_BIG;
    }
    size_t even = 0, odd = 0; /* zero bytes at these places */
    const size_t pairs = n / 2;
    for (size_t i = 0; i < pairs; i++) {
        even += first[2 * i] == 0;
        odd += first[2 * i + 1] == 0;
    }
    if (pairs >= 2 && even == 0 && 2 * odd >= pairs) return FAB_ENCODING_UTF16_LITTLE;
    if (pairs >= 2 && odd == 0 && 2 * even >= pairs) return FAB_ENCODING_UTF16_BIG;
    return FAB_ENCODING_UTF8;
}

/* ---- UTF-16 as a stream -------------------------------------------------------------------------------- */

fab_status fab_recode_open(fab_recoder **r, fab_encoding from, const char *name)
{
    void *p;
    *r = NULL;
    FAB_TRY(fab_alloc_array(&p, 1, sizeof **r, name));
    *r = p;
    (*r)->name = name;
    (*r)->big = from == FAB_ENCODING_UTF16_BIG;
    fab_recode_rewind(*r);
    return FAB_OK;
}

void fab_recode_close(fab_recoder *r)
{
    fab_release(r);
}

void fab_recode_rewind(fab_recoder *r)
{
    r->dry = 0;
    r->high = 0;
    r->at = r->n = 0;
    r->sent = r->of = 0;
}

size_t fab_recode_waiting(const fab_recoder *r)
{
    return r->n - r->at;
}

/* The next pair of bytes, as what it adds to `out`. */
static void take_unit(fab_recoder *r)
{
    const unsigned char *p = r->in + r->at;
    const uint32_t unit = r->big ? (uint32_t)p[0] << 8 | p[1] : (uint32_t)p[1] << 8 | p[0];
    r->at += 2;
    r->sent = r->of = 0;
    if (unit >= 0xDC00 && unit < 0xE000 && r->high) {
        r->of = put(r->out, 0x10000 + ((r->high - 0xD800) << 10) + (unit - 0xDC00));
        r->high = 0;
        return;
    }
    if (r->high) r->of = put(r->out, REPLACEMENT);
    r->high = 0;
    if (unit >= 0xD800 && unit < 0xDC00)
        r->high = unit;
    else
        r->of += put(r->out + r->of, unit >= 0xDC00 && unit < 0xE000 ? REPLACEMENT : unit);
}

fab_status fab_recode_read(fab_recoder *r, fab_recode_input *read, void *ctx, char *to, size_t n,
                           size_t *got, int *ended)
{
    *got = 0;
    *ended = 0;
    while (*got < n) {
        if (r->sent < r->of) {
            to[(*got)++] = r->out[r->sent++];
            continue;
        }
        if (r->n - r->at >= 2) {
            take_unit(r);
            continue;
        }
        if (*got > 0) return FAB_OK; /* before more is asked for */
        if (r->dry && r->at < r->n)
            return FAB_FAIL(FAB_BAD_FILE, "%s: is cut short: UTF-16 with an odd number of bytes",
                            r->name);
        if (r->dry && r->high) {
            r->high = 0;
            r->sent = 0;
            r->of = put(r->out, REPLACEMENT);
            continue;
        }
        if (r->dry) {
            *ended = 1;
            return FAB_OK;
        }
        if (r->at < r->n) r->in[0] = r->in[r->at]; /* half a pair */
        r->n -= r->at;
        r->at = 0;
        size_t more;
        FAB_TRY(read(ctx, r->in + r->n, ROOM - r->n, &more, &r->dry));
        r->n += more;
        if (more == 0 && !r->dry) return FAB_OK;
    }
    return FAB_OK;
}
