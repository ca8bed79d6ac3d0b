/* processes.c - processes that were started together: their shares, their sum, what they agree on.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "base/fail.h"
#include "base/memory.h"
#include "fabayes/exec.h"
#include "la/mpi/plugin.h"
#include "la/plugin.h"
#include <string.h>

#define PATIENCE 5.0 /* seconds that a process which has failed waits for the others */
enum { WHY_BYTES = 256 };

struct fab_processes {
    const fab_mpi *door;
};

fab_status fab_processes_open(fab_processes **p, const char *name)
{
    char why[WHY_BYTES];
    fab_mpi_open_fn *open = NULL;
    void *found;
    *p = NULL;
    if (!name || strcmp(name, "mpi") != 0)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "there are no processes '%s'; mpi are", name ? name : "");
    FAB_TRY(fab_plugin_find(&found, "libfabayes_mpi.so", 1, "fab_mpi_open", "processes mpi",
                            "'make mpi' builds it where mpicc is"));
    FAB_TRY(fab_alloc_array((void **)p, 1, sizeof **p, "processes"));
    memcpy(&open, &found, sizeof open);
    (*p)->door = open(why, sizeof why);
    if ((*p)->door) return FAB_OK;
    fab_release(*p);
    *p = NULL;
    return FAB_FAIL(FAB_UNSUPPORTED, "processes mpi: %s", why);
}

int64_t fab_processes_rank(const fab_processes *p)
{
    return p->door->rank;
}

int64_t fab_processes_count(const fab_processes *p)
{
    return p->door->size;
}

static fab_status sum(void *ctx, double *buf, int64_t n)
{
    char why[WHY_BYTES];
    const fab_processes *p = ctx;
    if (p->door->sum(buf, n, why, sizeof why) == 0) return FAB_OK;
    return FAB_FAIL(FAB_NUMERIC, "%s", why);
}

/* D k / n without the product, which may be too large. */
static int64_t part_of(int64_t D, int64_t k, int64_t n)
{
    return D / n * k + D % n * k / n;
}

fab_comm fab_processes_share(const fab_processes *p, int64_t D, int64_t *own)
{
    const int64_t rank = p->door->rank, n = p->door->size, first = part_of(D, rank, n);
    *own = part_of(D, rank + 1, n) - first;
    return (fab_comm){.first_row = first, .total_rows = D, .sum = sum, .ctx = (void *)p};
}

fab_status fab_processes_agree(const fab_processes *p, int *status, char *sentence, size_t size)
{
    enum { MOST = 8192 };
    struct {
        int status;
        char text[MOST];
    } said = {.status = *status};
    char why[WHY_BYTES];
    int who;
    if (p->door->meet(*status != 0, PATIENCE, &who, why, sizeof why) != 0)
        return FAB_FAIL(FAB_STOPPED, "%s", why);
    if (who < 0) return FAB_FAIL(FAB_STOPPED, "the other processes are at work elsewhere");
    if (who == p->door->size) return FAB_OK;
    const size_t length = strnlen(sentence, size < MOST ? size : MOST - 1);
    memcpy(said.text, sentence, length);
    said.text[length] = '\0';
    if (p->door->send(who, &said, (int)sizeof said, why, sizeof why) != 0)
        return FAB_FAIL(FAB_STOPPED, "%s", why);
    *status = said.status;
    if (size == 0) return FAB_OK;
    const size_t got = strnlen(said.text, size < MOST ? size - 1 : MOST - 1);
    memcpy(sentence, said.text, got);
    sentence[got] = '\0';
    return FAB_OK;
}

void fab_processes_stop(const fab_processes *p, int status)
{
    p->door->stop(status);
}

void fab_processes_close(fab_processes *p)
{
    if (!p) return;
    p->door->close();
    fab_release(p);
}
