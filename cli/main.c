/* main.c - the command line `fabayes`: the table of verbs and who is called.
 *
 * SPDX-License-Identifier: MIT */
#include "options.h"
#include "print/output.h"
#include "processes.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const verb *const verbs[] = {
    &verb_fa,     &verb_fit,      &verb_cluster, &verb_update,  &verb_predict, &verb_score,
    &verb_report, &verb_tune,     &verb_propose, &verb_sample,  &verb_compare, &verb_merge,
    &verb_test,   &verb_evidence, &verb_info,    &verb_methods, &verb_demo,
};

static int print_usage(void)
{
    printf("fabayes %s - Gaussians of low rank plus diagonal: fit, store, use\n\n", fab_version());
    printf("usage: fabayes VERB ...\n\n");
    for (int i = 0; i < COUNT(verbs); i++)
        printf("  %-8s %-26s %s\n", verbs[i]->name, verbs[i]->arguments, verbs[i]->summary);
    printf("\n`fabayes VERB --help` lists the options of a verb, `fabayes --version` the version.\n"
           "Exit status: 0 done; 1 files, data or numerics failed; 2 the call was wrong.\n");
    return DONE;
}

/* The same for programs. */
static int usage_json(void)
{
    json_t *j = json_object(), *list = json_array();
    json_put(j, "version", json_text(fab_version()));
    for (int i = 0; i < COUNT(verbs); i++) {
        json_t *v = json_object();
        json_put(v, "name", json_text(verbs[i]->name));
        json_put(v, "arguments", json_text(verbs[i]->arguments));
        json_put(v, "summary", json_text(verbs[i]->summary));
        json_array_append_new(list, v);
    }
    json_put(j, "verbs", list);
    return json_say(j);
}

static const verb *find_verb(const char *name)
{
    for (int i = 0; i < COUNT(verbs); i++)
        if (strcmp(verbs[i]->name, name) == 0) return verbs[i];
    return NULL;
}

static int unknown_option(const char *word)
{
    static const char *const names[] = {"help", "version"};
    const char *near = fab_nearest(word + strspn(word, "-"), names, COUNT(names));
    if (near) return say_wrong("there is no option '%s'; did you mean '--%s'?", word, near);
    return say_wrong("there is no option '%s' before the verb; see `fabayes --help`", word);
}

static int unknown_verb(const char *word)
{
    const char *names[COUNT(verbs) + 1] = {"help"};
    if (word[0] == '-') return unknown_option(word);
    for (int i = 0; i < COUNT(verbs); i++) names[i + 1] = verbs[i]->name;
    const char *near = fab_nearest(word, names, COUNT(names));
    if (near) return say_wrong("there is no verb '%s'; did you mean '%s'?", word, near);
    return say_wrong("there is no verb '%s'; `fabayes` alone lists the verbs", word);
}

static int print_version(void)
{
    printf("fabayes %s\n", fab_version());
    return DONE;
}

/* `fabayes help VERB` is `fabayes VERB --help`. */
static int help(int argc, char **argv)
{
    char flag[] = "--help", *arguments[] = {flag, NULL};
    if (argc == 0) return print_usage();
    if (argc > 1) return say_wrong("help: '%s' is one argument too many", argv[1]);
    const verb *v = find_verb(argv[0]);
    return v ? v->run(v, 1, arguments) : unknown_verb(argv[0]);
}

/* FABAYES_ISA in the environment: the instruction set of the kernels. */
static int choose_isa(void)
{
    const char *name = getenv("FABAYES_ISA");
    const fab_status s = fab_set_isa(name && name[0] ? name : NULL);
    return s == FAB_OK ? DONE : say_wrong("FABAYES_ISA: %s", fab_detail());
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) return print_usage();
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return argc > 2 && strcmp(argv[2], "--json") == 0 ? usage_json() : print_usage();
    if (strcmp(name, "--version") == 0) return print_version();
    if (strcmp(name, "help") == 0) return help(argc - 2, argv + 2);
    const verb *v = find_verb(name);
    if (!v) return unknown_verb(name);
    const int status = processes_check(v);
    return status == DONE ? v->run(v, argc - 2, argv + 2) : status;
}

int main(int argc, char **argv)
{
    json_open();
    int status = processes_open();
    if (status == DONE) status = choose_isa();
    if (status == DONE) status = dispatch(argc, argv);
    progress_close();
    const int flushed = output_flush();
    return processes_close(status ? status : flushed);
}
