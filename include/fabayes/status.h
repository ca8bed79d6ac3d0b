/* status.h - how fabayes says that something failed.
 *
 * Whatever can fail returns a fab_status; its result goes through a pointer argument.
 *
 *     fab_posterior *p;
 *     if (fab_posterior_load(&p, "q.safetensors") != FAB_OK)
 *         fprintf(stderr, "%s\n", fab_detail());      // "q.safetensors: ..", what exactly is wrong
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_STATUS_H
#define FABAYES_STATUS_H

#if defined(__GNUC__)
#define FAB_API __attribute__((visibility("default")))
#else
#define FAB_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fab_status {
    FAB_OK = 0,
    FAB_BAD_ARGUMENT, /* a setting, size or flag the caller chose is wrong */
    FAB_BAD_DATA,     /* NaN, Inf, ragged rows, a D that changes */
    FAB_BAD_FILE,     /* a file that cannot be read, written or believed */
    FAB_NO_MEMORY,    /* the allocator said no */
    FAB_NUMERIC,      /* a matrix that should be positive definite is not */
    FAB_UNSUPPORTED,  /* well posed, but not offered: the detail says why */
    FAB_STOPPED,      /* the progress hook asked to stop; the state is valid */
    FAB_MISSING_VALUE /* data: a value is missing where none may be; it could be dropped or filled */
} fab_status;

/* What kind of failure: a short constant phrase, never NULL. */
FAB_API const char *fab_strerror(fab_status s);

/* What exactly failed last on this thread, one sentence with the offending value; "" when nothing
 * has failed yet.  Lends until the next failure on the same thread. */
FAB_API const char *fab_detail(void);

/* Put "name: " in front of that sentence, unless it is about name already, and return s.  FAB_OK and FAB_STOPPED pass, and
 * so does a name that is NULL. */
FAB_API fab_status fab_about(const char *name, fab_status s);

/* The version of the library, "MAJOR.MINOR.PATCH". */
FAB_API const char *fab_version(void);

#ifdef __cplusplus
}
#endif
#endif
