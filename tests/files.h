/* files.h - what tests of files share: a folder of their own, whole files as bytes, and an allocator
 * that counts and fails when told to.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TESTS_FILES_H
#define FAB_TESTS_FILES_H

#include "fabayes/exec.h"
#include "fit/method.h"
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- a folder that is empty before and gone after --------------------------------------------------- */

static char folder[64];

static inline int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "test-files-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

/* The path of `name` in the folder; two of them are good at a time. */
static inline const char *in_folder(const char *name)
{
    static char path[2][512];
    static int turn;
    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

/* How many files the folder has. */
static inline int count_files(void)
{
    int n = 0;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));)
        n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
    closedir(d);
    return n;
}

static inline int remove_folder(void **state)
{
    (void)state;
    DIR *d = opendir(folder);
    for (struct dirent *e; (e = readdir(d));) {
        if (remove(in_folder(e->d_name)) != 0) continue; /* "." and ".." stay */
    }
    closedir(d);
    return rmdir(folder);
}

static inline void put_bytes(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

/* Gives the bytes: free. */
static inline char *get_bytes(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *bytes = malloc(1 << 20);
    *n = fread(bytes, 1, 1 << 20, f);
    fclose(f);
    return bytes;
}

/* The detail of the last failure contains both. */
static inline void assert_detail(const char *file, const char *reason)
{
    if (strstr(fab_detail(), file) && strstr(fab_detail(), reason)) return;
    fail_msg("\"%s\" should speak of '%s' and '%s'", fab_detail(), file, reason);
}

/* ---- an allocator that counts, and fails at one call ------------------------------------------------ */

static int64_t alloc_calls, alloc_fails_at, alloc_held;

static inline void *counted_alloc(size_t bytes)
{
    if (++alloc_calls == alloc_fails_at) return NULL;
    alloc_held++;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static inline void counted_release(void *p)
{
    alloc_held--;
    free(p);
}

/* Run `work` with the n-th allocation failing, for every n until it succeeds.  `work` returns its
 * status and holds nothing afterwards.  Returns how many allocations the success took. */
static inline int64_t fail_every_allocation(fab_status (*work)(void))
{
    fab_status s = FAB_NO_MEMORY;
    fab_set_allocator(counted_alloc, counted_release);
    for (alloc_fails_at = 1; s != FAB_OK; alloc_fails_at++) {
        alloc_calls = alloc_held = 0;
        s = work();
        assert_true(s == FAB_OK || s == FAB_NO_MEMORY);
        assert_int_equal(s == FAB_OK, alloc_calls < alloc_fails_at);
        assert_int_equal(alloc_held, 0);
        if (s != FAB_OK) assert_non_null(strstr(fab_detail(), "cannot allocate"));
    }
    fab_set_allocator(NULL, NULL);
    return alloc_calls;
}

/* Bytes of the settings of a method for a model; NULL: vectors. */
static inline size_t settings_size(const char *method, const fab_model *m)
{
    const fab_method *found = fab_method_find(method);
    if (m && !m->glm) found = fab_method_of_networks(found);
    return found->fields->size;
}

/* A fit for it: the rows `times` times. */
static inline fab_status fit_and_free(const char *method, const void *settings, const fab_model *m,
                                      const fab_examples *e, int times)
{
    const fab_gauss *q;
    fab_fit *f = NULL;
    fab_status s = fab_fit_create(&f, method, settings, settings_size(method, m),
                                  &(fab_input){.model = m}, NULL);
    for (int i = 0; s == FAB_OK && i < times; i++) s = fab_fit_update(f, e);
    if (s == FAB_OK) s = fab_fit_gauss(f, &q);
    fab_fit_free(f);
    return s;
}

#endif
