/* ranks.h - processes that are threads: a fab_comm whose sum they meet in.
 *
 * Nobody waits in vain: a sum that one of them will never come to, because its work has ended, or that they come to with other
 * lengths, fails in all of them and is remembered.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TESTS_RANKS_H
#define FAB_TESTS_RANKS_H

#include "base/fail.h"
#include "fabayes/exec.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RANKS = 8, ROOM_OF_SUMS = 1 << 16 };

typedef struct ranks {
    pthread_mutex_t lock;
    pthread_cond_t all_here;
    int64_t n, arrived, ended, sums;
    int64_t length[MOST_RANKS];
    const double *part[MOST_RANKS];
    double total[ROOM_OF_SUMS];
    int in_vain, unlike; /* somebody waited for one that had ended; lengths were not the same */
} ranks;

typedef struct rank {
    ranks *all;
    int64_t number, first, D; /* its coordinates */
    fab_comm comm;
    fab_status (*job)(struct rank *r);
    void *ctx;
    fab_status status;
    char said[1024];
} rank;

static inline fab_status ranks_refuse(const ranks *w)
{
    return FAB_FAIL(FAB_NUMERIC, "the sum: %s",
                    w->unlike ? "the processes come with other lengths"
                              : "a process waits for one that has ended");
}

static inline fab_status ranks_sum(void *ctx, double *buf, int64_t n)
{
    const rank *r = ctx;
    ranks *w = r->all;
    pthread_mutex_lock(&w->lock);
    const int64_t here = w->sums;
    w->part[r->number] = buf;
    w->length[r->number] = n;
    if (w->ended > 0) w->in_vain = 1;
    if (++w->arrived == w->n && !w->in_vain) {
        for (int64_t k = 0; k < w->n; k++) w->unlike |= w->length[k] != n || n > ROOM_OF_SUMS;
        if (!w->unlike) memset(w->total, 0, (size_t)n * sizeof *w->total);
        for (int64_t k = 0; k < w->n && !w->unlike; k++)
            for (int64_t i = 0; i < n; i++) w->total[i] += w->part[k][i];
        w->arrived = 0;
        w->sums++;
        pthread_cond_broadcast(&w->all_here);
    }
    while (w->sums == here && !w->in_vain) pthread_cond_wait(&w->all_here, &w->lock);
    if (w->in_vain) pthread_cond_broadcast(&w->all_here);
    const int failed = w->in_vain || w->unlike;
    if (!failed) memcpy(buf, w->total, (size_t)n * sizeof *buf);
    pthread_mutex_unlock(&w->lock);
    return failed ? ranks_refuse(w) : FAB_OK;
}

static inline void *ranks_run_one(void *p)
{
    rank *r = p;
    r->status = r->job(r);
    snprintf(r->said, sizeof r->said, "%s", r->status == FAB_OK ? "" : fab_detail());
    pthread_mutex_lock(&r->all->lock);
    r->all->ended++;
    if (r->all->arrived > 0) r->all->in_vain = 1;
    pthread_cond_broadcast(&r->all->all_here);
    pthread_mutex_unlock(&r->all->lock);
    return NULL;
}

/* `job` on n ranks, rank k with share[k] coordinates and what ctx + k * size points to.  0: nobody waited in vain, and all sums were alike. */
static inline int ranks_run(rank *r, int64_t n, const int64_t *share, fab_status (*job)(rank *r),
                            void *ctx, size_t size)
{
    ranks *w = calloc(1, sizeof *w);
    pthread_t thread[MOST_RANKS];
    int64_t total = 0, first = 0;
    for (int64_t k = 0; k < n; k++) total += share[k];
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->all_here, NULL);
    w->n = n;
    for (int64_t k = 0; k < n; first += share[k++]) {
        r[k] = (rank){.all = w, .number = k, .first = first, .D = share[k], .job = job};
        r[k].ctx = (char *)ctx + (size_t)k * size;
        r[k].comm = (fab_comm){first, total, ranks_sum, &r[k]};
    }
    for (int64_t k = 0; k < n; k++)
        if (pthread_create(&thread[k], NULL, ranks_run_one, &r[k]) != 0) abort();
    for (int64_t k = 0; k < n; k++) pthread_join(thread[k], NULL);
    const int wrong = w->in_vain || w->unlike;
    pthread_cond_destroy(&w->all_here);
    pthread_mutex_destroy(&w->lock);
    free(w);
    return wrong;
}

#endif
