/* svm.h - what is said of a support vector machine, and of rows by it.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_SVM_H
#define CLI_SVM_H

#include "choice.h"

/* Is FILE one?  0 too where it cannot be read: whoever reads it next says why. */
int is_svm(const char *file);

/* `fit --model svm:KERNEL`: a call whose DATA is open.  An exit status, said. */
int svm_check(const choice *c);
int svm_fit(choice *c, int64_t json);
/* `predict`: decision,class[,p] or mean for each row of DATA; `score`; `info`. */
int svm_predict(const char *file, const data_options *d, const char *output, int full, int unseen,
                int64_t json, int64_t quiet);
int svm_score(const char *file, const data_options *d, int64_t json, int64_t quiet);
int svm_info(const char *file, int64_t json);

#endif
