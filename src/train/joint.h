/* joint.h - what -log p(D, theta) is made of while a run lasts: the rows in batches, and the prior.
 *
 *     FAB_TRY(fab_joint_open(&f->joint, "vifa", &s.train, 0, &model, prior, &examples, x));
 *     ...                                                  // fab_minibatch_get(f->joint.batches, ..), fab_prior_add
 *     fab_joint_close(&f->joint, &model);
 *
 * SPDX-License-Identifier: MIT */
#ifndef FAB_TRAIN_JOINT_H
#define FAB_TRAIN_JOINT_H

#include "fabayes/methods.h"
#include "train/minibatch.h"
#include "train/prior.h"

typedef struct fab_joint {
    fab_minibatch *batches;
    fab_prior prior;
} fab_joint;

/* Batches of s->batch rows of *e, about `held_out` of them kept apart, in an order by s->seed; the prior of precision
 * s->alpha, or the given one.  Borrows *e and the given prior until close. */
fab_status fab_joint_open(fab_joint *j, const char *who, const fab_model_settings *s,
                          double held_out, const fab_model *m, const fab_gauss *given,
                          const fab_examples *e, const fab_exec *x);
/* Random parts of the model are off afterwards. */
void fab_joint_close(fab_joint *j, const fab_model *m);

#endif
