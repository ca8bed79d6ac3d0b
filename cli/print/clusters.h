/* clusters.h - what is said of clusters, and of rows in them.
 *
 * SPDX-License-Identifier: MIT */
#ifndef CLI_CLUSTERS_H
#define CLI_CLUSTERS_H

#include "data.h"
#include "print/output.h"

typedef struct clusters_summary {
    fab_clusters *f;
    const char *data, *output;
    int64_t json, quiet;
} clusters_summary;

/* Print what was found, for a person or as JSON.  An exit status, said. */
int clusters_say(const clusters_summary *s);

/* The sentence of a status, with who when it was stopped. */
int clusters_failed(const char *who, fab_status s);

/* Was the file made by a method of clusters? */
int clusters_file(const fab_tensors *t);

/* `predict` of such a file: cluster,p_0,..,logdensity[,z_1..] for each row of DATA, to `output` or standard output. */
int clusters_predict(const char *file, const data_options *d, const char *output, int full,
                     int64_t json, int64_t quiet);
/* `score`: mean log-likelihood, W, BIC, and with labels how the partitions agree. */
int clusters_score(const char *file, const data_options *d, int64_t json, int64_t quiet);

/* How the clusters of two files agree on the rows of DATA, a file: it is read twice. */
typedef struct clusters_agreement {
    int64_t n;
    double rand, information; /* fab_partitions_compare */
} clusters_agreement;
int clusters_agree(const char *const *file, const fab_posterior *a, const fab_posterior *b,
                   const data_options *d, clusters_agreement *out);

#endif
