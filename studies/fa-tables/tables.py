"""tables.py - the tables of the study, of at least 300 complete rows, as .npy files in a folder.

Columns of numbers with less than a fifth of missing values; rows that are complete in them. What a machine lacks
(R's packages psych and psychTools, statsmodels, the public data sets of FAB_DATA) is said and left out.
"""
# SPDX-License-Identifier: MIT
import csv
import glob
import gzip
import io
import os
import shutil
import subprocess
import sys

import numpy as np

LEAST_ROWS, LEAST_COLUMNS, MISSING = 300, 4, 0.2

R_SCRIPT = """
for (p in c("datasets", "psych", "psychTools")) {
    if (!nzchar(system.file(package = p))) { message("skipped: R has no package ", p); next }
    e <- new.env()
    for (n in unique(sub(" .*", "", data(package = p)$results[, "Item"])))
        suppressWarnings(try(data(list = n, package = p, envir = e), silent = TRUE))
    for (n in ls(e)) {
        d <- tryCatch(as.data.frame(e[[n]]), error = function(x) NULL)
        if (is.null(d)) next
        d <- d[, sapply(d, is.numeric), drop = FALSE]
        if (nrow(d) >= %d && ncol(d) >= %d)
            write.table(d, file.path("%s", paste0("R-", p, "-", n, ".txt")), row.names = FALSE, col.names = FALSE, na = "nan")
    }
}
"""


def complete(x):
    """Columns that are there in most rows, rows that have them all; None where too little is left."""
    x = np.asarray(x, dtype=float)
    x = x[:, np.isnan(x).mean(axis=0) < MISSING]
    x = x[~np.isnan(x).any(axis=1)]
    return x if x.shape[0] >= LEAST_ROWS and x.shape[1] >= LEAST_COLUMNS else None


def from_sklearn():
    from sklearn import datasets
    for name in ("breast_cancer", "diabetes", "digits"):
        yield "sklearn-" + name.replace("_", "-"), getattr(datasets, "load_" + name)().data


def from_statsmodels():
    try:
        import statsmodels.api as sm
    except ImportError:
        print("skipped: statsmodels is not installed", file=sys.stderr)
        return
    for name in sorted(n for n in dir(sm.datasets) if hasattr(getattr(sm.datasets, n), "load_pandas")):
        frame = getattr(sm.datasets, name).load_pandas().data
        yield "statsmodels-" + name, frame.select_dtypes("number").to_numpy()


def from_r(folder):
    if not shutil.which("Rscript"):
        print("skipped: there is no Rscript", file=sys.stderr)
        return
    subprocess.run(["Rscript", "-e", R_SCRIPT % (LEAST_ROWS, LEAST_COLUMNS, folder)], check=True)
    for path in sorted(glob.glob(os.path.join(folder, "R-*.txt"))):
        yield os.path.basename(path)[:-len(".txt")], np.loadtxt(path, ndmin=2)


def libsvm(path):
    lines = [line.split() for line in open(path)]
    D = max(int(word.split(":")[0]) for line in lines for word in line[1:])
    x = np.zeros((len(lines), D))
    for row, line in zip(x, lines):
        for word in line[1:]:
            at, value = word.split(":")
            row[int(at) - 1] = float(value)
    return x


def numbers(path):
    """The cells of a csv; words, such as those of a header, are missing values."""
    lines = list(csv.reader(io.TextIOWrapper(gzip.open(path))))

    def value(word):
        try:
            return float(word)
        except ValueError:
            return np.nan
    return np.array([[value(word) for word in line] for line in lines])


def from_data(data):
    for name in ("boston-housing", "concrete", "energy", "kin8nm", "power-plant", "wine-quality-red", "yacht"):
        yield "uci-" + name, np.loadtxt(os.path.join(data, "uci", name, "data.txt"))
    for name in ("airfoil", "autompg", "bike", "elevators", "kin40k", "parkinsons", "pol", "protein"):
        yield "uci-" + name, numbers(os.path.join(data, "uci-large", name, "data.csv.gz"))
    for name in ("australian", "breast-cancer", "madelon", "usps_3v5.train"):
        yield "libsvm-" + name.split(".")[0], libsvm(os.path.join(data, "libsvm", name))
    pixels = gzip.open(os.path.join(data, "mnist", "t10k-images-idx3-ubyte.gz")).read()[16:]
    yield "mnist-t10k", np.frombuffer(pixels, dtype=np.uint8).reshape(-1, 784)


def write(folder, data, only=None):
    """Write the tables into folder; the names, in order.  Two packages may have the same one: it counts once."""
    sources = [from_sklearn(), from_statsmodels()] + ([] if only else [from_r(folder)])
    if os.path.isdir(data):
        sources.append(from_data(data))
    else:
        print("skipped: the data sets of FAB_DATA are absent", file=sys.stderr)
    names, seen = [], set()
    for name, x in (pair for source in sources for pair in source):
        x = complete(x)
        if x is None or x.tobytes() in seen or (only and name not in only):
            continue
        seen.add(x.tobytes())
        np.save(os.path.join(folder, name + ".npy"), x)
        names.append(name)
    return names
