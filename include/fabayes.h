/* fabayes.h - everything, in reading order: 17 chapters, each of which compiles alone.
 *
 * To fit a table and predict: table.h.  To fit rows or a model in memory: fit.h.  What a method is told: methods.h.
 *
 * SPDX-License-Identifier: MIT */
#ifndef FABAYES_H
#define FABAYES_H

/* the ground: failures, hooks, vectors and where work runs, settings, random numbers */
#include "fabayes/status.h"
#include "fabayes/exec.h"
#include "fabayes/settings.h"
#include "fabayes/random.h"

/* containers: npy and safetensors */
#include "fabayes/files.h"

/* the noun: a low-rank-plus-diagonal Gaussian */
#include "fabayes/gauss.h"

/* covariances of functions, and processes given rows */
#include "fabayes/kernel.h"

/* where rows come from */
#include "fabayes/data.h"

/* what y is, given a row and theta */
#include "fabayes/model.h"
#include "fabayes/net.h"

/* rows or examples to a Gaussian: the handle, and the settings of each method */
#include "fabayes/fit.h"
#include "fabayes/methods.h"

/* support vector machines: rows, or a table, to decisions */
#include "fabayes/svm.h"

/* a Gaussian and a model to predictions */
#include "fabayes/predict.h"

/* all of it for a table, in the user's units; settings by cross-validation */
#include "fabayes/table.h"
#include "fabayes/search.h"

/* results to look at */
#include "fabayes/report.h"

#endif
