/* test_drive.c - fits driven from outside: lrvga by outputs and Jacobians, and any of them left half-way.
 *
 * SPDX-License-Identifier: MIT */
#define _XOPEN_SOURCE 700
#include "fabayes/net.h"
#include "files.h"
#include "linear_case.h"

enum { N = 53, FEATURES = 3, BATCH = 8 };

/* ---- a caller who has the model ------------------------------------------------------------------------- */

typedef struct teller {
    const fab_model *m; /* a network's, or linear */
    fab_examples all;   /* of which it answers for some */
    int volunteers;     /* 1: the Jacobian comes with the outputs */
    double x[N * FEATURES], y[N], w[N], o[N];
    double *g, *out;
    void *G, *J; /* of the model's type */
    int64_t questions, draws, jacobians, examples;
} teller;

static teller teller_of(const fab_model *m, const fab_examples *all)
{
    teller t = {.m = m, .all = *all};
    t.g = doubles(m->D);
    t.out = doubles(BATCH * 32 * m->outputs);
    t.G = doubles(BATCH * 32 * m->D);
    t.J = doubles(BATCH * 32 * m->outputs * m->D);
    return t;
}

/* The rows that a question is about. */
static fab_examples rows_of(teller *t, const fab_question *q)
{
    fab_examples e = {.x = {t->x, FAB_F64, q->n, FEATURES}, .y = q->y ? q->y : t->y};
    for (int64_t i = 0; i < q->n; i++) {
        const int64_t r = q->row[i];
        assert_true(r >= 0 && r < N);
        memcpy(t->x + i * FEATURES, (const double *)t->all.x.p + r * FEATURES,
               FEATURES * sizeof(double));
        t->y[i] = t->all.y[r];
        t->w[i] = t->all.weight ? t->all.weight[r] : 1;
        t->o[i] = t->all.offset ? t->all.offset[r] : 0;
    }
    if (t->all.weight && !q->y) e.weight = t->w;
    if (t->all.offset) e.offset = t->o;
    return e;
}

static fab_answer answer_to(teller *t, const fab_question *q)
{
    const fab_model *m = t->m;
    const fab_examples e = rows_of(t, q);
    const int jacobian = q->jacobian || (q->outputs && t->volunteers);
    fab_answer a = {.type = m->type};
    if (q->loss) assert_ok(m->loss(m->self, q->theta, &e, &a.loss, q->gradient ? t->g : NULL));
    if (q->gradient) {
        a.gradient = t->g;
        a.type = FAB_F64;
    }
    if (q->examples) {
        assert_ok(m->examples(m->self, q->theta, &e));
        m->rows(m->self, t->G, m->D);
        a.examples = t->G;
    }
    if (q->outputs) {
        assert_ok(m->predict(m->self, q->theta, &e.x, t->out));
        a.outputs = t->out;
    }
    if (jacobian) {
        assert_ok(m->jacobian(m->self, q->theta, &e.x, t->J, m->D));
        a.jacobian = t->J;
    }
    t->questions++;
    t->draws += q->draw;
    t->jacobians += jacobian;
    t->examples += q->examples;
    return a;
}

/* The model as a caller without functions of the data describes it. */
static fab_model described(const fab_model *m)
{
    if (m->glm) {
        fab_model own = *m;
        own.batch = BATCH; /* rows of a question */
        return own;
    }
    return (fab_model){.D = m->D,
                       .free = m->free,
                       .head = m->head,
                       .outputs = m->outputs,
                       .batch = m->batch,
                       .type = m->type,
                       .self = m->self,
                       .start = m->start};
}

static void drive(fab_fit *f, teller *t)
{
    for (;;) {
        fab_question q;
        int done;
        assert_ok(fab_fit_ask(f, &q, &done));
        if (done) return;
        const fab_answer a = answer_to(t, &q);
        assert_ok(fab_fit_tell(f, &a));
    }
}

static void assert_same(fab_fit *f, fab_fit *g)
{
    const fab_mixture *a, *b;
    fab_report r, s;
    assert_ok(fab_fit_result(f, &a));
    assert_ok(fab_fit_result(g, &b));
    assert_int_equal(a->n, b->n);
    for (int64_t i = 0; i < a->n; i++) {
        const fab_gauss *p = a->part[i], *q = b->part[i];
        const size_t size = p->type == FAB_F32 ? sizeof(float) : sizeof(double);
        assert_true(p->D == q->D && p->K == q->K && p->form == q->form && p->type == q->type);
        assert_memory_equal(p->mu, q->mu, (size_t)p->D * sizeof(double));
        if (p->K) assert_memory_equal(p->F, q->F, (size_t)(p->D * p->K) * size);
        if (p->psi) assert_memory_equal(p->psi, q->psi, (size_t)p->D * sizeof(double));
        if (p->total) assert_memory_equal(p->theta, q->theta, (size_t)p->total * sizeof(double));
    }
    assert_ok(fab_fit_report(f, &r));
    assert_ok(fab_fit_report(g, &s));
    assert_memory_equal(&r, &s, sizeof r); /* NaN is NaN */
}

/* ---- lrvga of linear models ------------------------------------------------------------------------------ */

static problem some_rows(fab_likelihood l, int weighted)
{
    problem p = some_problem(N, FEATURES, 3);
    for (int64_t i = 0; i < N; i++)
        if (l != FAB_LIKELIHOOD_GAUSSIAN)
            p.y[i] = (double)((i * 7) % (l == FAB_LIKELIHOOD_BERNOULLI ? 2 : 3));
    if (weighted) add_weights(&p, 5);
    if (weighted && l == FAB_LIKELIHOOD_CATEGORICAL) p.offset = NULL;
    return p;
}

static fab_glm linear_of(fab_likelihood l, int intercept)
{
    return (fab_glm){.likelihood = l,
                     .D = FEATURES,
                     .classes = l == FAB_LIKELIHOOD_CATEGORICAL ? 3 : 1,
                     .intercept = intercept};
}

static fab_lrvga_settings narrow(void)
{
    fab_lrvga_settings s = fab_lrvga_defaults(2);
    s.inner_rank = 3;
    s.block = 5;
    s.warmup = 11;
    return s;
}

static fab_fit *create(const fab_lrvga_settings *s, const fab_model *m, const fab_examples *driven,
                       const fab_exec *x)
{
    fab_fit *f;
    fab_input in = {.model = m};
    if (driven) {
        in.rows = driven->x.n;
        in.y = driven->y;
        in.weight = driven->weight;
        in.offset = driven->offset;
    }
    assert_ok(fab_fit_create(&f, "lrvga", s, sizeof *s, &in, x));
    return f;
}

static void a_driven_lrvga_of_a_linear_model_ends_in_the_same_bits(void **state)
{
    (void)state;
    const fab_lrvga_settings s = narrow();
    for (int l = 0; l < 4; l++)
        for (int variant = 0; variant < 4; variant++) { /* with weights, in f32 */
            const fab_dtype type = variant & 2 ? FAB_F32 : FAB_F64;
            const fab_exec x = {.ops = fab_ops_find("cpu", type)};
            if (type == FAB_F32 && l == FAB_LIKELIHOOD_CATEGORICAL) continue; /* not offered */
            const problem p = some_rows((fab_likelihood)l, variant & 1);
            const fab_examples e = examples_of(&p);
            fab_glm glm = linear_of((fab_likelihood)l, variant != 1);
            const fab_model m = fab_model_linear(&glm);
            const fab_model asking = described(&m);
            teller t = teller_of(&m, &e);
            fab_fit *inside = create(&s, &m, NULL, &x), *outside = create(&s, &asking, &e, &x);
            assert_ok(fab_fit_update(inside, &e));
            drive(outside, &t);
            assert_same(inside, outside);
            assert_int_equal(t.questions, (N + BATCH - 1) / BATCH);
            assert_int_equal(t.jacobians, t.questions);
            fab_fit_free(inside);
            fab_fit_free(outside);
        }
}

static void a_jacobian_that_is_not_linear_is_refused(void **state)
{
    (void)state;
    const problem p = some_rows(FAB_LIKELIHOOD_CATEGORICAL, 0);
    const fab_examples e = examples_of(&p);
    const fab_lrvga_settings s = narrow();
    fab_glm glm = linear_of(FAB_LIKELIHOOD_CATEGORICAL, 1);
    const fab_model m = fab_model_linear(&glm);
    teller t = teller_of(&m, &e);
    fab_fit *f = create(&s, &m, &e, NULL);
    fab_question q, again;
    int done;
    assert_ok(fab_fit_ask(f, &q, &done));
    const fab_answer a = answer_to(&t, &q);
    double *J = t.J;
    J[m.D + 1] += 0.5; /* class 1 of row 0, in the place of class 0 */
    assert_refused(fab_fit_tell(f, &a), FAB_BAD_DATA, "coordinate 1 of the gradient of output 1");
    J[m.D + 1] -= 0.5;
    J[FEATURES] = 2; /* the intercept */
    assert_refused(fab_fit_tell(f, &a), FAB_BAD_DATA, "is 2, expected 1 of a linear model");
    J[FEATURES] = NAN;
    assert_refused(fab_fit_tell(f, &a), FAB_BAD_DATA, "nan");
    J[FEATURES] = 1;
    assert_ok(fab_fit_ask(f, &again, &done)); /* it stands */
    assert_true(again.row == q.row && again.n == q.n && again.jacobian);
    assert_ok(fab_fit_tell(f, &a));
    fab_fit_free(f);
}

/* ---- lrvga of networks ----------------------------------------------------------------------------------- */

static fab_net *net_of(fab_likelihood l, fab_noise noise, fab_dtype type)
{
    const fab_net_plan plan = {.layers = "mlp:4",
                               .features = FEATURES,
                               .likelihood = l,
                               .classes = l == FAB_LIKELIHOOD_CATEGORICAL ? 3 : 1,
                               .noise = noise,
                               .beta = 2.385,
                               .batch = BATCH};
    fab_net *net;
    assert_ok(fab_net_create(&net, &plan, &(fab_exec){.ops = fab_ops_find("cpu", type)}));
    return net;
}

static fab_lrvga_settings net_settings(int start, int64_t draws)
{
    fab_lrvga_settings s = fab_lrvga_defaults(2);
    s.start = start;
    s.draws = draws;
    s.inner_rank = 5;
    s.block = 12;
    s.warmup = 9;
    s.train.epochs = 3;
    s.train.batch = BATCH;
    return s;
}

static void a_driven_lrvga_of_a_network_ends_in_the_same_bits(void **state)
{
    (void)state;
    for (int variant = 0; variant < 24; variant++) {
        const int start = variant & 1 ? FAB_LRVGA_MAP : FAB_LRVGA_MODEL;
        const int64_t draws = variant & 2 ? 3 : 0;
        const fab_dtype type = variant & 4 ? FAB_F32 : FAB_F64;
        const fab_likelihood l = (fab_likelihood[]){FAB_LIKELIHOOD_GAUSSIAN,
                                                    FAB_LIKELIHOOD_BERNOULLI,
                                                    FAB_LIKELIHOOD_CATEGORICAL}[variant / 8];
        const int classes = l == FAB_LIKELIHOOD_CATEGORICAL;
        if (classes && type == FAB_F32) continue; /* not offered */
        const problem p = some_rows(l, variant & 1);
        const fab_examples e = examples_of(&p);
        const int learned = l == FAB_LIKELIHOOD_GAUSSIAN && draws > 0;
        fab_net *net = net_of(l, learned ? FAB_NOISE_LEARNED : FAB_NOISE_FIXED, type);
        const fab_model *whole = fab_net_model(net), m = described(whole);
        const fab_lrvga_settings s = net_settings(start, draws);
        teller t = teller_of(whole, &e), both = t;
        both.volunteers = 1;
        fab_fit *inside = create(&s, whole, NULL, NULL), *outside = create(&s, &m, &e, NULL),
                *fewer = create(&s, &m, &e, NULL);
        assert_ok(fab_fit_update(inside, &e));
        drive(outside, &t);
        drive(fewer, &both);
        assert_same(inside, outside);
        assert_same(inside, fewer);
        assert_int_equal(both.questions, t.questions - t.jacobians);
        assert_true((t.draws > 0) == (draws > 0));
        assert_true((t.examples > 0) == (classes && (draws > 0 || start == FAB_LRVGA_MAP)));
        fab_fit_free(inside);
        fab_fit_free(outside);
        fab_fit_free(fewer);
        fab_net_free(net);
    }
}

static void what_lrvga_needs_to_be_driven_is_said(void **state)
{
    (void)state;
    const problem p = some_rows(FAB_LIKELIHOOD_BERNOULLI, 0);
    const fab_examples e = examples_of(&p);
    fab_net *net = net_of(FAB_LIKELIHOOD_BERNOULLI, FAB_NOISE_FIXED, FAB_F64);
    fab_model m = described(fab_net_model(net));
    const fab_lrvga_settings s = net_settings(FAB_LRVGA_MODEL, 0);
    fab_fit *f;
    double y[N];
    memcpy(y, p.y, sizeof y);
    y[17] = 0.5;
    assert_refused(
        fab_fit_create(&f, "lrvga", &s, sizeof s, &(fab_input){.model = &m, .rows = N}, NULL),
        FAB_BAD_ARGUMENT, "needs the targets of the 53 rows");
    assert_refused(fab_fit_create(&f, "lrvga", &s, sizeof s,
                                  &(fab_input){.model = &m, .rows = N, .y = y}, NULL),
                   FAB_BAD_DATA, "row 17");
    assert_refused(
        fab_fit_create(&f, "sgd", NULL, 0, &(fab_input){.model = &m, .rows = N, .y = p.y}, NULL),
        FAB_BAD_ARGUMENT, "asks for gradients");
    assert_refused(fab_fit_create(&f, "lrvga", &s, sizeof s,
                                  &(fab_input){.model = fab_net_model(net), .y = p.y}, NULL),
                   FAB_BAD_ARGUMENT, "come with the rows of an update");
    m.outputs = 0;
    assert_refused(fab_fit_create(&f, "lrvga", &s, sizeof s,
                                  &(fab_input){.model = &m, .rows = N, .y = p.y}, NULL),
                   FAB_BAD_ARGUMENT, "0 outputs");
    m.outputs = 1;
    f = create(&s, &m, &e, NULL);
    fab_question q;
    int done;
    teller t = teller_of(fab_net_model(net), &e);
    assert_ok(fab_fit_ask(f, &q, &done));
    assert_true(q.outputs && !q.jacobian && !q.loss && !q.gradient);
    fab_answer a = answer_to(&t, &q);
    a.outputs = NULL;
    assert_refused(fab_fit_tell(f, &a), FAB_BAD_ARGUMENT, "lacks the outputs");
    a.outputs = t.out;
    t.out[2] = INFINITY;
    assert_refused(fab_fit_tell(f, &a), FAB_BAD_DATA, "inf");
    t.out[2] = 0.3;
    assert_ok(fab_fit_tell(f, &a));
    assert_ok(fab_fit_ask(f, &q, &done));
    assert_true(q.jacobian && !q.outputs);
    assert_refused(fab_fit_tell(f, &a), FAB_BAD_ARGUMENT, "lacks the Jacobian");
    fab_fit_free(f);
    fab_net_free(net);
}

static fab_status gradients_of_net(void *self, const double *theta, const fab_examples *e, void *G,
                                   int64_t ld)
{
    const fab_model *m = fab_net_model(self);
    const fab_status s = m->examples(m->self, theta, e);
    if (s == FAB_OK) m->rows(m->self, G, ld);
    return s;
}

/* Drawn classes need gradients of single examples: one callback is enough, and without it lrvga refuses. */
static void classes_need_one_callback_of_gradients(void **state)
{
    (void)state;
    const problem p = some_rows(FAB_LIKELIHOOD_CATEGORICAL, 0);
    const fab_examples e = examples_of(&p);
    fab_net *net = net_of(FAB_LIKELIHOOD_CATEGORICAL, FAB_NOISE_FIXED, FAB_F64);
    const fab_model *whole = fab_net_model(net);
    fab_model own = *whole;
    assert_true(own.self == net);
    own.examples = NULL, own.rows = NULL, own.gram = NULL, own.squares = NULL;
    own.combine = NULL, own.project = NULL;
    for (int64_t draws = 0; draws <= 3; draws += 3) {
        const fab_lrvga_settings s = net_settings(FAB_LRVGA_MAP, draws);
        fab_fit *f;
        own.gradients = NULL;
        assert_refused(fab_fit_create(&f, "lrvga", &s, sizeof s, &(fab_input){.model = &own}, NULL),
                       FAB_UNSUPPORTED, "need the gradients of single examples");
        own.gradients = gradients_of_net;
        fab_fit *a = create(&s, whole, NULL, NULL), *b = create(&s, &own, NULL, NULL);
        assert_ok(fab_fit_update(a, &e));
        assert_ok(fab_fit_update(b, &e));
        assert_same(a, b);
        fab_fit_free(a);
        fab_fit_free(b);
    }
    fab_net_free(net);
}

static void a_method_says_what_it_asks_for(void **state)
{
    (void)state;
    const fab_method *lrvga = fab_method_find("lrvga");
    assert_int_equal(fab_method_asks(fab_method_find("sgd")), FAB_ASKS_GRADIENT);
    assert_int_equal(fab_method_asks(fab_method_find("vogn")), FAB_ASKS_EXAMPLES);
    assert_int_equal(fab_method_asks(fab_method_find("recursive-em")), 0);
    assert_int_equal(fab_method_asks(fab_method_find("laplace")), 0);
    assert_int_equal(fab_method_asks(lrvga), FAB_ASKS_OUTPUTS);
    assert_int_equal(fab_method_asks(fab_method_of_networks(lrvga)),
                     FAB_ASKS_GRADIENT | FAB_ASKS_EXAMPLES | FAB_ASKS_OUTPUTS);
}

/* ---- half-way --------------------------------------------------------------------------------------------- */

typedef struct any_settings {
    int64_t field[64];
} any_settings;

typedef struct half_case {
    const char *method;
    const char *set[4][2]; /* settings besides the quick ones */
    int linear;
    int64_t again; /* questions of a step, less one */
} half_case;

static any_settings quick_settings(const half_case *c)
{
    any_settings s;
    const fab_method *m = fab_method_find(c->method);
    const fab_fields *t = (c->linear ? m : fab_method_of_networks(m))->fields;
    const char *const quick[][2] = {{"epochs", "3"},     {"batch", "8"},  {"average", "3"},
                                    {"K", "2"},          {"every", "2"},  {"seed", "7"},
                                    {"inner_rank", "5"}, {"block", "12"}, {"first", "9"}};
    fab_settings_defaults(t, &s);
    for (size_t i = 0; i < sizeof quick / sizeof *quick; i++)
        if (fab_settings_find(t, quick[i][0]))
            if (strcmp(c->method, "meanfield") != 0 || strcmp(quick[i][0], "K") != 0)
                assert_ok(fab_settings_parse(t, &s, quick[i][0], quick[i][1]));
    for (size_t i = 0; i < 4 && c->set[i][0]; i++)
        assert_ok(fab_settings_parse(t, &s, c->set[i][0], c->set[i][1]));
    return s;
}

/* Save after `tells` answers, in memory or in a file, kill, and go on; 0: it ended before.  Of the questions at most those
 * of one step are asked again. */
static int go_on(const half_case *c, const any_settings *s, const fab_input *in, teller *t,
                 int64_t tells, int kill, fab_fit *unbroken, int64_t all)
{
    t->questions = 0;
    fab_fit *f, *g = NULL;
    fab_tensors *file;
    int done;
    const size_t bytes = (c->linear ? fab_method_find(c->method)
                                    : fab_method_of_networks(fab_method_find(c->method)))
                             ->fields->size;
    assert_ok(fab_fit_create(&f, c->method, s, bytes, in, NULL));
    for (int64_t i = 0; i < tells; i++) {
        fab_question q;
        assert_ok(fab_fit_ask(f, &q, &done));
        if (done) {
            fab_fit_free(f);
            return 0;
        }
        const fab_answer a = answer_to(t, &q);
        assert_ok(fab_fit_tell(f, &a));
    }
    if (kill == 1) {
        void *memory;
        size_t size;
        assert_ok(fab_fit_pack(f, 1, NULL, &memory, &size));
        assert_ok(fab_tensors_parse(&file, "memory", memory, size));
        fab_fit_free(f);
        assert_ok(fab_fit_load(&g, file, in, NULL));
        fab_tensors_free(file);
        fab_bytes_free(memory);
    } else {
        assert_ok(fab_fit_checkpoint(f, in_folder("half"), NULL));
        assert_ok(fab_tensors_read(&file, in_folder("half")));
        if (kill == 0) { /* the one that was saved goes on */
            g = f;
        } else {
            fab_fit_free(f);
            assert_ok(fab_fit_load(&g, file, in, NULL));
        }
        fab_tensors_free(file);
    }
    drive(g, t);
    assert_same(unbroken, g);
    assert_true(t->questions - all <= c->again);
    fab_fit_free(g);
    return 1;
}

static void a_driven_fit_that_was_killed_goes_on_to_the_same_bits(void **state)
{
    (void)state;
    const half_case cases[] = {
        {"sgd", {{"held_out", "0.2"}}, 0, 1}, /* a score takes two */
        {"ensemble", {{"runs", "2"}}, 0, 0},
        {"swag", {{0}}, 0, 0},
        {"vifa", {{"draws", "2"}}, 0, 1},
        {"vifa", {{"optimiser", "adam"}, {"draws", "1"}}, 0, 0},
        {"meanfield", {{0}}, 0, 1},
        {"slang", {{"draws", "2"}}, 0, 1},
        {"vogn", {{0}}, 0, 0},
        {"lrvga", {{0}}, 1, 0},
        /* 12 columns of 4 draws are 3 rows: the curvature of 12 of them in 4 x 4 x 2, before it 4 x 2 */
        {"lrvga", {{"start", "map"}, {"held_out", "0.2"}}, 0, 40},
        {"lrvga", {{"start", "model"}}, 0, 40},
        {"lrvga", {{"start", "model"}, {"draws", "0"}, {"scheme", "implicit"}}, 0, 40},
    };
    const problem p = some_rows(FAB_LIKELIHOOD_GAUSSIAN, 0);
    const fab_examples e = examples_of(&p);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const half_case c = cases[i];
        fab_net *net = net_of(FAB_LIKELIHOOD_GAUSSIAN, FAB_NOISE_FIXED, FAB_F64);
        fab_glm glm = linear_of(FAB_LIKELIHOOD_GAUSSIAN, 1);
        const fab_model linear = fab_model_linear(&glm),
                        *whole = c.linear ? &linear : fab_net_model(net), m = described(whole);
        const int targets = strcmp(c.method, "lrvga") == 0;
        const fab_input in = {.model = &m, .rows = N, .y = targets ? p.y : NULL};
        const any_settings s = quick_settings(&c);
        teller t = teller_of(whole, &e);
        fab_fit *unbroken;
        const fab_method *method = fab_method_find(c.method);
        assert_ok(fab_fit_create(&unbroken, c.method, &s,
                                 (c.linear ? method : fab_method_of_networks(method))->fields->size,
                                 &in, NULL));
        drive(unbroken, &t);
        const int64_t all = t.questions;
        assert_true(all > 5);
        int64_t went_on = 0;
        for (int64_t tells = 1; tells <= all; tells += 1 + all / 17) /* the last: all told */
            for (int kill = 0; kill < 3; kill++)
                went_on += go_on(&c, &s, &in, &t, tells, kill, unbroken, all);
        assert_true(went_on >= 15);
        if (!c.linear) /* before the first question */
            assert_int_equal(go_on(&c, &s, &in, &t, 0, 1, unbroken, all), 1);
        fab_fit_free(unbroken);
        fab_net_free(net);
    }
}

/* A step of one question is not asked for twice. */
static void what_was_told_is_in_the_state(void **state)
{
    (void)state;
    const problem p = some_rows(FAB_LIKELIHOOD_GAUSSIAN, 0);
    const fab_examples e = examples_of(&p);
    fab_net *net = net_of(FAB_LIKELIHOOD_GAUSSIAN, FAB_NOISE_FIXED, FAB_F64);
    const fab_model m = described(fab_net_model(net));
    const half_case c = {.method = "sgd"};
    const any_settings s = quick_settings(&c);
    const fab_input in = {.model = &m, .rows = N};
    const size_t size = fab_method_find("sgd")->fields->size;
    teller t = teller_of(fab_net_model(net), &e);
    fab_fit *f, *g;
    assert_ok(fab_fit_create(&f, "sgd", &s, size, &in, NULL));
    drive(f, &t);
    const int64_t all = t.questions;
    t.questions = 0;
    assert_ok(fab_fit_create(&g, "sgd", &s, size, &in, NULL));
    for (;;) {
        fab_question q;
        int done;
        assert_ok(fab_fit_ask(g, &q, &done));
        if (done) break;
        const fab_answer a = answer_to(&t, &q);
        assert_ok(fab_fit_tell(g, &a));
        assert_ok(fab_fit_checkpoint(g, in_folder("every"), NULL));
    }
    assert_int_equal(t.questions, all);
    assert_same(f, g);
    fab_fit_free(f);
    fab_fit_free(g);
    fab_net_free(net);
}

/* Every third question is withdrawn once, the second of a step among them; the fit can be saved then. */
static void a_question_that_was_withdrawn_is_asked_again(void **state)
{
    (void)state;
    const char *const methods[] = {"sgd", "vifa", "slang"};
    const problem p = some_rows(FAB_LIKELIHOOD_GAUSSIAN, 0);
    const fab_examples e = examples_of(&p);
    fab_net *net = net_of(FAB_LIKELIHOOD_GAUSSIAN, FAB_NOISE_FIXED, FAB_F64);
    const fab_model m = described(fab_net_model(net));
    const fab_input in = {.model = &m, .rows = N};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        const half_case c = {.method = methods[i]};
        const any_settings s = quick_settings(&c);
        const size_t size = fab_method_find(methods[i])->fields->size;
        teller t = teller_of(fab_net_model(net), &e);
        fab_fit *f, *g;
        fab_question q;
        int64_t withdrawn = 0;
        assert_ok(fab_fit_create(&f, methods[i], &s, size, &in, NULL));
        assert_ok(fab_fit_create(&g, methods[i], &s, size, &in, NULL));
        assert_ok(fab_fit_withdraw(g)); /* none */
        drive(f, &t);
        t.questions = 0;
        for (int done = 0; !done;) {
            assert_ok(fab_fit_ask(g, &q, &done));
            if (!done && t.questions == 3 * withdrawn + 1) {
                withdrawn++;
                assert_ok(fab_fit_withdraw(g));
                assert_refused(fab_fit_tell(g, &(fab_answer){.loss = 1}), FAB_BAD_ARGUMENT,
                               "nothing was asked");
                if (withdrawn % 4 == 0) assert_ok(fab_fit_checkpoint(g, in_folder("half"), NULL));
                assert_ok(fab_fit_ask(g, &q, &done));
            }
            if (done) break;
            const fab_answer a = answer_to(&t, &q);
            assert_ok(fab_fit_tell(g, &a));
        }
        assert_true(withdrawn > 3);
        assert_ok(fab_fit_withdraw(g)); /* over */
        assert_same(f, g);
        fab_fit_free(f);
        fab_fit_free(g);
    }
    fab_fit *plain;
    assert_ok(
        fab_fit_create(&plain, "sgd", NULL, 0, &(fab_input){.model = fab_net_model(net)}, NULL));
    assert_refused(fab_fit_withdraw(plain), FAB_BAD_ARGUMENT, "created with a number of rows");
    fab_fit_free(plain);
    fab_net_free(net);
}

static void a_fit_on_its_way_is_neither_saved_nor_used_as_finished(void **state)
{
    (void)state;
    const problem p = some_rows(FAB_LIKELIHOOD_GAUSSIAN, 0);
    const fab_examples e = examples_of(&p);
    fab_net *net = net_of(FAB_LIKELIHOOD_GAUSSIAN, FAB_NOISE_FIXED, FAB_F64);
    const fab_model m = described(fab_net_model(net));
    const half_case c = {.method = "sgd"};
    const any_settings s = quick_settings(&c);
    const fab_input in = {.model = &m, .rows = N};
    teller t = teller_of(fab_net_model(net), &e);
    const fab_gauss *q;
    fab_question question;
    fab_fit *f;
    void *bytes;
    size_t size;
    int done;
    assert_ok(fab_fit_create(&f, "sgd", &s, fab_method_find("sgd")->fields->size, &in, NULL));
    assert_refused(fab_fit_gauss(f, &q), FAB_BAD_ARGUMENT, "when ask says done");
    assert_refused(fab_fit_update(f, &e), FAB_BAD_ARGUMENT, "it takes answers");
    assert_ok(fab_fit_ask(f, &question, &done));
    assert_refused(fab_fit_checkpoint(f, in_folder("half"), NULL), FAB_BAD_ARGUMENT,
                   "a question waits for its answer");
    assert_refused(fab_fit_pack(f, 1, NULL, &bytes, &size), FAB_BAD_ARGUMENT,
                   "a question waits for its answer");
    assert_refused(fab_fit_gauss(f, &q), FAB_BAD_ARGUMENT, "when ask says done");
    const fab_answer a = answer_to(&t, &question);
    assert_ok(fab_fit_tell(f, &a));
    assert_refused(fab_fit_save(f, in_folder("half"), NULL), FAB_BAD_ARGUMENT,
                   "when ask says done");
    drive(f, &t);
    assert_ok(fab_fit_save(f, in_folder("half"), NULL));
    fab_fit_free(f);

    /* lrvga saw more rows than there are */
    const fab_lrvga_settings l = narrow();
    fab_glm glm = linear_of(FAB_LIKELIHOOD_GAUSSIAN, 1);
    const fab_model linear = fab_model_linear(&glm);
    teller rows = teller_of(&linear, &e);
    fab_tensors *file;
    f = create(&l, &linear, &e, NULL);
    drive(f, &rows);
    assert_ok(fab_fit_save(f, in_folder("all"), NULL));
    assert_ok(fab_tensors_read(&file, in_folder("all")));
    fab_fit_free(f);
    assert_refused(
        fab_fit_load(&f, file, &(fab_input){.model = &linear, .rows = N - 1, .y = p.y}, NULL),
        FAB_BAD_FILE, "has seen 53 rows, and there are 52");
    fab_tensors_free(file);
    fab_net_free(net);
}

static void a_driven_stream_goes_on_with_more_rows(void **state)
{
    (void)state;
    const problem p = some_rows(FAB_LIKELIHOOD_BERNOULLI, 0);
    const fab_examples e = examples_of(&p);
    fab_net *net = net_of(FAB_LIKELIHOOD_BERNOULLI, FAB_NOISE_FIXED, FAB_F64);
    fab_glm glm = linear_of(FAB_LIKELIHOOD_BERNOULLI, 1);
    const fab_model linear = fab_model_linear(&glm);
    for (int i = 0; i < 2; i++) {
        const fab_model *whole = i ? fab_net_model(net) : &linear, m = described(whole);
        const fab_lrvga_settings s = i ? net_settings(FAB_LRVGA_MODEL, 3) : narrow();
        teller t = teller_of(whole, &e);
        fab_examples some = e;
        some.x.n = 31;
        fab_fit *all = create(&s, whole, NULL, NULL), *first = create(&s, &m, &some, NULL), *rest;
        fab_tensors *file;
        assert_ok(fab_fit_update(all, &e));
        drive(first, &t);
        assert_int_equal(fab_fit_rows(first), 31);
        assert_ok(fab_fit_save(first, in_folder("first"), NULL));
        assert_ok(fab_tensors_read(&file, in_folder("first")));
        assert_ok(fab_fit_load(&rest, file, &(fab_input){.model = &m, .rows = N, .y = p.y}, NULL));
        drive(rest, &t);
        assert_same(all, rest);
        fab_tensors_free(file);
        fab_fit_free(all);
        fab_fit_free(first);
        fab_fit_free(rest);
    }
    fab_net_free(net);
}

/* Stopped by whoever watches, it goes on with the next ask. */
static int stop_once(void *ctx, const char *what, int64_t done, int64_t total)
{
    int *left = ctx;
    (void)what, (void)done, (void)total;
    return (*left)-- == 1;
}

static void a_driven_fit_can_be_stopped(void **state)
{
    (void)state;
    const problem p = some_rows(FAB_LIKELIHOOD_GAUSSIAN, 0);
    const fab_examples e = examples_of(&p);
    fab_net *net = net_of(FAB_LIKELIHOOD_GAUSSIAN, FAB_NOISE_FIXED, FAB_F64);
    const fab_model m = described(fab_net_model(net));
    const half_case c = {.method = "sgd"};
    const any_settings s = quick_settings(&c);
    const fab_input in = {.model = &m, .rows = N};
    const size_t size = fab_method_find("sgd")->fields->size;
    teller t = teller_of(fab_net_model(net), &e);
    int left = 2, stops = 0, done = 0;
    const fab_exec x = {.progress = stop_once, .progress_ctx = &left};
    fab_fit *f, *g;
    assert_ok(fab_fit_create(&f, "sgd", &s, size, &in, NULL));
    assert_ok(fab_fit_create(&g, "sgd", &s, size, &in, &x));
    drive(f, &t);
    while (!done) {
        fab_question q;
        const fab_status asked = fab_fit_ask(g, &q, &done);
        stops += asked == FAB_STOPPED;
        if (asked == FAB_STOPPED) continue;
        assert_ok(asked);
        if (done) break;
        const fab_answer a = answer_to(&t, &q);
        assert_ok(fab_fit_tell(g, &a));
    }
    assert_int_equal(stops, 1);
    assert_same(f, g);
    fab_fit_free(f);
    fab_fit_free(g);
    fab_net_free(net);
}

#define FILES(f) cmocka_unit_test_setup_teardown(f, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_driven_lrvga_of_a_linear_model_ends_in_the_same_bits),
        TEST(a_jacobian_that_is_not_linear_is_refused),
        TEST(a_driven_lrvga_of_a_network_ends_in_the_same_bits),
        TEST(what_lrvga_needs_to_be_driven_is_said),
        TEST(classes_need_one_callback_of_gradients),
        TEST(a_method_says_what_it_asks_for),
        FILES(a_driven_fit_that_was_killed_goes_on_to_the_same_bits),
        FILES(what_was_told_is_in_the_state),
        FILES(a_question_that_was_withdrawn_is_asked_again),
        FILES(a_fit_on_its_way_is_neither_saved_nor_used_as_finished),
        FILES(a_driven_stream_goes_on_with_more_rows),
        TEST(a_driven_fit_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
