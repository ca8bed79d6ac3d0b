/* learning.c - a regression while it is made.
 *
 * SPDX-License-Identifier: MIT */
#include "learning.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SCALE_ROWS = 1000,       /* that the units of a stream come from, unless the call says */
    FIRST_NUMBERS = 1 << 27, /* that the first rows may hold: 1 GB */
    LOAD_NUMBERS = 1 << 24,  /* of a table read before the memory is looked at again */
    PIECE_NUMBERS = 1 << 17  /* of a stream read at a time: 1 MB */
};

/* ---- life ------------------------------------------------------------------------------------------- */

void learning_close(learning *l)
{
    fab_infer_free(l->infer);
    fab_net_free(l->net);
    fab_posterior_free(l->prior);
    fab_dataset_free(l->table);
    fab_scaling_free(l->scaling);
    fab_feed_close(l->feed);
    fab_source_close(l->source);
    fab_source_close(l->labels);
    order_close(&l->order);
    free(l->constant);
    free(l->settings);
}

int learning_settings(learning *l, const fab_method *m)
{
    l->method = m;
    l->settings = malloc(m->table->size);
    if (!l->settings) return say_failed("out of memory");
    fab_settings_defaults(m->table, l->settings);
    return DONE;
}

fab_glm_settings *learning_glm(const learning *l)
{
    return l->method->infer->init ? l->settings : NULL;
}

int64_t learning_classes(const learning *l)
{
    return l->scaling ? l->scaling->levels : 0;
}

/* ---- DATA -------------------------------------------------------------------------------------------- */

static int check_target(const learning *l)
{
    const int labelled = fab_source_format(l->source) == FAB_FORMAT_LIBSVM;
    if (l->data.labels && (l->columns.target || labelled))
        return say_wrong("%s: --labels brings the target: -y and libsvm labels are another",
                         l->verb);
    if (!l->columns.target && !labelled && !l->data.labels)
        return say_wrong("%s: -y TARGET, the column to explain, is missing", l->verb);
    if (l->data.features && !labelled)
        return say_wrong("%s: --features is for libsvm files", l->data.file);
    return DONE;
}

/* A wrong name of a column is a wrong call. */
static int say_feed(const learning *l, fab_status s)
{
    if (s == FAB_BAD_ARGUMENT) return say_wrong("%s", fab_detail());
    return s == FAB_OK ? DONE : say_status_of(l->data.file, s);
}

/* A value that is missing can be taken, when asked for. */
static int say_read(const learning *l, fab_status s)
{
    if (s == FAB_BAD_DATA && strstr(fab_detail(), "a missing value"))
        return say_failed("%s; --missing drop leaves the row out, --missing mean fills it",
                          fab_detail());
    return say_status_of(l->data.file, s);
}

static int read_rows(learning *l, int64_t most)
{
    const int64_t before = l->table->n;
    const fab_status s = fab_feed_read(l->feed, most, l->table);
    l->rows += l->table->n - before;
    l->dropped = l->table->dropped;
    return s == FAB_OK ? DONE : say_read(l, s);
}

static int64_t at_most(int64_t rows, int64_t numbers, int64_t columns)
{
    const int64_t fit = numbers / columns > 0 ? numbers / columns : 1;
    return rows < fit ? rows : fit;
}

/* Look through all of DATA for words and classes that its first rows do not show. */
static int survey(learning *l)
{
    fab_source *source = NULL, *labels = NULL;
    fab_feed *feed = NULL;
    if (fab_feed_at_end(l->feed) || !data_is_file(&l->data)) return DONE;
    int status = table_open(&source, &l->data);
    if (status != DONE) return status;
    fab_status s = fab_feed_open(&feed, source, &l->columns);
    if (s == FAB_OK) status = labels_open(&labels, feed, &l->data);
    if (s == FAB_OK && status == DONE) s = fab_feed_survey(feed, l->table);
    fab_feed_close(feed);
    fab_source_close(source);
    fab_source_close(labels);
    if (status != DONE) return status;
    return s == FAB_OK ? DONE : say_status_of(l->data.file, s);
}

int learning_open(learning *l)
{
    int status = table_open(&l->source, &l->data);
    if (status == DONE) status = check_target(l);
    if (status != DONE) return status;
    fab_status s = fab_feed_open(&l->feed, l->source, &l->columns);
    if (s != FAB_OK) return say_feed(l, s);
    status = labels_open(&l->labels, l->feed, &l->data);
    if (status != DONE) return status;
    s = fab_feed_table(l->feed, &l->table);
    if (s != FAB_OK) return say_feed(l, s);
    status = read_rows(
        l, at_most(l->scale_rows ? l->scale_rows : SCALE_ROWS, FIRST_NUMBERS, l->table->columns));
    if (status == DONE && l->table->n == 0)
        return say_failed("%s: there are no rows", l->data.file);
    if (status == DONE && fab_dataset_levels(l->table, 2) < 2) status = survey(l); /* sorted? */
    return status;
}

/* The table doubles when it grows; a sparse one has 12 bytes for each value. */
static int check_table(const learning *l)
{
    char room[24];
    const fab_dataset *t = l->table;
    const double limit = l->memory > 0 ? 1e6 * l->memory : memory_free();
    const double bytes = t->packed ? 12.0 * (double)t->cells.values : 8.0 * (double)(t->n * t->D);
    if (2 * bytes < limit) return DONE;
    return say_failed("%s: %" PRId64 " rows of %" PRId64 " columns and more are too many for the "
                      "%sB %s; -m lrvga reads them as a stream",
                      l->data.file, l->table->n, l->table->columns,
                      human_count(limit, room, sizeof room),
                      l->memory > 0 ? "allowed by --memory" : "that are free");
}

int learning_load(learning *l)
{
    const int64_t most = at_most(INT64_MAX, LOAD_NUMBERS, l->table->columns);
    int status = DONE;
    while (status == DONE && !fab_feed_at_end(l->feed)) {
        status = read_rows(l, most);
        if (status == DONE) status = check_table(l);
    }
    return status;
}

int learning_open_as(learning *l)
{
    int status = table_open_as(&l->source, &l->data, l->scaling);
    if (status != DONE) return status;
    const fab_reading what = l->data.labels ? FAB_READ_FEATURES : FAB_READ_WEIGHT;
    fab_status s = fab_feed_open_as(&l->feed, l->source, l->scaling, what);
    if (s != FAB_OK) return say_feed(l, s);
    status = labels_open(&l->labels, l->feed, &l->data);
    if (status != DONE) return status;
    s = fab_feed_table(l->feed, &l->table);
    return say_feed(l, s);
}

/* ---- units -------------------------------------------------------------------------------------------- */

/* Names of columns that hardly vary: said, and left to the prior. */
static int note_constants(learning *l)
{
    const fab_dataset *t = l->table;
    char *is_constant = malloc((size_t)t->columns);
    l->constant = malloc((size_t)t->columns * sizeof *l->constant);
    const int made = l->constant && is_constant;
    const fab_status s = made ? fab_dataset_constants(t, is_constant) : FAB_OK;
    for (int64_t c = 0; made && s == FAB_OK && c < t->columns; c++)
        if (is_constant[c]) l->constant[l->constants++] = t->name[c];
    free(is_constant);
    if (!made) return say_failed("out of memory");
    return s == FAB_OK ? DONE : say_status(s);
}

static int has_words(const fab_dataset *t)
{
    int64_t words = t->target_words.n;
    for (int64_t c = 0; c < t->columns; c++) words += t->words[c].n;
    return words > 0;
}

static int has_classes(const learning *l)
{
    return l->kind == FAB_LIKELIHOOD_BERNOULLI || l->kind == FAB_LIKELIHOOD_CATEGORICAL;
}

/* Units of an earlier fit: are they of these columns? */
static int check_scaling(const learning *l)
{
    const fab_scaling *k = l->scaling;
    const fab_dataset *t = l->table;
    if (k->columns != t->columns)
        return say_failed("%s: has %" PRId64 " columns for features, and the prior %" PRId64,
                          l->data.file, t->columns, k->columns);
    for (int64_t c = 0; c < k->columns; c++)
        if (strcmp(k->column[c].name, t->name[c]) != 0)
            return say_failed("%s: column '%s' stands where the prior has '%s'", l->data.file,
                              t->name[c], k->column[c].name);
    if ((k->levels > 0) != has_classes(l))
        return say_failed("%s: its target is %s, and the prior's is not", l->data.file,
                          has_classes(l) ? "of classes" : "a number");
    return DONE;
}

/* A stream's first rows need not show every word and every class. */
static int needs_survey(const learning *l)
{
    return l->method->streams && !l->table->level &&
           (has_words(l->table) || l->kind == FAB_LIKELIHOOD_CATEGORICAL);
}

int learning_scale(learning *l)
{
    const fab_target target = l->kind == FAB_LIKELIHOOD_GAUSSIAN ? FAB_TARGET_REAL
                              : has_classes(l)                   ? FAB_TARGET_CLASSES
                                                                 : FAB_TARGET_COUNTS;
    int status = note_constants(l);
    if (status == DONE && l->scaling) return check_scaling(l);
    if (status == DONE && needs_survey(l)) status = survey(l);
    if (status != DONE) return status;
    const fab_status s =
        fab_scaling_create(&l->scaling, l->table, target, !l->no_scale, !l->no_intercept);
    return s == FAB_OK ? DONE : say_status_of(l->data.file, s);
}

/* ---- the prior ---------------------------------------------------------------------------------------- */

int learning_take_prior(learning *l, const char *file)
{
    const fab_status s = fab_posterior_load(&l->prior, file);
    if (s != FAB_OK) return say_status(s);
    if (l->prior->mix.n != 1) return say_failed("%s: is a mixture, and no prior", file);
    const char *scaling = fab_tensors_get(l->prior->file, "scaling");
    if (!scaling) return DONE;
    const fab_status taken = fab_scaling_from_json(&l->scaling, scaling);
    return taken == FAB_OK ? DONE : say_status_of(file, taken);
}

/* ---- the inference ------------------------------------------------------------------------------------- */

static double bytes_of(const learning *l)
{
    const int64_t n = l->method->streams ? 0 : l->table->n;
    if (!l->net) return l->method->bytes(l->settings, n, &l->exec);
    return fab_net_bytes(l->net) +
           fab_infer_model_bytes(l->method, l->settings, fab_net_model(l->net), n);
}

static int check_memory(learning *l)
{
    char need[24], room[24];
    const double limit = l->memory > 0 ? 1e6 * l->memory : memory_free();
    l->needed = bytes_of(l);
    if (!(l->needed > limit)) return DONE;
    return say_failed("%s: %s needs %sB for %" PRId64 " features, and %sB are %s", l->data.file,
                      l->method->name, human_count(l->needed, need, sizeof need), l->scaling->D,
                      human_count(limit, room, sizeof room),
                      l->memory > 0 ? "allowed by --memory" : "free");
}

static int build_net(learning *l)
{
    const fab_model_settings *s = l->settings;
    const fab_net_plan plan = {.layers = l->layers ? l->layers : "linear",
                               .features = l->scaling->D,
                               .likelihood = l->kind,
                               .classes = l->kind == FAB_LIKELIHOOD_CATEGORICAL ? l->scaling->levels
                                                                                : 1,
                               .noise = (fab_noise)l->noise,
                               .beta = s->beta > 0 ? s->beta : 1,
                               .nu = l->nu,
                               .floor = l->floor / l->scaling->target_scale,
                               .batch = s->batch};
    const fab_status made = fab_net_init(&l->net, &plan, &l->exec);
    return made == FAB_OK ? DONE : say_status(made);
}

/* The network of an open file. */
static int net_of(learning *l, const char *file, const fab_tensors *t)
{
    const fab_model_settings *s = l->settings;
    const fab_status made =
        fab_net_from_json(&l->net, fab_tensors_get(t, "model"), s->batch, &l->exec);
    if (made != FAB_OK) return say_status_of(file, made);
    if (fab_net_model(l->net)->head.D != l->scaling->D)
        return say_failed("%s: its network and its scaling do not belong together", file);
    return DONE;
}

int learning_begin(learning *l)
{
    int status = learning_glm(l) ? DONE : build_net(l);
    if (status == DONE) status = check_memory(l);
    if (status != DONE) return status;
    const fab_gauss *prior = l->prior ? l->prior->mix.part[0] : NULL;
    const fab_status s = l->net
                             ? fab_infer_init_model(&l->infer, l->method, l->settings,
                                                    fab_net_model(l->net), prior, &l->exec)
                             : fab_infer_init(&l->infer, l->method, l->settings, prior, &l->exec);
    return s == FAB_OK ? DONE : say_status(s);
}

/* The inference of the file; a network is built first, as this call says. */
static fab_status resume_infer(learning *l, const fab_tensors *t)
{
    const fab_gauss *prior = l->prior ? l->prior->mix.part[0] : NULL;
    if (!l->net) return fab_infer_resume(&l->infer, t, &l->exec);
    return fab_infer_resume_model(&l->infer, t, fab_net_model(l->net), prior, &l->exec);
}

int learning_resume(learning *l, const char *file, const fab_tensors *t)
{
    const char *scaling = fab_tensors_get(t, "scaling");
    if (!scaling)
        return say_failed("%s: has no scaling, and rows cannot be brought to its units", file);
    fab_scaling_free(l->scaling);
    fab_status s = fab_scaling_from_json(&l->scaling, scaling);
    if (s != FAB_OK) return say_status_of(file, s);
    const int status = learning_glm(l) ? DONE : l->layers ? build_net(l) : net_of(l, file, t);
    if (status != DONE) return status;
    s = resume_infer(l, t);
    return s == FAB_OK ? DONE : say_status_of(file, s);
}

/* ---- rows ---------------------------------------------------------------------------------------------- */

static int take_in(learning *l)
{
    const fab_dataset *t = l->table;
    fab_status s = fab_scaling_apply(l->scaling, l->table);
    if (s != FAB_OK) return say_status_of(l->data.file, s);
    if (l->method->streams && order_watch(&l->order, t->y, t->n, learning_classes(l)))
        return say_failed("out of memory");
    const fab_examples e = {fab_dataset_rows(t), t->y, t->weight, t->offset};
    s = fab_infer_update(l->infer, &e);
    return s == FAB_OK ? DONE : say_status_of(l->data.file, s);
}

/* Rows until the next save, counted from the first row of the file. */
static int64_t until_checkpoint(const learning *l)
{
    if (!l->checkpoint) return INT64_MAX;
    return l->checkpoint - fab_feed_rows(l->feed) % l->checkpoint;
}

static int checkpoint_due(const learning *l)
{
    return l->checkpoint && fab_feed_rows(l->feed) % l->checkpoint == 0;
}

static int take_next(learning *l)
{
    const int64_t most = at_most(until_checkpoint(l), PIECE_NUMBERS, l->table->columns);
    fab_dataset_clear(l->table);
    int status = read_rows(l, most);
    if (status == DONE && l->table->n > 0) status = take_in(l);
    if (status == DONE && !fab_feed_at_end(l->feed) && checkpoint_due(l)) status = learning_save(l);
    return status;
}

/* ---- files ---------------------------------------------------------------------------------------------- */

static fab_status describe(const learning *l, fab_tensors *more)
{
    char *text = NULL, read[32];
    fab_status s = fab_scaling_json(l->scaling, &text);
    if (s == FAB_OK) s = fab_tensors_set(more, "scaling", text);
    if (s == FAB_BAD_ARGUMENT) s = FAB_BAD_DATA; /* a name in DATA that is not UTF-8 */
    fab_text_free(text);
    snprintf(read, sizeof read, "%" PRId64, fab_feed_rows(l->feed));
    if (s == FAB_OK && l->resumable && l->method->streams) s = fab_tensors_set(more, "read", read);
    return s;
}

typedef fab_status save_fn(fab_infer *f, const char *path, const fab_tensors *more);

static int save_by(const learning *l, save_fn *save)
{
    fab_tensors *more = NULL;
    if (!l->output) return DONE;
    fab_status s = fab_tensors_create(&more);
    if (s == FAB_OK) s = describe(l, more);
    if (s == FAB_OK) s = save(l->infer, l->output, more);
    fab_tensors_free(more);
    return s == FAB_OK ? DONE : say_status(s);
}

int learning_save(const learning *l)
{
    return save_by(l, fab_infer_save);
}

static int learning_checkpoint(const learning *l)
{
    return save_by(l, fab_infer_checkpoint);
}

/* ---- the result ------------------------------------------------------------------------------------------ */

/* Epochs of a network between saves: the run is stopped, saved, and goes on. */
typedef struct pause {
    int64_t every, last;
    int due; /* the stop is ours, and not that of a person */
} pause;

static int pause_tick(void *ctx, const char *what, int64_t done, int64_t total)
{
    pause *p = ctx;
    if (progress_tick(NULL, what, done, total)) return 1;
    p->due = p->every && done < total && done != p->last && done % p->every == 0;
    p->last = done;
    return p->due;
}

static int finish(learning *l)
{
    pause p = {.every = l->net ? l->checkpoint : 0, .last = -1};
    const fab_gauss *q;
    int status = DONE;
    fab_set_progress(pause_tick, &p);
    fab_status s = fab_infer_result(l->infer, &q);
    while (s == FAB_STOPPED && p.due && status == DONE) {
        status = learning_checkpoint(l);
        s = fab_infer_result(l->infer, &q);
    }
    fab_set_progress(progress_tick, NULL);
    if (s == FAB_STOPPED && l->checkpoint && l->net) learning_checkpoint(l);
    if (status != DONE) return status;
    return s == FAB_OK ? DONE : say_status_of(l->data.file, s);
}

int learning_rows(learning *l)
{
    int status = l->table->n > 0 ? take_in(l) : DONE;
    while (status == DONE && l->method->streams && !fab_feed_at_end(l->feed)) status = take_next(l);
    return status == DONE ? finish(l) : status;
}
