/* source_case.h - what the tests of sources share: reading bytes in memory through windows of every size.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_SOURCE_CASE_H
#define FAB_SOURCE_CASE_H

#include "data/source/source.h"
#include "files.h"

enum { MANY = 4096 };
static const size_t rooms[] = {2, 3, 5, 7, 16, 61, 1 << 18};
enum { ROOMS = sizeof rooms / sizeof *rooms };

/* Read all rows of an open source, a few at a time; the values go to out.  Closes it. */
static inline fab_status drain(fab_source *s, double *out, int64_t *rows)
{
    const int64_t D = fab_source_columns(s);
    fab_status status = FAB_OK;
    int64_t got = 1;
    for (*rows = 0; status == FAB_OK && got > 0; *rows += got) {
        assert_true((*rows + 3) * D <= MANY);
        status = fab_source_next(s, 3, out + *rows * D, &got);
    }
    fab_source_close(s);
    return status;
}

static inline fab_status read_memory(const void *bytes, size_t n, const fab_source_options *o,
                                     size_t room, double *out, int64_t *rows)
{
    fab_source *s;
    *rows = 0;
    const fab_status status = fab_source_open_memory(&s, "rows.csv", bytes, n, o, room);
    if (status == FAB_OK) return drain(s, out, rows);
    assert_null(s);
    return status;
}

/* The bytes hold rows x columns values, whatever the window. */
static inline void check_values(const void *bytes, size_t n, const fab_source_options *o,
                                fab_format format, int64_t rows, int64_t columns,
                                const double *values)
{
    for (int i = 0; i < ROOMS; i++) {
        double out[MANY];
        int64_t got;
        fab_source *s;
        if (fab_source_open_memory(&s, "rows.csv", bytes, n, o, rooms[i]) != FAB_OK)
            fail_msg("%s", fab_detail());
        assert_int_equal(fab_source_format(s), format);
        assert_int_equal(fab_source_columns(s), columns);
        if (drain(s, out, &got) != FAB_OK) fail_msg("%s", fab_detail());
        assert_int_equal(got, rows);
        assert_memory_equal(out, values, (size_t)(rows * columns) * sizeof *values);
    }
}

/* The bytes are refused, in exactly these words, whatever the window. */
static inline void check_refused_with(const void *bytes, size_t n, const fab_source_options *o,
                                      const char *sentence)
{
    for (int i = 0; i < ROOMS; i++) {
        double out[MANY];
        int64_t rows;
        assert_int_not_equal(read_memory(bytes, n, o, rooms[i], out, &rows), FAB_OK);
        assert_string_equal(fab_detail(), sentence);
    }
}

#endif
