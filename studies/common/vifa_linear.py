"""vifa_linear.py - what the studies of vifa on linear models share: the columns of vifa_linear.c, a line of a table."""
# SPDX-License-Identifier: MIT
import study

COLUMNS = ("data", "seed", "label", "mean", "covariance", "w2", "covariance_optimum", "kl", "kl_optimum", "steps",
           "epochs", "draws", "seconds")
HEAD = ["", "distance of the mean", "of the covariance", "W2 / D", "steps", "epochs", "draws a step"]


def summary(label, lines):
    """Means and standard errors over the seeds."""
    mine = [line for line in lines if line["label"] == label]
    scores = [study.plus_minus([line[key] for line in mine], 4) for key in ("mean", "covariance", "w2")]
    return [label] + scores + [mine[0][key] for key in ("steps", "epochs", "draws")]
