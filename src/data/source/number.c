/* number.c - decimal text to the nearest double, fast and in no locale.
 *
 * The text is m 10^e with an integer m.  Three ways, the first that applies:
 *
 *   1  m < 2^53, |e| <= 22:            m and 10^|e| are exact doubles, one operation rounds once [1]
 *   2  m < 2^64, |e| <= 27:            5^|e| < 2^63; product or quotient in 128 bits with a sticky bit
 *                                      for what falls off, rounded once by the conversion to double
 *   3  anything else:                  strtod, on a copy without a decimal point (so in no locale) and
 *                                      of at most 800 digits: 767 decide every tie, one stands for the rest
 *
 * Digits are read eight at a time in a 64-bit word [2].
 *
 * [1] W. Clinger, How to read floating point numbers accurately, PLDI 1990.
 * [2] D. Lemire, Number parsing at a gigabyte per second, Software: Practice and Experience 51, 2021.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "data/source/number.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

__extension__ typedef unsigned __int128 u128;

enum {
    EXACT_TENS = 22,      /* 10^22 is the largest power of ten that is a double */
    EXACT_FIVES = 27,     /* 5^27 is the largest power of five below 2^63 */
    WORD_DIGITS = 19,     /* every number of 19 digits is below 2^64 */
    COPY_DIGITS = 800,    /* more digits than the 767 that can matter */
    MAX_EXPONENT = 100000 /* with 800 digits: far beyond any double */
};

// clang-format off
static const double tens[EXACT_TENS + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

static const uint64_t fives[EXACT_FIVES + 1] = {
    1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125,
    6103515625, 30517578125, 152587890625, 762939453125, 3814697265625, 19073486328125, 95367431640625,
    476837158203125, 2384185791015625, 11920928955078125, 59604644775390625, 298023223876953125,
    1490116119384765625, 7450580596923828125};
// clang-format on

static const double signs[2] = {1, -1};

static const uint64_t small_tens[8] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Eight bytes, the first in the low bits; compilers make one load of it. */
static uint64_t load(const char *s)
{
    const unsigned char *p = (const unsigned char *)s;
    return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
           (uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 |
           (uint64_t)p[7] << 56;
}

/* The high bit of the lowest byte that is no digit, and maybe of later ones; 0 when all are digits. */
static uint64_t non_digits(uint64_t v)
{
    return ((v + 0x4646464646464646) | (v - 0x3030303030303030)) & 0x8080808080808080;
}

/* The number that eight digits spell; bytes of zero count as the digit 0. */
static uint64_t eight(uint64_t v)
{
    v = (v & 0x0F0F0F0F0F0F0F0F) * (10 * 256 + 1) >> 8;
    v = (v & 0x00FF00FF00FF00FF) * (100 * 65536 + 1) >> 16;
    return (v & 0x0000FFFF0000FFFF) * (10000 * (UINT64_C(1) << 32) + 1) >> 32;
}

/* Append the digits at p to *m (modulo 2^64) and return the byte after them. */
__attribute__((always_inline)) static inline const char *digits(const char *p, uint64_t *m)
{
    uint64_t v = load(p), other;
    while ((other = non_digits(v)) == 0) {
        *m = *m * 100000000 + eight(v);
        p += 8;
        v = load(p);
    }
    const int n = __builtin_ctzll(other) / 8; /* 0 .. 7 digits are left */
    *m = *m * small_tens[n] + eight(v << 8 * (7 - n) << 8);
    return p + n;
}

/* The exponent at p, behind the e; p itself when there is none. */
__attribute__((always_inline)) static inline const char *read_exponent(const char *p, int64_t *e)
{
    const char *q = p;
    const int negative = *q == '-';
    if (*q == '-' || *q == '+') q++;
    if (!is_digit(*q)) return p;
    int64_t n = 0;
    for (; is_digit(*q); q++)
        if (n < INT64_MAX / 100) n = 10 * n + (*q - '0'); /* more than any text can make up for */
    *e += negative ? -n : n;
    return q;
}

/* x 2^e for |e| < 1000 and a result that is no subnormal */
static double scale(uint64_t x, int e)
{
    const uint64_t bits = (uint64_t)(1023 + e) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return (double)x * power;
}

/* way 2, e >= 0:  m 10^e = (m 5^e) 2^e */
static double product(uint64_t m, int e)
{
    const u128 exact = (u128)m * fives[e];
    const uint64_t high = (uint64_t)(exact >> 64), low = (uint64_t)exact;
    if (high == 0) return scale(low, e);
    const int lost = 64 - __builtin_clzll(high);
    const uint64_t sticky = (exact & (((u128)1 << lost) - 1)) != 0;
    return scale((uint64_t)(exact >> lost) | sticky, e + lost);
}

/* way 2, e < 0:  m 10^e = (m / 5^-e) 2^e, both shifted to 64 bits so that the quotient has 63 or 64 */
static double quotient(uint64_t m, int e)
{
    const int up = __builtin_clzll(m), down = __builtin_clzll(fives[-e]);
    const uint64_t divisor = fives[-e] << down;
    const u128 dividend = (u128)(m << up) << 63;
    const uint64_t q = (uint64_t)(dividend / divisor);
    const uint64_t sticky = dividend != (u128)q * divisor;
    return scale(q | sticky, e - 63 - up + down);
}

/* way 3: write sign, digits and exponent again, plainly, for strtod */
static double by_strtod(const char *p, int negative, int64_t exponent, char point)
{
    char copy[COPY_DIGITS + 32];
    size_t n = 0;
    int seen_point = 0, rest = 0;
    for (; is_digit(*p) || (*p == point && !seen_point); p++) {
        if (*p == point) {
            seen_point = 1;
        } else if (n == 0 && *p == '0') {
            continue; /* a leading zero */
        } else if (n < COPY_DIGITS) {
            copy[n++] = *p;
        } else {
            rest |= *p != '0';
            exponent++;
        }
    }
    if (n == 0) return negative ? -0.0 : 0.0;
    if (rest) copy[n - 1] = (char)(copy[n - 1] | 1); /* never a tie: odd or larger */
    if (exponent > MAX_EXPONENT) exponent = MAX_EXPONENT;
    if (exponent < -MAX_EXPONENT) exponent = -MAX_EXPONENT;
    copy[n++] = 'e';
    if (exponent < 0) copy[n++] = '-';
    uint64_t e = (uint64_t)(exponent < 0 ? -exponent : exponent);
    for (uint64_t unit = MAX_EXPONENT; unit; unit /= 10) copy[n++] = (char)('0' + e / unit % 10);
    copy[n] = '\0';
    const double x = strtod(copy, NULL);
    return negative ? -x : x;
}

/* Are the `count` digits at p, the leading zeros left out, too many for 64 bits? */
static int too_long(const char *p, int64_t count, char point)
{
    for (; count > WORD_DIGITS && (*p == '0' || *p == point); p++) count -= *p == '0';
    return count > WORD_DIGITS;
}

/* Ways 1 and 2; 0 when neither applies. */
__attribute__((always_inline)) static inline int convert(uint64_t m, int64_t e, double *x)
{
    if (m >> 53 == 0 && e >= -EXACT_TENS && e <= EXACT_TENS)
        *x = e < 0 ? (double)(int64_t)m / tens[-e] : (double)(int64_t)m * tens[e];
    else if (m == 0)
        *x = 0;
    else if (e >= -EXACT_FIVES && e <= EXACT_FIVES)
        *x = e < 0 ? quotient(m, (int)e) : product(m, (int)e);
    else
        return 0;
    return 1;
}

/* With either decimal mark: one body, compiled for each. */
__attribute__((always_inline)) static inline const char *read_number(const char *p, double *x,
                                                                     char point)
{
    *x = 0;
    const int negative = *p == '-';
    p += negative | (*p == '+');
    const char *text = p;
    uint64_t m = 0;
    int64_t e = 0, count;
    p = digits(p, &m);
    count = p - text;
    if (*p == point) {
        const char *fraction = p + 1;
        p = digits(fraction, &m);
        e = fraction - p;
        count -= e;
    }
    if (count == 0) return NULL;
    const char *end = p;
    if (*p == 'e' || *p == 'E') {
        p = read_exponent(p + 1, &e);
        if (p == end + 1) p = end;
    }
    if ((count <= WORD_DIGITS || !too_long(text, count, point)) && convert(m, e, x)) {
        *x *= signs[negative]; /* no branch: nobody can predict it */
        return p;
    }
    *x = by_strtod(text, negative, e, point);
    return isfinite(*x) ? p : NULL;
}

const char *fab_number(const char *p, double *x)
{
    return read_number(p, x, '.');
}

const char *fab_number_comma(const char *p, double *x)
{
    return read_number(p, x, ',');
}

const char *fab_number_word(const char *p, size_t n)
{
    const int negative = n > 0 && *p == '-', sign = negative || (n > 0 && *p == '+');
    p += sign;
    n -= (size_t)sign;
    if (n == 3 && strncasecmp(p, "nan", n) == 0) return "NaN";
    if ((n == 3 && strncasecmp(p, "inf", n) == 0) || (n == 8 && strncasecmp(p, "infinity", n) == 0))
        return negative ? "-Inf" : "Inf";
    return NULL;
}
