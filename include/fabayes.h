/* fabayes.h - everything, in reading order.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_H
#define FABAYES_H

/* the ground: failures, hooks, vectors and where work runs, settings, random numbers */
#include "fabayes/status.h"
#include "fabayes/exec.h"
#include "fabayes/settings.h"
#include "fabayes/random.h"

/* containers */
#include "fabayes/files.h"

/* the noun: a low-rank-plus-diagonal Gaussian */
#include "fabayes/gauss.h"

/* data */
#include "fabayes/data.h"

/* the list of methods */
#include "fabayes/fit.h"

/* vectors to a Gaussian */
#include "fabayes/methods.h"

/* models and their data to a Gaussian */
#include "fabayes/model.h"
#include "fabayes/net.h"

/* a Gaussian and a model to predictions */
#include "fabayes/predict.h"

/* settings by cross-validation */
#include "fabayes/table.h"
#include "fabayes/search.h"

/* results to look at */
#include "fabayes/report.h"

#endif
