/* csv.c - csv files that appear complete or not at all.
 *
 * SPDX-License-Identifier: MIT */
#include "print/csv.h"
#include "print/output.h"
#include <string.h>

int csv_open(csv *c, const char *path)
{
    const fab_status s = fab_output_open(&c->file, path, &c->f);
    return s == FAB_OK ? DONE : say_status(s);
}

int csv_close(csv *c, int status)
{
    const fab_status s = fab_output_close(c->file, status == DONE);
    return s == FAB_OK ? status : say_status(s);
}

void csv_name(FILE *f, const char *name)
{
    if (!strpbrk(name, ",\"\n\r")) {
        fputs(name, f);
        return;
    }
    fputc('"', f);
    for (; *name; name++) {
        if (*name == '"') fputc('"', f);
        fputc(*name, f);
    }
    fputc('"', f);
}
