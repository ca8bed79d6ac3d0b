/* csv.c - csv files that appear complete or not at all.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "print/csv.h"
#include "print/output.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int csv_open(csv *c, const char *path)
{
    const size_t size = strlen(path) + 32;
    *c = (csv){.path = path, .temp = malloc(size)};
    if (!c->temp) return say_failed("out of memory");
    snprintf(c->temp, size, "%s.%ld.part", path, (long)getpid());
    c->f = fopen(c->temp, "wx");
    if (c->f) return DONE;
    say_failed("%s: cannot be written: %s", path, strerror(errno));
    free(c->temp);
    return FAILED;
}

int csv_close(csv *c, int status)
{
    const int before = ferror(c->f) ? errno : 0; /* of a write inside an earlier fprintf */
    errno = 0;
    int lost = ferror(c->f);
    lost |= fflush(c->f) != 0 || fsync(fileno(c->f)) != 0;
    lost |= fclose(c->f) != 0;
    if (status == DONE && !lost && rename(c->temp, c->path) == 0) {
        free(c->temp);
        return DONE;
    }
    const int why = before ? before : errno;
    if (status == DONE)
        status = say_failed("%s: cannot be written: %s", c->path,
                            why ? strerror(why) : "not everything was written");
    remove(c->temp);
    free(c->temp);
    return status;
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
