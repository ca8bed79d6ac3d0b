/* test_shares.c - a factor analysis of a file whose coordinates processes share: sources, gathering, shards, failures.
 *
 * Processes are threads here (ranks.h); tests/test_mpi.py has real ones.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fa_case.h"
#include "fabayes/table.h"
#include "files.h"
#include "la/ops.h"
#include "ranks.h"
#include <stdatomic.h>

enum { D = 29, K = 3, N = 317, FORMATS = 3, SHARES = 5 };

typedef struct shares {
    int64_t n, of[5];
} shares;

static const shares divided[SHARES] = {
    {1, {29}}, {2, {11, 18}}, {2, {28, 1}}, {3, {1, 27, 1}}, {5, {4, 6, 5, 7, 7}}};
static const char *const formats[FORMATS] = {"npy", "csv", "svm"};

static const char *file_of(int format)
{
    static char path[FORMATS][512];
    char name[32];
    snprintf(name, sizeof name, "x.%s", formats[format]);
    snprintf(path[format], sizeof path[format], "%s", in_folder(name));
    return path[format];
}

/* The same rows as npy, csv and libsvm. */
static void write_rows(void)
{
    const double *x = fa_rows(D, K, N, 2385);
    assert_ok(fab_npy_write(
        file_of(0),
        &(fab_npy){.type = FAB_F64, .ndim = 2, .rows = N, .cols = D, .data = (void *)x}));
    FILE *csv = fopen(file_of(1), "w"), *svm = fopen(file_of(2), "w");
    for (int d = 0; d < D; d++) fprintf(csv, "%sc%d", d ? "," : "", d);
    for (int64_t j = 0; j < N; j++) {
        fprintf(csv, "\n");
        fprintf(svm, "1");
        for (int64_t d = 0; d < D; d++) {
            fprintf(csv, "%s%.17g", d ? "," : "", x[j * D + d]);
            fprintf(svm, " %lld:%.17g", (long long)d + 1, x[j * D + d]);
        }
        fprintf(svm, "\n");
    }
    fprintf(csv, "\n");
    assert_int_equal(fclose(csv) | fclose(svm), 0);
}

/* ---- sources -------------------------------------------------------------------------------------- */

static void a_share_has_its_columns_alone(void **state)
{
    (void)state;
    write_rows();
    const double *x = fa_rows(D, K, N, 2385);
    for (int f = 0; f < FORMATS; f++)
        for (int s = 0; s < SHARES; s++)
            for (int64_t k = 0, first = 0; k < divided[s].n; first += divided[s].of[k++]) {
                const int64_t own = divided[s].of[k], label = f == 2, columns = own + label;
                fab_source *source;
                int64_t got, at = 0;
                double *row = doubles(40 * columns);
                assert_ok(fab_source_open(&source, file_of(f), NULL));
                assert_ok(fab_source_share(source, first, own));
                assert_int_equal(fab_source_columns(source), columns);
                do {
                    assert_ok(fab_source_next(source, 40, row, &got));
                    for (int64_t j = 0; j < got; j++)
                        for (int64_t d = 0; d < own; d++)
                            if (row[j * columns + label + d] != x[(at + j) * D + first + d])
                                fail_msg("%s: row %lld, column %lld", formats[f],
                                         (long long)(at + j), (long long)(first + d));
                    at += got;
                } while (got > 0);
                assert_int_equal(at, N);
                fab_source_close(source);
            }
}

static void a_share_that_is_none_is_refused(void **state)
{
    (void)state;
    fab_source *source;
    double row[D];
    int64_t got;
    write_rows();
    assert_ok(fab_source_open(&source, file_of(0), NULL));
    assert_int_equal(fab_source_share(source, 0, 0), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_source_share(source, -1, 3), FAB_BAD_ARGUMENT);
    assert_int_equal(fab_source_share(source, 20, 10), FAB_BAD_ARGUMENT);
    assert_detail("x.npy", "there are 29");
    assert_ok(fab_source_next(source, 1, row, &got));
    assert_int_equal(fab_source_share(source, 0, 10), FAB_BAD_ARGUMENT);
    fab_source_close(source);
}

/* ---- a factor analysis ---------------------------------------------------------------------------- */

enum { IN_ONE, IN_SHARDS };

typedef struct task {
    const char *file, *method;
    int out;
    char output[512];
    fab_fa_report report;
    int64_t constants, fails_at;
    char name[32];
} task;

static _Thread_local int64_t thread_calls, thread_fails_at;
static atomic_llong held; /* by all threads */

static void *thread_alloc(size_t bytes)
{
    if (++thread_calls == thread_fails_at) return NULL;
    atomic_fetch_add(&held, 1);
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void thread_release(void *p)
{
    if (p) atomic_fetch_sub(&held, 1);
    free(p);
}

static fab_status learn(const rank *r, task *t, fab_source *source, const fab_exec *x)
{
    fab_factors *f;
    const fab_gauss *q;
    const fab_factors_plan plan = {.source = source, .method = t->method, .K = K};
    FAB_TRY(fab_factors_create(&f, &plan, x));
    fab_status s = fab_factors_read(f);
    if (s == FAB_OK) s = fab_factors_result(f, &q);
    if (s == FAB_OK && t->out == IN_SHARDS)
        s = fab_factors_save_shards(f, r->number, t->output);
    else if (s == FAB_OK) {
        s = fab_factors_gather(f);
        if (s == FAB_OK && r->number == 0) s = fab_factors_save(f, t->output);
        if (s == FAB_OK && r->number == 0) s = fab_factors_report(f, &t->report);
        const int64_t *places;
        t->constants = fab_factors_constants(f, &places);
        snprintf(t->name, sizeof t->name, "%s", fab_factors_name(f, r->number == 0 ? D - 1 : 0));
        s = fab_agree(&r->comm, s, 0, "");
    }
    fab_factors_free(f);
    return s;
}

static fab_status share_and_learn(rank *r)
{
    task *t = r->ctx;
    fab_source *source = NULL;
    const fab_exec x = {.comm = &r->comm, .threads = 1};
    thread_calls = 0;
    thread_fails_at = t->fails_at;
    fab_status s = fab_source_open(&source, t->file, NULL);
    if (s == FAB_OK) s = fab_source_share(source, r->first, r->D);
    s = fab_agree(&r->comm, s, 0, "");
    if (s == FAB_OK) s = learn(r, t, source, &x);
    fab_source_close(source);
    thread_fails_at = 0;
    return s;
}

static void run_all(rank *r, task *t, const shares *s, const task *proto)
{
    for (int64_t k = 0; k < s->n; k++) t[k] = *proto;
    if (ranks_run(r, s->n, s->of, share_and_learn, t, sizeof *t))
        fail_msg("%s, %lld processes: %s", proto->method, (long long)s->n, r[0].said);
}

/* Relative to the largest element of F F'. */
static double gap_of(const fab_gauss *a, const fab_gauss *b)
{
    double gap = 0, top = 0;
    const double *A = a->F, *B = b->F;
    assert_int_equal(a->D, b->D);
    assert_int_equal(a->K, b->K);
    for (int64_t i = 0; i < a->D; i++) {
        gap = fmax(gap, fabs(a->mu[i] / b->mu[i] - 1));
        gap = fmax(gap, fabs(a->psi[i] / b->psi[i] - 1));
        for (int64_t j = 0; j < a->D; j++) {
            double s = 0, t = 0;
            for (int64_t k = 0; k < a->K; k++) {
                s += A[i * K + k] * A[j * K + k];
                t += B[i * K + k] * B[j * K + k];
            }
            top = fmax(top, fabs(t));
            gap = fmax(gap, fabs(s - t) / top);
        }
    }
    return gap;
}

static void shared_files_make_the_gaussian_of_one_process(void **state)
{
    (void)state;
    static const char *const method[] = {"online-em", "stochastic-em", "online-sga"};
    write_rows();
    for (int f = 0; f < FORMATS; f++)
        for (int m = 0; m < 3; m++) {
            rank r[5];
            task t[5], proto = {.file = file_of(f), .method = method[m]};
            fab_source *source;
            fab_factors *alone;
            const fab_gauss *q;
            assert_ok(fab_source_open(&source, proto.file, NULL));
            assert_ok(fab_factors_create(
                &alone, &(fab_factors_plan){.source = source, .method = method[m], .K = K}, NULL));
            assert_ok(fab_factors_read(alone));
            assert_ok(fab_factors_result(alone, &q));
            for (int s = 1; s < SHARES; s++)
                for (int out = IN_ONE; out <= IN_SHARDS; out++) {
                    fab_posterior *p;
                    proto.out = out;
                    snprintf(proto.output, sizeof proto.output, "%s",
                             in_folder(out == IN_ONE ? "q" : "q.safetensors.index.json"));
                    run_all(r, t, &divided[s], &proto);
                    for (int64_t k = 0; k < divided[s].n; k++)
                        if (r[k].status != FAB_OK) fail_msg("%s: %s", method[m], r[k].said);
                    assert_ok(fab_posterior_load(&p, proto.output));
                    const double gap = gap_of(p->mix.part[0], q);
                    if (!(gap <= 1e-10)) fail_msg("%s, division %d: %g", method[m], s, gap);
                    fab_posterior_free(p);
                    if (out == IN_SHARDS) continue;
                    assert_int_equal(t[0].report.n, N);
                    assert_string_equal(t[0].name, f == 1 ? "c28" : f == 2 ? "x29" : "x28");
                }
            fab_factors_free(alone);
            fab_source_close(source);
        }
}

/* The n-th allocation of one process fails, for every n until there are no more: all end with its sentence, nobody waits, nothing is held. */
static void where_one_process_has_no_memory_all_end(void **state)
{
    (void)state;
    write_rows();
    fab_set_allocator(thread_alloc, thread_release);
    for (int out = IN_ONE; out <= IN_SHARDS; out++)
        for (int64_t who = 0; who < 2; who++) {
            rank r[5];
            task t[5], proto = {.file = file_of(1), .method = "online-em", .out = out};
            snprintf(proto.output, sizeof proto.output, "%s",
                     in_folder(out == IN_ONE ? "q" : "q.safetensors.index.json"));
            int64_t at = 0, failed = 1;
            while (failed) {
                for (int64_t k = 0; k < 2; k++) t[k] = proto;
                t[who].fails_at = ++at;
                if (ranks_run(r, 2, divided[1].of, share_and_learn, t, sizeof *t))
                    fail_msg("process %lld, allocation %lld: %s", (long long)who, (long long)at,
                             r[who].said);
                failed = r[who].status != FAB_OK;
                assert_int_equal(r[0].status, r[1].status);
                assert_string_equal(r[0].said, r[1].said);
                if (failed) assert_int_equal(r[who].status, FAB_NO_MEMORY);
                if (atomic_load(&held) != 0)
                    fail_msg("process %lld, allocation %lld: %lld held: %s", (long long)who,
                             (long long)at, (long long)atomic_load(&held), r[who].said);
            }
            assert_true(at > 30);
        }
    fab_set_allocator(NULL, NULL);
}

/* An index is read with distrust: no allocation that fails is passed over. */
static fab_status read_index(void)
{
    fab_tensors *t;
    const fab_status s = fab_tensors_read(&t, in_folder("q.safetensors.index.json"));
    if (s == FAB_OK) fab_tensors_free(t);
    return s;
}

static void every_failed_allocation_of_an_index_is_reported(void **state)
{
    (void)state;
    rank r[5];
    task t[5], proto = {.file = file_of(0), .method = "online-em", .out = IN_SHARDS};
    write_rows();
    snprintf(proto.output, sizeof proto.output, "%s", in_folder("q.safetensors.index.json"));
    run_all(r, t, &divided[3], &proto);
    assert_true(fail_every_allocation(read_index) > 10);
}

#define WITH_FOLDER(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(a_share_has_its_columns_alone),
        WITH_FOLDER(a_share_that_is_none_is_refused),
        WITH_FOLDER(shared_files_make_the_gaussian_of_one_process),
        WITH_FOLDER(where_one_process_has_no_memory_all_end),
        WITH_FOLDER(every_failed_allocation_of_an_index_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
