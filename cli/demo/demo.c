/* demo.c - `fabayes demo`: the main jobs on built-in data, with a report to look at.
 *
 * SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L
#include "demo/demo.h"
#include "options.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const demo_part *const parts[] = {&demo_houses, &demo_wave,   &demo_process,
                                         &demo_moons,  &demo_search, &demo_stream};

typedef struct demo {
    demo_call call;
    int64_t json;
    void *part[COUNT(parts)];
    char page[DEMO_PATH];
    double seconds;
} demo;

/* Words of a command line, files with their folder. */
enum { WORDS = 32, FILES = 2 };
typedef struct shell {
    const demo_call *call;
    char *word[WORDS], file[FILES][DEMO_PATH];
    int words, files;
} shell;

/* ---- what the parts share ------------------------------------------------------------------------- */

int demo_path(char path[DEMO_PATH], const demo_call *call, const char *name)
{
    if (snprintf(path, DEMO_PATH, "%s/%s", call->folder, name) < DEMO_PATH) return DONE;
    return say_failed("demo: the name of the folder is too long");
}

/* A word with a dot that is no option names a file of the folder. */
static int put_word(shell *s, char *word)
{
    if (s->words == WORDS) return say_failed("demo: a command has more than %d words", WORDS);
    if (word[0] == '-' || !strchr(word, '.')) {
        s->word[s->words++] = word;
        return DONE;
    }
    if (s->files == FILES) return say_failed("demo: a command has more than %d files", FILES);
    s->word[s->words++] = s->file[s->files];
    return demo_path(s->file[s->files++], s->call, word);
}

int demo_fit(const demo_call *call, const char *command)
{
    char text[DEMO_PATH], more[64], *rest = NULL;
    const char *blank = " \\\n"; /* a command may be broken into lines */
    shell s = {.call = call};
    int status = DONE;
    snprintf(more, sizeof more, "--quiet --threads %" PRId64, call->exec.threads);
    if (!call->exec.threads) snprintf(more, sizeof more, "--quiet");
    snprintf(text, sizeof text, "%s %s", strstr(command, "fit ") + strlen("fit "), more);
    for (char *w = strtok_r(text, blank, &rest); w && status == DONE;
         w = strtok_r(NULL, blank, &rest))
        status = put_word(&s, w);
    if (status == DONE) status = verb_fit.run(&verb_fit, s.words, s.word);
    progress_open(call->quiet); /* the fit has closed its own */
    return status;
}

void demo_begin_table(char *cell, size_t size, int n, const char *const *head, int columns,
                      const char **shown)
{
    for (int j = 0; j < n; j++) shown[j] = cell + (size_t)j * size;
    for (int j = 0; j < columns; j++) snprintf(cell + (size_t)j * size, size, "%s", head[j]);
}

void demo_print_table(const char *const *cell, int rows, int columns)
{
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            int width = 0;
            for (int k = 0; k < rows; k++) {
                const int length = (int)strlen(cell[k * columns + j]);
                if (length > width) width = length;
            }
            printf(j ? "  %*s" : "%-*s", width, cell[i * columns + j]);
            if (j == columns - 1) putchar('\n');
        }
}

/* ---- what is said --------------------------------------------------------------------------------- */

static fab_status fill_page(const demo *m, fab_page *page)
{
    fab_page_text(page,
                  "Six jobs on data made by a rule that is known, so that what was learned can "
                  "be held against it.");
    for (int i = 0; i < COUNT(parts); i++) {
        const fab_status s = parts[i]->show(m->part[i], page);
        if (s != FAB_OK) return s;
    }
    return fab_page_write(page, m->page);
}

static int write_page(const demo *m)
{
    fab_page *page = NULL;
    fab_status s = fab_page_create(&page, "fabayes: what it does, on built-in data");
    if (s == FAB_OK) s = fill_page(m, page);
    fab_page_free(page);
    return s == FAB_OK ? DONE : say_status(s);
}

static int say_json(const demo *m)
{
    json_t *j = json_object();
    for (int i = 0; i < COUNT(parts); i++) json_put(j, parts[i]->key, parts[i]->json(m->part[i]));
    json_put(j, "report", json_text(m->page));
    json_put(j, "seconds", json_number(m->seconds));
    return json_say(j);
}

static int say_text(const demo *m)
{
    for (int i = 0; i < COUNT(parts); i++) {
        parts[i]->print(m->part[i]);
        putchar('\n');
    }
    printf("%-10s %s\n", "report", m->page);
    printf("%-10s %.1f s\n", "time", m->seconds);
    return DONE;
}

/* ---- the verb ------------------------------------------------------------------------------------- */

static int make_folder(demo *m)
{
    if (mkdir(m->call.folder, 0777) != 0 && errno != EEXIST)
        return say_failed("%s: cannot be made: %s", m->call.folder, strerror(errno));
    return demo_path(m->page, &m->call, "index.html");
}

static int run_demo(demo *m)
{
    const double start = fab_clock();
    int status = make_folder(m);
    for (int i = 0; i < COUNT(parts) && status == DONE; i++)
        status = parts[i]->run(&m->part[i], &m->call);
    if (status == DONE) status = write_page(m);
    m->seconds = fab_clock() - start;
    progress_close();
    if (status == DONE && m->json) status = say_json(m);
    if (status == DONE && !m->json && !m->call.quiet) status = say_text(m);
    return status;
}

static int run(const verb *self, int argc, char **argv)
{
    demo m = {.call = {.folder = "report"}};
    const option options[] = {
        {"output", 'o', OPT_TEXT, &m.call.folder, "FOLDER", 0, 0, NULL,
         "for the page and the other files (default report)"},
        OPTION_THREADS(&m.call.exec.threads),
        OPTION_JSON(&m.json),
        OPTION_QUIET(&m.call.quiet),
    };
    const call_shape shape = {options, COUNT(options), NULL, 0, 0, NULL, NULL, NULL};
    int status;
    if (!options_parse(self, &shape, argc, argv, NULL, &status)) return status;
    progress_open(m.call.quiet);
    status = run_demo(&m);
    for (int i = 0; i < COUNT(parts); i++) parts[i]->free(m.part[i]);
    return status;
}

const verb verb_demo = {"demo", "[-o FOLDER]",
                        "the main jobs on built-in data, with a report to look at", run};
