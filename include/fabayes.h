/* fabayes.h - everything, in reading order.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_H
#define FABAYES_H

/* the ground: failures, hooks, vectors and where work runs, settings, random numbers */
#include "fabayes/status.h"
#include "fabayes/hooks.h"
#include "fabayes/types.h"
#include "fabayes/settings.h"
#include "fabayes/random.h"

/* containers */
#include "fabayes/npy.h"
#include "fabayes/tensors.h"

/* the noun: a low-rank-plus-diagonal Gaussian */
#include "fabayes/gauss.h"
#include "fabayes/mixture.h"
#include "fabayes/distance.h"
#include "fabayes/absorb.h"
#include "fabayes/posterior.h"

/* data */
#include "fabayes/source.h"
#include "fabayes/split.h"
#include "fabayes/table.h"

/* the list of methods */
#include "fabayes/methods.h"

/* vectors to a Gaussian */
#include "fabayes/estim.h"
#include "fabayes/recursive_em.h"
#include "fabayes/online_em.h"
#include "fabayes/stochastic_em.h"
#include "fabayes/online_sga.h"
#include "fabayes/ml.h"
#include "fabayes/em.h"
#include "fabayes/ppca.h"
#include "fabayes/pca.h"

/* models and their data to a Gaussian */
#include "fabayes/glm.h"
#include "fabayes/model.h"
#include "fabayes/net.h"
#include "fabayes/infer.h"
#include "fabayes/exact.h"
#include "fabayes/rvga.h"
#include "fabayes/lrvga.h"
#include "fabayes/laplace.h"
#include "fabayes/sgd.h"
#include "fabayes/vifa.h"
#include "fabayes/swag.h"
#include "fabayes/slang.h"

/* a Gaussian and a model to predictions */
#include "fabayes/predict.h"
#include "fabayes/draws.h"

/* settings by cross-validation */
#include "fabayes/recipe.h"
#include "fabayes/tune.h"

/* results to look at */
#include "fabayes/report.h"

#endif
