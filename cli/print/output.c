/* output.c - sentences, JSON, numbers for people and the progress bar.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "print/output.h"
#include <errno.h>
#include <float.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- text of others --------------------------------------------------------------------------------- */

/* What would break a line, or garble a terminal, is escaped as in C; text that does not fit is cut. */
static void escape(const char *text, char *to, size_t size)
{
    size_t used = 0;
    for (; *text && used + 5 < size; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c == '\n' || c == '\t' || c == '\r')
            used += (size_t)snprintf(to + used, size - used, "\\%c",
                                     c == '\n'   ? 'n'
                                     : c == '\t' ? 't'
                                                 : 'r');
        else if (c < 0x20 || c == 0x7f)
            used += (size_t)snprintf(to + used, size - used, "\\x%02x", c);
        else
            to[used++] = *text;
    }
    to[used] = '\0';
}

const char *one_line(const char *text)
{
    enum { AT_ONCE = 4, ROOM = 512 };
    static char lent[AT_ONCE][ROOM];
    static int next;
    const char *p = text;
    while (*p && (unsigned char)*p >= 0x20 && *p != 0x7f) p++;
    if (!*p) return text;
    char *to = lent[next++ % AT_ONCE];
    escape(text, to, ROOM);
    return to;
}

/* ---- failures ------------------------------------------------------------------------------------- */

/* Notes wait until the call is known to make sense: a call that is refused as wrong has said one sentence. */
static char waiting[8192];
static atomic_flag noting = ATOMIC_FLAG_INIT; /* threads may have something to note */

static void show_waiting(void)
{
    while (atomic_flag_test_and_set(&noting)) continue;
    fputs(waiting, stderr);
    waiting[0] = '\0';
    atomic_flag_clear(&noting);
}

static char held[OUTPUT_HELD];
static int holding, hushed; /* hushed: notes are those of another process */

void output_hold(int notes)
{
    holding = 1;
    hushed = !notes;
}

char *output_held(void)
{
    return held;
}

void output_release(void)
{
    if (held[0]) fprintf(stderr, "fabayes: %s\n", held);
    held[0] = '\0';
}

static void say(const char *format, va_list args)
{
    char sentence[8192], shown[8192];
    progress_close();
    vsnprintf(sentence, sizeof sentence, format, args);
    escape(sentence, shown, sizeof shown);
    if (holding) {
        if (!held[0]) snprintf(held, sizeof held, "%s", shown);
        return;
    }
    fprintf(stderr, "fabayes: %s\n", shown);
}

int say_wrong(const char *format, ...)
{
    va_list args;
    waiting[0] = '\0';
    va_start(args, format);
    say(format, args);
    va_end(args);
    return WRONG;
}

int say_failed(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    say(format, args);
    va_end(args);
    return FAILED;
}

int say_status(fab_status s)
{
    const char *detail = fab_detail()[0] ? fab_detail() : fab_strerror(s);
    return s == FAB_BAD_ARGUMENT ? say_wrong("%s", detail) : say_failed("%s", detail);
}

int say_status_of(const char *file, fab_status s)
{
    if (!fab_detail()[0]) return say_failed("%s: %s", file, fab_strerror(s));
    fab_about(file, s);
    return say_failed("%s", fab_detail());
}

/* A file that is not there yet: can its folder take it?  Said before the work and not after it. */
static int folder_check(const char *path)
{
    const char *slash = strrchr(path, '/');
    const int length = slash ? (int)(slash - path) + 1 : 0;
    char folder[4096];
    if (snprintf(folder, sizeof folder, "%.*s", length, path) >= (int)sizeof folder) return DONE;
    if (access(slash ? folder : ".", W_OK) == 0) return DONE;
    return say_failed("%s: cannot be written: its folder: %s", path, strerror(errno));
}

int output_check(const char *path, const char *input)
{
    struct stat out, in;
    if (stat(path, &out) != 0) return folder_check(path);
    if (S_ISDIR(out.st_mode)) return say_failed("%s: cannot be written: is a folder", path);
    if (!S_ISREG(out.st_mode))
        return say_failed("%s: cannot be written: is not a regular file", path);
    if (input && stat(input, &in) == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
        return say_failed("%s: cannot be written: is the input", path);
    return DONE;
}

int output_flush(void)
{
    static int said;
    const int lost = ferror(stdout) ? errno : 0; /* of a write inside an earlier printf */
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return DONE;
    const int why = lost ? lost : errno;
    if (said || why == EPIPE) return FAILED;
    said = 1;
    return say_failed("standard output: %s", why ? strerror(why) : "not everything was written");
}

/* ---- JSON ----------------------------------------------------------------------------------------- */

/* Where memory runs out jansson may go on without a member or a character: whatever it made is then not printed. */
static json_malloc_t below_malloc;
static json_free_t below_free;
static _Atomic int json_lost;

static void *json_take(size_t n)
{
    void *p = below_malloc(n);
    if (!p) json_lost = 1;
    return p;
}

void json_open(void)
{
    json_get_alloc_funcs(&below_malloc, &below_free);
    json_set_alloc_funcs(json_take, below_free);
}

json_t *json_text(const char *s)
{
    json_t *text = json_string(s);
    if (text) return text;
    char clean[1024];
    snprintf(clean, sizeof clean, "%s", s);
    for (char *p = clean; *p; p++)
        if ((unsigned char)*p >= 0x80) *p = '?';
    return json_string(clean);
}

int is_finite(double x)
{
    return x >= -DBL_MAX && x <= DBL_MAX;
}

json_t *json_number(double x)
{
    return is_finite(x) ? json_real(x) : json_null();
}

json_t *json_range(double lo, double hi)
{
    json_t *range = json_array();
    json_array_append_new(range, json_number(lo));
    json_array_append_new(range, json_number(hi));
    return range;
}

void json_put(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value) != 0) json_lost = 1;
}

int json_say(json_t *object)
{
    char *text = json_lost ? NULL : json_dumps(object, JSON_INDENT(2)); /* all of it or nothing */
    const int whole = text && !json_lost;
    json_free_t release; /* the library may have put its own on top of ours */
    json_get_alloc_funcs(NULL, &release);
    if (whole) puts(text);
    if (text) release(text);
    json_decref(object);
    return whole ? DONE : say_failed("out of memory"); /* main looks after standard output */
}

/* ---- numbers for people --------------------------------------------------------------------------- */

const char *human_count(double x, char *buf, size_t size)
{
    static const char unit[] = {' ', 'k', 'M', 'G', 'T'};
    int u = 0;
    while ((x >= 999.5 || x <= -999.5) && u < 4) {
        x /= 1000;
        u++;
    }
    snprintf(buf, size, u ? "%.3g%c" : "%.3g", x, unit[u]);
    return buf;
}

const char *human_seconds(double s, char *buf, size_t size)
{
    const long long t = s < 1e9 ? (long long)(s + 0.5) : 1000000000;
    if (t < 60)
        snprintf(buf, size, "%llds", t);
    else if (t < 3600)
        snprintf(buf, size, "%lldm %02llds", t / 60, t % 60);
    else
        snprintf(buf, size, "%lldh %02lldm", t / 3600, t / 60 % 60);
    return buf;
}

int decimals_of(double sd, int digits)
{
    int decimals = digits - 1;
    if (!(sd > 0) || !is_finite(sd)) return FULL_DIGITS;
    for (; sd < 1; sd *= 10) decimals++;
    for (; sd >= 10; sd /= 10) decimals--;
    return decimals;
}

const char *number_text(double x, int decimals, char *buf, size_t size)
{
    enum { FIXED = 9, MOST = 10 }; /* decimals; significant digits that a person reads */
    const double large = x < 0 ? -x : x;
    int whole = 1; /* digits in front of the mark */
    if (decimals == FULL_DIGITS || !is_finite(x)) {
        snprintf(buf, size, "%.6g", x);
        return buf;
    }
    for (double t = large; t >= 10; t /= 10) whole++;
    if (large < 1e9 && decimals <= FIXED && whole + decimals <= MOST) {
        snprintf(buf, size, "%.*f", decimals > 0 ? decimals : 0, x);
        if (strspn(buf, "-0.") == strlen(buf) && buf[0] == '-')
            memmove(buf, buf + 1, strlen(buf)); /* no -0.00 */
    } else { /* as many significant digits as lie before that decimal */
        int digits = decimals + whole;
        for (double t = large; t > 0 && t < 1 && digits > 1; t *= 10) digits--;
        if (digits < 1) digits = 1;
        if (digits > MOST) digits = MOST;
        snprintf(buf, size, "%.*g", digits, x);
    }
    return buf;
}

double memory_free(void)
{
    char line[256];
    double kb = DBL_MAX / 1024; /* nobody says */
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "MemAvailable: %lf kB", &kb) == 1) break;
    if (f) fclose(f);
    return kb * 1024;
}

/* ---- long work ------------------------------------------------------------------------------------ */

enum { BAR = 24 };

static struct {
    int on, drawn;
    int64_t from;       /* units done at the first tick of this piece of work */
    int64_t at, total;  /* units at the last tick */
    double start, drew; /* clock at the first tick, at the last drawing */
} bar;

/* Another piece of work than that of the last tick: it has a rate of its own. */
static int is_new(int64_t done, int64_t total)
{
    return bar.start < 0 || done < bar.at || total != bar.total;
}

static volatile sig_atomic_t stop;

static void ask_to_stop(int signal_number)
{
    (void)signal_number;
    stop = 1;
}

/* Was the sentence shown before?  DATA may be opened more than once, and says the same each time. */
static int is_known(const char *sentence)
{
    enum { MOST = 256 };
    static uint64_t shown[MOST];
    static int count;
    uint64_t hash = 0xCBF29CE484222325; /* FNV-1a */
    for (const char *p = sentence; *p; p++) hash = (hash ^ (unsigned char)*p) * 0x100000001B3;
    for (int i = 0; i < count; i++)
        if (shown[i] == hash) return 1;
    if (count < MOST) shown[count++] = hash;
    return 0;
}

static void show_note(void *ctx, const char *sentence)
{
    char shown[1024];
    (void)ctx;
    escape(sentence, shown, sizeof shown);
    while (atomic_flag_test_and_set(&noting)) continue;
    if (!is_known(sentence)) {
        size_t used = strlen(waiting);
        if (used + strlen(shown) + 32 > sizeof waiting) {
            fputs(waiting, stderr);
            used = 0;
        }
        snprintf(waiting + used, sizeof waiting - used, "fabayes: note: %s\n", shown);
    }
    atomic_flag_clear(&noting);
}

void progress_open(int64_t quiet)
{
    struct sigaction act = {.sa_handler = ask_to_stop};
    sigemptyset(&act.sa_mask);
    act.sa_flags = (int)(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    fab_set_log(quiet || hushed ? NULL : show_note, NULL);
    bar.on = !quiet && !hushed && isatty(STDERR_FILENO);
    bar.start = -1;
}

static void draw_bar(const char *what, int64_t done, int64_t total, double seconds)
{
    char rate[24], left[24], count[24];
    const double speed = seconds > 0 ? (double)(done - bar.from) / seconds : 0;
    human_count(speed, rate, sizeof rate);
    if (total <= 0) {
        fprintf(stderr, "\r%s %s  %s/s\033[K", what, human_count((double)done, count, sizeof count),
                rate);
        return;
    }
    const double part = (double)done / (double)total;
    const int full = part > 1 ? BAR : (int)(part * BAR);
    fprintf(stderr, "\r%s [%.*s%.*s] %3d %%", what, full, "########################", BAR - full,
            "........................", (int)(100 * part));
    if (speed > 0) {
        human_seconds((double)(total - done) / speed, left, sizeof left);
        fprintf(stderr, "  %s/s  %s left", rate, left);
    }
    fputs("\033[K", stderr);
}

int progress_tick(void *ctx, const char *what, int64_t done, int64_t total)
{
    (void)ctx;
    if (waiting[0]) progress_close();
    if (!bar.on) return stop;
    const double now = fab_clock();
    if (is_new(done, total)) {
        if (bar.start < 0) bar.drew = now;
        bar.start = now;
        bar.from = done;
        bar.total = total;
    }
    bar.at = done;
    if (now - bar.drew >= 0.1) { /* ten times a second is enough for the eye */
        draw_bar(what, done, total, now - bar.start);
        bar.drew = now;
        bar.drawn = 1;
    }
    return stop;
}

void progress_close(void)
{
    if (bar.drawn) fputs("\r\033[K", stderr);
    bar.drawn = 0;
    show_waiting();
}
