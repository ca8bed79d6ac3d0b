/* joint.c - what -log p(D, theta) is made of while a run lasts: the rows in batches, and the prior.
 *
 * SPDX-License-Identifier: MIT */
#include "train/joint.h"
#include "base/fail.h"

fab_status fab_joint_open(fab_joint *j, const char *who, const fab_model_settings *s,
                          double held_out, const fab_model *m, const fab_gauss *given,
                          const fab_examples *e, const fab_exec *x)
{
    const fab_dtype type = m->any_rows ? m->type : e->x.type;
    *j = (fab_joint){0};
    FAB_TRY(fab_minibatch_init(&j->batches, who, e, type, m->head.D, s->batch, held_out,
                               (uint64_t)s->seed));
    const fab_status status = fab_prior_open(&j->prior, m, s->alpha, given, x);
    if (status != FAB_OK) fab_joint_close(j, m);
    return status;
}

void fab_joint_close(fab_joint *j, const fab_model *m)
{
    fab_prior_close(&j->prior);
    if (m->noise) m->noise(m->self, 0, -1);
    fab_minibatch_free(j->batches);
    j->batches = NULL;
}
