"""study.py - what the studies driven from Python share: the command line, the data, csv, tables, pictures.

BUILD names the folder of the build, FAB_DATA that of the public data sets.
"""
# SPDX-License-Identifier: MIT
import csv
import json
import math
import os
import shutil
import statistics
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("BUILD", os.path.join(ROOT, "build"))
DATA = os.environ.get("FAB_DATA", os.path.join(ROOT, "..", "shared", "data"))
SKIPPED = 77  # what ctest takes for "skipped"
QUICK = "--quick" in sys.argv[1:]
# Where a study is skipped: the tests that hold the same code on data made there.
INSTEAD = {
    "auto-tables": "candidates, regression, cli_net", "class-networks": "regression, cli_net, sgd, vifa",
    "class-tables": "vga, laplace, predict_classes",
    "wide-tables": "regression, laplace, exact", "streaming-gp": "features, map", "sparse-gp": "bound, vfe", "gp-tables": "gp, evidence, process", "tune-bayes": "tune, propose", "fa-tables": "online_ml, batch, recursive_em, factors", "sparse-tables": "spike_slab, exact",
    "uci-linear": "exact, regression", "uci-best": "candidates, vifa", "logistic": "laplace, vga, lrvga",
    "laplace-networks": "laplace_net, linearised", "map-baselines": "sgd, laplace",
    "mnist": "net, vifa, sgd", "slang-logistic": "slang, glm", "thesis-uci-predict": "vifa, predict",
    "thesis-uci-posterior": "vifa, exact", "method-comparison": "vifa, slang, swag, laplace_net",
    "kmeans-seeding": "kmeans, centres", "dpmeans": "dpmeans", "notes-svm": "svm",
    "mfa-mnist": "mfa, clusters", "mixtures": "mfa, clusters", "stream-drift": "mfa", "kmeans-peers": "kmeans, minibatch_kmeans",
    "network-peers": "candidates, vifa, laplace_net",
}


def skip(reason):
    """End, skipped: one line says why, and what is tested in its place (`make test` shows it)."""
    name = os.path.basename(os.path.dirname(os.path.abspath(sys.argv[0])))
    print("skipped: %s; the code is tested by %s" % (reason, INSTEAD[name]), file=sys.stderr)
    sys.exit(SKIPPED)


def call(program, *args):
    """Standard output of a program of the build; its complaint ends the study."""
    done = subprocess.run([os.path.join(BUILD, program)] + [str(a) for a in args],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode != 0:
        sys.exit("%s %s: %s" % (program, " ".join(map(str, args)), done.stderr.strip()))
    return done.stdout


def fabayes(*args):
    """What a verb of the command line answers with --json."""
    return json.loads(call("fabayes", *args, "--json"))


def number_or_text(word):
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            pass
    return word


def measure(program, columns, *args):
    """The csv lines that a study in C prints, as dictionaries; shown while it runs on."""
    text = call(program, *args)
    print(text, end="", file=sys.stderr)
    return [dict(zip(columns, map(number_or_text, row))) for row in csv.reader(text.splitlines())]


def data(*parts):
    """The path of a data set, or None where it is absent."""
    path = os.path.join(DATA, *parts)
    if os.path.exists(path):
        return path
    print("skipped: %s is not in FAB_DATA" % "/".join(parts), file=sys.stderr)
    return None


def mean_se(values):
    mean = statistics.fmean(values)
    return mean, statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan


def plus_minus(values, digits):
    mean, se = mean_se(values)
    return "%.*f ± %.*f" % (digits, mean, digits, se) if se == se else "%.*f" % (digits, mean)


def write_csv(path, rows):
    """Dictionaries with the same keys, in their order; floats with six digits."""
    with open(path, "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(rows[0])
        for row in rows:
            out.writerow("%.6g" % v if isinstance(v, float) else v for v in row.values())


def table(head, lines):
    """Lines of a table in Markdown."""
    return ["| " + " | ".join(map(str, line)) + " |" for line in [head, ["---"] * len(head)] + lines]


def fill(readme, name, lines):
    """Put lines between <!-- NAME --> and <!-- end NAME --> of a README."""
    text = open(readme).read()
    begin, end = "<!-- %s -->\n" % name, "<!-- end %s -->" % name
    head, rest = text.split(begin)
    with open(readme, "w") as f:
        f.write(head + begin + "\n" + "\n".join(lines) + "\n\n" + end + rest.split(end)[1])


def plot(folder):
    """plot.gp of the study, run beside its csv, where there is a gnuplot."""
    if shutil.which("gnuplot"):
        subprocess.run(["gnuplot", "plot.gp"], cwd=folder, check=True)
