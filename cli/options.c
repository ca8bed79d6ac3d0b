/* options.c - one parser for the options of every verb.
 *
 * Numbers and choices are read by fab_settings_parse, each through a settings table of one field, so
 * that a flag and a method's setting obey the same rules and fail with the same sentence.
 *
 * SPDX-License-Identifier: MIT */
#include "options.h"
#include "print/output.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const unseen_names[] = {"refuse", "prior", NULL};
const char *const dtype_names[] = {"f64", "f32", NULL};

enum { MAX_NAMES = 128 };

/* A call while it is read. */
typedef struct call {
    const verb *v;
    const call_shape *s;
    int argc, at; /* argv[at] is next */
    char **argv;
    int operands;
    int *pending, pendings; /* argv numbers of the `--name=value` that are no option of the table */
} call;

/* ---- help ----------------------------------------------------------------------------------------- */

/* "-n N", "-o, --output FILE", "--dtype f64|f32" */
static void left_column(const option *o, char *buf, size_t size)
{
    char letter[8] = "", name[48] = "", value[64] = "";
    if (o->letter) snprintf(letter, sizeof letter, "-%c%s", o->letter, o->name ? ", " : "");
    if (o->name) snprintf(name, sizeof name, "--%s", o->name);
    if (o->value) snprintf(value, sizeof value, " %s", o->value);
    if (o->kind == OPT_CHOICE && !o->value) {
        size_t used = 0;
        for (int i = 0; o->names[i] && used < sizeof value; i++)
            used += (size_t)snprintf(value + used, sizeof value - used, "%c%s", i ? '|' : ' ',
                                     o->names[i]);
    }
    snprintf(buf, size, "%s%s%s", letter, name, value);
}

static void print_help(const call *c)
{
    printf("usage: fabayes %s %s\n\n%s\n\noptions:\n", c->v->name, c->v->arguments, c->v->summary);
    for (int i = 0; i < c->s->options; i++) {
        char left[128];
        left_column(&c->s->option[i], left, sizeof left);
        printf("  %-22s %s\n", left, c->s->option[i].help);
    }
    printf("  %-22s %s\n", "-h, --help", "this text");
    if (c->s->settings)
        printf("  %-22s %s\n", "--NAME=VALUE",
               "a setting of the method: see `fabayes methods METHOD`");
}

/* In the order of option_kind. */
static const char *const kind_names[] = {"flag", "text", "integer", "number", "choice", "texts"};

static json_t *json_option(const option *o)
{
    const char letter[2] = {o->letter, 0};
    json_t *j = json_object();
    json_put(j, "name", o->name ? json_text(o->name) : json_null());
    json_put(j, "letter", o->letter ? json_text(letter) : json_null());
    json_put(j, "kind", json_text(kind_names[o->kind]));
    json_put(j, "value", o->value ? json_text(o->value) : json_null());
    json_put(j, "help", json_text(o->help));
    if (!o->names) return j;
    json_t *words = json_array();
    for (int i = 0; o->names[i]; i++) json_array_append_new(words, json_text(o->names[i]));
    json_put(j, "words", words);
    return j;
}

/* The same for programs: man pages and completion are made of it. */
static int help_json(const call *c)
{
    json_t *j = json_object(), *options = json_array();
    json_put(j, "verb", json_text(c->v->name));
    json_put(j, "arguments", json_text(c->v->arguments));
    json_put(j, "summary", json_text(c->v->summary));
    json_put(j, "operands", json_integer(c->s->most));
    json_put(j, "settings", json_boolean(c->s->settings != NULL));
    for (int i = 0; i < c->s->options; i++)
        json_array_append_new(options, json_option(&c->s->option[i]));
    json_put(j, "options", options);
    return json_say(j);
}

/* ---- one option ----------------------------------------------------------------------------------- */

static const option *find_name(const call *c, const char *name, size_t length)
{
    for (int i = 0; i < c->s->options; i++) {
        const char *known = c->s->option[i].name;
        if (known && strlen(known) == length && strncmp(known, name, length) == 0)
            return &c->s->option[i];
    }
    return NULL;
}

static const option *find_letter(const call *c, char letter)
{
    for (int i = 0; i < c->s->options; i++)
        if (c->s->option[i].letter == letter) return &c->s->option[i];
    return NULL;
}

static double last_choice(const option *o)
{
    int n = 0;
    while (o->names[n]) n++;
    return n - 1;
}

/* Put the text of a number or a choice where it belongs. */
static int store_number(const call *c, const option *o, const char *text)
{
    const char letter[2] = {o->letter, 0};
    const char *name = o->name ? o->name : letter;
    fab_field f = {.name = name, .type = FAB_I64, .lo = o->lo, .hi = o->hi};
    if (o->kind == OPT_F64) f.type = FAB_F64;
    if (o->kind == OPT_CHOICE)
        f = (fab_field){.name = name, .type = FAB_ENUM, .hi = last_choice(o), .names = o->names};
    const fab_fields t = {c->v->name, &f, 1, 8};
    const fab_status s = fab_settings_parse(&t, o->where, name, text);
    return s == FAB_OK ? DONE : say_status(s);
}

static int store(const call *c, const option *o, const char *text)
{
    if (o->kind == OPT_FLAG) {
        *(int64_t *)o->where = 1;
        return DONE;
    }
    if (o->kind == OPT_TEXT) {
        *(const char **)o->where = text;
        return DONE;
    }
    if (o->kind == OPT_TEXTS) {
        option_texts *all = o->where;
        if (all->n == OPTION_TEXTS_MAX)
            return say_wrong("%s: --%s is given more than %d times", c->v->name, o->name,
                             OPTION_TEXTS_MAX);
        all->text[all->n++] = text;
        return DONE;
    }
    return store_number(c, o, text);
}

/* `shown` is the option as it was given; `text` the value glued to it, or NULL. */
static int take(call *c, const option *o, const char *shown, const char *text)
{
    if (o->kind == OPT_FLAG && text) return say_wrong("%s: %s takes no value", c->v->name, shown);
    if (o->kind != OPT_FLAG && !text) {
        if (c->at == c->argc) return say_wrong("%s: %s needs a value", c->v->name, shown);
        text = c->argv[c->at++];
    }
    if ((o->kind == OPT_TEXT || o->kind == OPT_TEXTS) && !*text)
        return say_wrong("%s: the value of %s is empty", c->v->name, shown);
    return store(c, o, text);
}

/* ---- names that are not known --------------------------------------------------------------------- */

/* The names of the options and of the settings, for the nearest one. */
static int known_names(const call *c, const fab_fields *t, const char **names)
{
    int n = 0;
    for (int i = 0; i < c->s->options && n < MAX_NAMES; i++)
        if (c->s->option[i].name) names[n++] = c->s->option[i].name;
    if (t)
        for (int64_t i = 0; i < t->n && n < MAX_NAMES; i++) names[n++] = t->field[i].name;
    if (n < MAX_NAMES) names[n++] = "help";
    return n;
}

static int unknown(const call *c, const fab_fields *t, const char *name)
{
    const char *names[MAX_NAMES];
    const int64_t known = known_names(c, t, names);
    const char *near = fab_nearest(name, names, known);
    for (int64_t i = 0; i < known; i++) /* what others call it */
        if (strcmp(name, "columns") == 0 && strcmp(names[i], "only") == 0) near = names[i];
    if (near)
        return say_wrong("%s: there is no option '--%s'; did you mean '--%s'?", c->v->name, name,
                         near);
    if (c->s->settings && !t)
        return say_wrong(
            "%s: there is no option '--%s'; a setting of the method is given as --%s=VALUE",
            c->v->name, name, name);
    return say_wrong("%s: there is no option '--%s'; see `fabayes %s --help`", c->v->name, name,
                     c->v->name);
}

/* ---- the line ------------------------------------------------------------------------------------- */

static int take_long(call *c, const char *word)
{
    const char *equals = strchr(word, '=');
    const size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const option *o = find_name(c, word, length);
    char name[64], shown[70];
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    snprintf(shown, sizeof shown, "--%s", name);
    if (o) return take(c, o, shown, equals ? equals + 1 : NULL);
    if (!c->s->settings || !equals) return unknown(c, NULL, name);
    assert(c->pending);
    c->pending[c->pendings++] = c->at - 1;
    return DONE;
}

static int take_letter(call *c, const char *word)
{
    const option *o = find_letter(c, word[0]);
    const char shown[3] = {'-', word[0], 0};
    if (o) return take(c, o, shown, word[1] ? word + 1 : NULL);
    return say_wrong("%s: there is no option '-%s'; see `fabayes %s --help`", c->v->name, word,
                     c->v->name);
}

static int take_operand(call *c, const char *word)
{
    if (c->operands == c->s->most)
        return say_wrong("%s: '%s' is one argument too many%s; usage: fabayes %s %s", c->v->name,
                         word, find_letter(c, 'y') ? "; the target is given as -y TARGET" : "",
                         c->v->name, c->v->arguments);
    c->s->operand[c->operands++] = word;
    return DONE;
}

/* Every word of the line. */
static int take_all(call *c)
{
    int only_operands = 0, status = DONE;
    while (c->at < c->argc && status == DONE) {
        const char *word = c->argv[c->at++];
        if (only_operands || word[0] != '-' || !word[1])
            status = take_operand(c, word);
        else if (strcmp(word, "--") == 0)
            only_operands = 1;
        else if (word[1] == '-')
            status = take_long(c, word + 2);
        else
            status = take_letter(c, word + 1);
    }
    return status;
}

/* The `--name=value` words, now that the method is known. */
static int take_setting(const call *c, const fab_fields *t, void *settings, const fab_field *field,
                        const char *text)
{
    int taken = 0;
    const int status = c->s->own ? c->s->own(c->s->ctx, field, text, &taken) : DONE;
    if (status != DONE || taken) return status;
    const fab_status s = fab_settings_parse(t, settings, field->name, text);
    return s == FAB_OK ? DONE : say_status(s);
}

static int take_settings(call *c)
{
    const fab_fields *t = NULL;
    void *settings = NULL;
    if (!c->s->settings) return DONE;
    const int status = c->s->settings(c->s->ctx, &t, &settings);
    if (status != DONE) return status;
    for (int i = 0; i < c->pendings; i++) {
        char name[64];
        const char *word = c->argv[c->pending[i]] + 2, *equals = strchr(word, '=');
        snprintf(name, sizeof name, "%.*s", (int)(equals - word), word);
        const fab_field *field = fab_settings_find(t, name);
        if (!field) return unknown(c, t, name);
        const int given = take_setting(c, t, settings, field, equals + 1);
        if (given != DONE) return given;
    }
    return DONE;
}

static int has_word(int argc, char **argv, const char *word)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], word) == 0) return 1;
    return 0;
}

int options_parse(const verb *v, const call_shape *s, int argc, char **argv, int *operands,
                  int *status)
{
    call c = {.v = v, .s = s, .argc = argc, .argv = argv};
    *status = DONE;
    if (has_word(argc, argv, "--help") || has_word(argc, argv, "-h")) {
        if (has_word(argc, argv, "--json"))
            *status = help_json(&c);
        else
            print_help(&c);
        return 0;
    }
    c.pending = malloc(sizeof *c.pending * ((size_t)argc + 1));
    if (!c.pending) *status = say_failed("out of memory");
    if (*status == DONE) *status = take_all(&c);
    if (*status == DONE && c.operands < s->least)
        *status = say_wrong("%s: arguments are missing; usage: fabayes %s %s", v->name, v->name,
                            v->arguments);
    if (*status == DONE) *status = take_settings(&c);
    free(c.pending);
    if (operands) *operands = c.operands;
    return *status == DONE;
}
