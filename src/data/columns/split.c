/* split.c - which rows go where: training and test rows, folds, mini-batches.
 *
 *   1  order = 0 .. n-1, shuffled
 *   2  with classes: sorted by class; rows of one class keep their random order
 *   3  deal:  n rows to k folds in turn, beginning with a random one; or m of n rows to the test part, as
 *      evenly spaced as can be, with a random start (systematic sampling)
 *   4  the rows of each part in rising order
 *
 * Groups are dealt whole: the largest first, each to the fold that has the fewest rows, or, in random order, to the test part
 * as long as it comes nearer to m rows.  Rows in the order of time are cut into blocks, the latest first.
 *
 * Dealing in the order of the classes is what stratifies: neighbours in that order go to different folds.
 * The random start gives every row the same chance, m / n, also the only row of its class.
 *
 * SPDX-License-Identifier: MIT */
#include "data/columns/split.h"
#include "base/memory.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Streams of random numbers, far from the small ones of the methods; those of the epochs follow the last. */
enum { STREAM_OF_ORDER = 0x73706C00, STREAM_OF_START, STREAM_OF_EPOCHS };

struct fab_split {
    int64_t n, parts;
    int ordered;    /* part p is the p-th block from the end, and its rest are the rows before it */
    int64_t *row;   /* n, part after part */
    int64_t *start; /* parts + 1: part p is row[start[p]] .. row[start[p + 1] - 1] */
};

/* ---- life ------------------------------------------------------------------------------------ */

static void layout(fab_layout *l, void *handle)
{
    fab_split *s = handle;
    s->row = fab_place(l, s->n, sizeof *s->row);
    s->start = fab_place(l, s->parts + 1, sizeof *s->start);
}

void fab_split_free(fab_split *s)
{
    fab_release(s);
}

/* ---- 2: the order of the classes ------------------------------------------------------------- */

typedef struct place {
    double y;
    int64_t at, row; /* where the row stood in the random order */
} place;

static int by_class(const void *a, const void *b)
{
    const place *p = a, *q = b;
    if (p->y != q->y) return p->y < q->y ? -1 : 1;
    return (p->at > q->at) - (p->at < q->at);
}

static fab_status check_classes(int64_t n, const double *y)
{
    if (!y) return FAB_OK;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(y[i]))
            return FAB_FAIL(FAB_BAD_DATA, "split: the class of row %lld is %g", (long long)i, y[i]);
    return FAB_OK;
}

static fab_status sort_by_class(int64_t n, const double *y, int64_t *order)
{
    place *places;
    FAB_TRY(fab_alloc_array((void **)&places, n, sizeof *places, "split"));
    for (int64_t i = 0; i < n; i++) places[i] = (place){y[order[i]], i, order[i]};
    qsort(places, (size_t)n, sizeof *places, by_class);
    for (int64_t i = 0; i < n; i++) order[i] = places[i].row;
    fab_release(places);
    return FAB_OK;
}

/* ---- 3: deal --------------------------------------------------------------------------------- */

typedef struct random_source {
    uint64_t seed;
    fab_purpose purpose;
} random_source;

/* A random number of 0 .. n-1. */
static int64_t random_start(const random_source *r, int64_t n)
{
    double u;
    fab_random_uniform(r->seed, r->purpose, STREAM_OF_START, 0, 1, &u);
    const int64_t start = (int64_t)(u * (double)n);
    return start < n ? start : n - 1;
}

/* Position after position: its fold. */
static void deal_folds(int64_t n, int64_t k, int64_t fold, const int64_t *order, int64_t *part)
{
    for (int64_t i = 0; i < n; i++) {
        part[order[i]] = fold;
        fold = fold + 1 < k ? fold + 1 : 0;
    }
}

/* Each position adds m to the account; whenever it reaches n, n are paid for a row in part 1. */
static void deal_test(int64_t n, int64_t m, int64_t account, const int64_t *order, int64_t *part)
{
    for (int64_t i = 0; i < n; i++) {
        const int pays = account >= n - m;
        part[order[i]] = pays;
        account += pays ? m - n : m;
    }
}

/* ---- 4: the parts ---------------------------------------------------------------------------- */

static void collect(fab_split *s, const int64_t *part)
{
    for (int64_t p = 0; p <= s->parts; p++) s->start[p] = 0;
    for (int64_t i = 0; i < s->n; i++) s->start[part[i] + 1]++;
    for (int64_t p = 0; p < s->parts; p++) s->start[p + 1] += s->start[p];
    for (int64_t i = 0; i < s->n; i++) s->row[s->start[part[i]]++] = i;
    for (int64_t p = s->parts; p > 0; p--) s->start[p] = s->start[p - 1]; /* they have moved on */
    s->start[0] = 0;
}

/* tested = 0: folds; else how many rows are tested. */
static fab_status fill(fab_split *s, int64_t tested, const double *y, const random_source *r)
{
    int64_t *part;
    fab_random_shuffle(r->seed, r->purpose, STREAM_OF_ORDER, s->n, s->row); /* 1 */
    if (y) FAB_TRY(sort_by_class(s->n, y, s->row));                         /* 2 */
    FAB_TRY(fab_alloc_array((void **)&part, s->n, sizeof *part, "split"));
    if (tested)
        deal_test(s->n, tested, random_start(r, s->n), s->row, part); /* 3 */
    else
        deal_folds(s->n, s->parts, random_start(r, s->parts), s->row, part);
    collect(s, part); /* 4 */
    fab_release(part);
    return FAB_OK;
}

static fab_status build(fab_split **s, int64_t n, int64_t parts, int64_t tested, const double *y,
                        random_source r)
{
    const fab_split proto = {.n = n, .parts = parts};
    FAB_TRY(check_classes(n, y));
    FAB_TRY(fab_build((void **)s, sizeof **s, &proto, layout));
    const fab_status status = fill(*s, tested, y, &r);
    if (status == FAB_OK) return FAB_OK;
    fab_split_free(*s);
    *s = NULL;
    return status;
}

/* ---- groups ---------------------------------------------------------------------------------- */

typedef struct row_group {
    int64_t first, rows; /* of the rows in the order of their groups */
    int64_t at;          /* in random order */
} row_group;

static int by_size(const void *a, const void *b)
{
    const row_group *p = a, *q = b;
    if (p->rows != q->rows) return p->rows > q->rows ? -1 : 1;
    return (p->at > q->at) - (p->at < q->at);
}

static int by_chance(const void *a, const void *b)
{
    const row_group *p = a, *q = b;
    return (p->at > q->at) - (p->at < q->at);
}

/* The groups in random order.  order: n, the rows in the order of their groups. */
static fab_status find_groups(int64_t n, const double *of, const random_source *r, int64_t *order,
                              row_group **groups, int64_t *count)
{
    int64_t *shuffled;
    *groups = NULL;
    *count = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(of[i]))
            return FAB_FAIL(FAB_BAD_DATA, "split: the group of row %lld is %g", (long long)i,
                            of[i]);
        order[i] = i;
    }
    FAB_TRY(sort_by_class(n, of, order));
    for (int64_t i = 0; i < n; i++) *count += i == 0 || of[order[i]] != of[order[i - 1]];
    FAB_TRY(fab_alloc_array((void **)groups, *count, sizeof **groups, "split"));
    for (int64_t i = 0, g = -1; i < n; i++) {
        if (i == 0 || of[order[i]] != of[order[i - 1]]) (*groups)[++g] = (row_group){.first = i};
        (*groups)[g].rows++;
    }
    FAB_TRY(fab_alloc_array((void **)&shuffled, *count, sizeof *shuffled, "split"));
    fab_random_shuffle(r->seed, r->purpose, STREAM_OF_ORDER, *count, shuffled);
    for (int64_t g = 0; g < *count; g++) (*groups)[g].at = shuffled[g];
    fab_release(shuffled);
    qsort(*groups, (size_t)*count, sizeof **groups, by_chance);
    return FAB_OK;
}

static void put_group(const row_group *g, const int64_t *order, int64_t p, int64_t *part)
{
    for (int64_t i = g->first; i < g->first + g->rows; i++) part[order[i]] = p;
}

/* tested = 0: folds; else how many rows are tested, about. */
static fab_status deal_groups(fab_split *s, int64_t tested, row_group *groups, int64_t count,
                              const int64_t *order, int64_t *part)
{
    if (count < s->parts)
        return FAB_FAIL(FAB_BAD_DATA, "split: %lld groups cannot make %lld parts", (long long)count,
                        (long long)s->parts);
    for (int64_t p = 0; p <= s->parts; p++)
        s->start[p] = 0; /* rows of the parts, until `collect` */
    if (!tested) {
        qsort(groups, (size_t)count, sizeof *groups, by_size);
        for (int64_t g = 0; g < count; g++) {
            int64_t least = 0;
            for (int64_t p = 1; p < s->parts; p++)
                if (s->start[p] < s->start[least]) least = p;
            put_group(&groups[g], order, least, part);
            s->start[least] += groups[g].rows;
        }
        return FAB_OK;
    }
    int64_t taken = 0, smallest = 0;
    for (int64_t g = 0; g < count; g++) {
        const int nearer = 2 * (tested - taken) > groups[g].rows && taken + groups[g].rows < s->n;
        put_group(&groups[g], order, nearer, part);
        if (nearer) taken += groups[g].rows;
        if (groups[g].rows < groups[smallest].rows) smallest = g;
    }
    if (!taken) put_group(&groups[smallest], order, 1, part);
    return FAB_OK;
}

static fab_status build_groups(fab_split **s, int64_t n, int64_t parts, int64_t tested,
                               const double *of, random_source r)
{
    const fab_split proto = {.n = n, .parts = parts};
    int64_t *part = NULL, count;
    row_group *groups = NULL;
    FAB_TRY(fab_build((void **)s, sizeof **s, &proto, layout));
    fab_status done = fab_alloc_array((void **)&part, n, sizeof *part, "split");
    if (done == FAB_OK) done = find_groups(n, of, &r, (*s)->row, &groups, &count);
    if (done == FAB_OK) done = deal_groups(*s, tested, groups, count, (*s)->row, part);
    if (done == FAB_OK) collect(*s, part);
    fab_release(groups);
    fab_release(part);
    if (done == FAB_OK) return FAB_OK;
    fab_split_free(*s);
    *s = NULL;
    return done;
}

/* ---- the order of time ----------------------------------------------------------------------- */

/* Part p ends where part p - 1 begins: it is the rows start[p + 1] .. start[p] - 1, and the first block has no part. */
static fab_status build_ordered(fab_split **s, int64_t n, int64_t k)
{
    const fab_split proto = {.n = n, .parts = k, .ordered = 1};
    FAB_TRY(fab_build((void **)s, sizeof **s, &proto, layout));
    const int64_t block = n / (k + 1), longer = n % (k + 1); /* the first ones have a row more */
    for (int64_t i = 0; i < n; i++) (*s)->row[i] = i;
    for (int64_t p = 0; p <= k; p++) {
        const int64_t b = k + 1 - p; /* blocks before the end of part p */
        (*s)->start[p] = b * block + (b < longer ? b : longer);
    }
    return FAB_OK;
}

/* Part 1, the last rows, to test with. */
static fab_status build_last(fab_split **s, int64_t n, int64_t tested)
{
    const fab_split proto = {.n = n, .parts = 2};
    FAB_TRY(fab_build((void **)s, sizeof **s, &proto, layout));
    for (int64_t i = 0; i < n; i++) (*s)->row[i] = i;
    (*s)->start[0] = 0;
    (*s)->start[1] = n - tested;
    (*s)->start[2] = n;
    return FAB_OK;
}

/* ---- the public verbs ------------------------------------------------------------------------ */

static fab_status count_tested(int64_t n, double fraction, int64_t *tested)
{
    if (!(fraction > 0 && fraction < 1))
        return FAB_FAIL(FAB_BAD_ARGUMENT, "split: a test part of %g is not between 0 and 1",
                        fraction);
    *tested = llround(fraction * (double)n);
    if (*tested >= 1 && *tested < n) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT, "split: %g of %lld rows leaves no row to %s with", fraction,
                    (long long)n, *tested < 1 ? "test" : "train");
}

static fab_status check_folds(int64_t n, int64_t most, int64_t k)
{
    if (k >= 2 && k <= most) return FAB_OK;
    return FAB_FAIL(FAB_BAD_ARGUMENT, "split: %lld folds of %lld rows; 2 to %lld are possible",
                    (long long)k, (long long)n, (long long)most);
}

fab_status fab_split_test_for(fab_purpose purpose, fab_split **s, int64_t n, double fraction,
                              const double *y, uint64_t seed)
{
    int64_t tested;
    *s = NULL;
    FAB_TRY(count_tested(n, fraction, &tested));
    return build(s, n, 2, tested, y, (random_source){seed, purpose});
}

fab_status fab_split_test(fab_split **s, int64_t n, double fraction, const double *y, uint64_t seed)
{
    return fab_split_test_for(FAB_PURPOSE_SPLIT, s, n, fraction, y, seed);
}

fab_status fab_split_folds_for(fab_purpose purpose, fab_split **s, int64_t n, int64_t k,
                               const double *y, uint64_t seed)
{
    *s = NULL;
    FAB_TRY(check_folds(n, n, k));
    return build(s, n, k, 0, y, (random_source){seed, purpose});
}

fab_status fab_split_folds(fab_split **s, int64_t n, int64_t k, const double *y, uint64_t seed)
{
    return fab_split_folds_for(FAB_PURPOSE_SPLIT, s, n, k, y, seed);
}

fab_status fab_split_groups(fab_split **s, int64_t n, int64_t k, const double *group, uint64_t seed)
{
    *s = NULL;
    FAB_TRY(check_folds(n, n, k));
    return build_groups(s, n, k, 0, group, (random_source){seed, FAB_PURPOSE_SPLIT});
}

fab_status fab_split_ordered(fab_split **s, int64_t n, int64_t k)
{
    *s = NULL;
    FAB_TRY(check_folds(n, n - 1, k));
    return build_ordered(s, n, k);
}

fab_status fab_dataset_folds(fab_purpose purpose, fab_split **s, const fab_dataset *t, int64_t k,
                             int classes, uint64_t seed)
{
    *s = NULL;
    if (t->ordered) return fab_split_ordered(s, t->n, k);
    if (!t->group) return fab_split_folds_for(purpose, s, t->n, k, classes ? t->y : NULL, seed);
    FAB_TRY(check_folds(t->n, t->n, k));
    return build_groups(s, t->n, k, 0, t->group, (random_source){seed, purpose});
}

fab_status fab_dataset_test(fab_purpose purpose, fab_split **s, const fab_dataset *t,
                            double fraction, int classes, uint64_t seed)
{
    int64_t tested;
    *s = NULL;
    if (!t->ordered && !t->group)
        return fab_split_test_for(purpose, s, t->n, fraction, classes ? t->y : NULL, seed);
    FAB_TRY(count_tested(t->n, fraction, &tested));
    if (t->group) return build_groups(s, t->n, 2, tested, t->group, (random_source){seed, purpose});
    return build_last(s, t->n, tested);
}

int64_t fab_split_parts(const fab_split *s)
{
    return s->parts;
}

int64_t fab_split_part(const fab_split *s, int64_t part, const int64_t **rows)
{
    *rows = s->row;
    if (part < 0 || part >= s->parts) return 0;
    if (s->ordered) {
        *rows += s->start[part + 1];
        return s->start[part] - s->start[part + 1];
    }
    *rows += s->start[part];
    return s->start[part + 1] - s->start[part];
}

/* The rows that are not in a rising list; in the order of time those before it. */
int64_t fab_split_rest(const fab_split *s, int64_t part, int64_t *rows)
{
    const int64_t *left, n = fab_split_part(s, part, &left);
    const int64_t *const end = left + n;
    const int64_t rest = s->ordered && n ? left - s->row : s->n - n;
    if (!rows) return rest;
    if (s->ordered && n) {
        memcpy(rows, s->row, (size_t)rest * sizeof *rows);
        return rest;
    }
    for (int64_t i = 0; i < s->n; i++) {
        if (left < end && *left == i)
            left++;
        else
            *rows++ = i;
    }
    return rest;
}

/* ---- mini-batches ---------------------------------------------------------------------------- */

struct fab_batches {
    int64_t n, size, epoch; /* epoch -1: none is in `order` */
    uint64_t seed;
    int64_t *order; /* n */
};

static void layout_batches(fab_layout *l, void *handle)
{
    fab_batches *b = handle;
    b->order = fab_place(l, b->n, sizeof *b->order);
}

fab_status fab_batches_create(fab_batches **b, int64_t n, int64_t size, uint64_t seed)
{
    const fab_batches proto = {.n = n, .size = size, .epoch = -1, .seed = seed};
    *b = NULL;
    if (n < 1) return FAB_FAIL(FAB_BAD_ARGUMENT, "batches: there are no rows");
    if (size < 1)
        return FAB_FAIL(FAB_BAD_ARGUMENT, "batches: a size of %lld is below 1", (long long)size);
    return fab_build((void **)b, sizeof **b, &proto, layout_batches);
}

void fab_batches_free(fab_batches *b)
{
    fab_release(b);
}

int64_t fab_batches_per_epoch(const fab_batches *b)
{
    return (b->n - 1) / b->size + 1;
}

fab_status fab_batches_get(fab_batches *b, int64_t epoch, int64_t i, const int64_t **rows,
                           int64_t *count)
{
    if (epoch < 0 || i < 0 || i >= fab_batches_per_epoch(b))
        return FAB_FAIL(FAB_BAD_ARGUMENT,
                        "batches: there is no batch %lld of epoch %lld: an epoch has %lld",
                        (long long)i, (long long)epoch, (long long)fab_batches_per_epoch(b));
    if (epoch != b->epoch)
        fab_random_shuffle(b->seed, FAB_PURPOSE_BATCH, STREAM_OF_EPOCHS + (uint64_t)epoch, b->n,
                           b->order);
    b->epoch = epoch;
    const int64_t left = b->n - i * b->size;
    *rows = b->order + i * b->size;
    *count = left < b->size ? left : b->size;
    return FAB_OK;
}
