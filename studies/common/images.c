/* images.c - images and their labels from idx files.
 *
 * SPDX-License-Identifier: MIT */
#include "images.h"
#include <stdlib.h>

#define WHITE 255 /* largest value of a pixel */

static double *read_all(const char *path, int64_t *rows, int64_t *columns)
{
    fab_source *s;
    int64_t got;
    must(fab_source_open(&s, path, NULL));
    *rows = fab_source_rows(s);
    *columns = fab_source_columns(s);
    double *p = numbers(*rows * *columns);
    for (int64_t done = 0; done < *rows; done += got)
        must(fab_source_next(s, *rows - done, p + done * *columns, &got));
    fab_source_close(s);
    return p;
}

fab_dataset images_read(const char *images, const char *labels)
{
    fab_dataset t = {0};
    int64_t n, one;
    t.x = read_all(images, &t.n, &t.D);
    t.y = read_all(labels, &n, &one);
    for (int64_t i = 0; i < t.n * t.D; i++) t.x[i] /= WHITE;
    return t;
}

void images_free(fab_dataset *t)
{
    free(t->x);
    free(t->y);
}
