/* alloc.c - a library to preload (LD_PRELOAD) under which an allocation of a program fails.
 *
 *     FAULT_AT=n      the n-th call of malloc, calloc, realloc, aligned_alloc or posix_memalign gives NULL; 0: none does
 *     FAULT_ON=1      so do all that follow it
 *     FAULT_REPORT=f  at exit a line "calls live" goes to the file f: calls counted, blocks taken and not given back
 *
 *     FAULT_SERVER=a,b  the program waits before main: for each line "n on" of descriptor a, a copy of it (fork) runs with these numbers, its
 *                     words in the files `out` and `err` of the current folder, and its wait status goes to descriptor b
 *
 * Counted are the calls of the program itself and of the libraries it hands memory questions to (jansson, zlib, LAPACKE, the C library).
 * Those of BLAS, of the loader and of the C++ and Fortran run-time libraries are let through: they abort by themselves.  So are those of
 * NLopt, whose L-BFGS keeps fewer vectors where memory is short, and finds the same optimum, within its tolerance, on another way.
 *
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void *__libc_memalign(size_t align, size_t n);
extern void __libc_free(void *p);

enum { RANGES = 64, SLOTS = 1 << 20 };

static struct {
    uintptr_t begin, end;
} skipped[RANGES];
static int ranges, ready;
static long fail_at, fail_on;
static atomic_long calls;
static atomic_long live;
static _Atomic uintptr_t
    slot[SLOTS]; /* blocks taken by counted calls: open addressing, 1 marks a slot that was used */

static int note_object(struct dl_phdr_info *info, size_t size, void *ctx)
{
    static const char *const names[] = {"libopenblas", "libnlopt", "ld-linux",   "libstdc++",
                                        "libgfortran", "libgcc_s", "libquadmath"};
    (void)size, (void)ctx;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!info->dlpi_name || !strstr(info->dlpi_name, names[i])) continue;
        for (int j = 0; j < info->dlpi_phnum && ranges < RANGES; j++) {
            const ElfW(Phdr) *h = &info->dlpi_phdr[j];
            if (h->p_type != PT_LOAD || !(h->p_flags & PF_X)) continue;
            skipped[ranges].begin = info->dlpi_addr + h->p_vaddr;
            skipped[ranges++].end = info->dlpi_addr + h->p_vaddr + h->p_memsz;
        }
    }
    return 0;
}

enum { PATIENCE = 300 /* seconds of a run */ };

static int onto(const char *name, int target)
{
    const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    return file >= 0 && dup2(file, target) == target ? close(file) : -1;
}

/* Returns in the copies only. */
static void serve(int asked, int answered)
{
    char line[64];
    size_t used = 0;
    for (;;) {
        char c;
        if (read(asked, &c, 1) != 1) _exit(0);
        if (c != '\n') {
            if (used < sizeof line - 1) line[used++] = c;
            continue;
        }
        line[used] = '\0';
        used = 0;
        const pid_t child = fork();
        if (child == 0) {
            if (sscanf(line, "%ld %ld", &fail_at, &fail_on) != 2) _exit(99);
            close(asked);
            close(answered);
            if (onto("out", STDOUT_FILENO) != 0 || onto("err", STDERR_FILENO) != 0) _exit(99);
            alarm(PATIENCE);
            return;
        }
        int status = -1;
        if (child > 0) waitpid(child, &status, 0);
        const int n = snprintf(line, sizeof line, "%d\n", status);
        if (write(answered, line, (size_t)n) != n) _exit(0);
    }
}

__attribute__((constructor)) static void start(void)
{
    dl_iterate_phdr(note_object, NULL);
    const char *at = getenv("FAULT_AT"), *on = getenv("FAULT_ON");
    fail_at = at ? atol(at) : 0;
    fail_on = on ? atol(on) : 0;
    int asked, answered;
    if (getenv("FAULT_SERVER") && sscanf(getenv("FAULT_SERVER"), "%d,%d", &asked, &answered) == 2)
        serve(asked, answered);
    ready = 1;
}

__attribute__((destructor)) static void finish(void)
{
    const char *report = getenv("FAULT_REPORT");
    char line[64];
    if (!report) return;
    const int n = snprintf(line, sizeof line, "%ld %ld\n", atomic_load(&calls), atomic_load(&live));
    const int file = open(report, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file >= 0 && write(file, line, (size_t)n) == n) close(file);
}

/* 0: let through; 1: count; 2: fail. */
static int judge(const void *caller)
{
    if (!ready) return 0;
    for (int i = 0; i < ranges; i++)
        if ((uintptr_t)caller >= skipped[i].begin && (uintptr_t)caller < skipped[i].end) return 0;
    const long n = atomic_fetch_add(&calls, 1) + 1;
    return fail_at > 0 && (n == fail_at || (fail_on && n > fail_at)) ? 2 : 1;
}

static void keep(void *p)
{
    if (!p) return;
    for (size_t i = (uintptr_t)p / 16 * 0x9E3779B1u % SLOTS, tries = 0; tries < SLOTS;
         i = (i + 1) % SLOTS, tries++) {
        uintptr_t free_slot = atomic_load(&slot[i]);
        if (free_slot > 1) continue;
        if (!atomic_compare_exchange_strong(&slot[i], &free_slot, (uintptr_t)p)) continue;
        atomic_fetch_add(&live, 1);
        return;
    }
}

static void forget(void *p)
{
    if (!p) return;
    for (size_t i = (uintptr_t)p / 16 * 0x9E3779B1u % SLOTS, tries = 0; tries < SLOTS;
         i = (i + 1) % SLOTS, tries++) {
        const uintptr_t found = atomic_load(&slot[i]);
        if (found == 0) return;
        if (found != (uintptr_t)p) continue;
        atomic_store(&slot[i], 1);
        atomic_fetch_sub(&live, 1);
        return;
    }
}

#define GIVE(call)                                          \
    const int verdict = judge(__builtin_return_address(0)); \
    if (verdict == 2) return errno = ENOMEM, (void *)0;     \
    void *made = call;                                      \
    if (verdict == 1) keep(made);                           \
    return made

void *malloc(size_t n)
{
    GIVE(__libc_malloc(n));
}

void *calloc(size_t n, size_t size)
{
    GIVE(__libc_calloc(n, size));
}

void *aligned_alloc(size_t align, size_t n)
{
    GIVE(__libc_memalign(align, n));
}

int posix_memalign(void **p, size_t align, size_t n)
{
    const int verdict = judge(__builtin_return_address(0));
    if (verdict == 2) return ENOMEM;
    *p = __libc_memalign(align, n);
    if (verdict == 1) keep(*p);
    return *p ? 0 : ENOMEM;
}

void *realloc(void *p, size_t n)
{
    const int verdict = judge(__builtin_return_address(0));
    if (verdict == 2) return errno = ENOMEM, (void *)0;
    void *made = __libc_realloc(p, n);
    if (made || n == 0) {
        forget(p);
        if (verdict == 1) keep(made);
    }
    return made;
}

void free(void *p)
{
    const int error = errno;
    forget(p);
    __libc_free(p);
    errno = error;
}
