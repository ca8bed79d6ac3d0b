#!/usr/bin/python3
"""A million generated rows in one pass through landmarks, killed and resumed, beside 100000 of them at once.

    studies/streaming-gp/million.py FOLDER [ROWS [LANDMARKS]]     rows (1e6), files and results go to FOLDER; what is there is not made again

y = sin(2 x0) + x1 x2 / 2 + exp(-(x3 - x4)^2) + cos(x5 + x6) / 2 + 0.3 noise, x0 .. x7 normal.  Prints, of `nystrom:rbf:ard:500 -m kalman`
in one pass: seconds, the most memory, the scores of 20000 other rows; whether the pass that was killed and resumed ends in the same bytes;
and the scores of `-m exact` with as many landmarks and of `vfe` with as many inducing inputs on the first 100000 rows, each with a kernel of
its own.  Needs a build (BUILD) and NumPy.
"""
# SPDX-License-Identifier: MIT
import filecmp
import json
import os
import resource
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "common"))
import study  # noqa: E402
import numpy as np  # noqa: E402

FABAYES = os.path.join(study.BUILD, "fabayes")
LANDMARKS = sys.argv[3] if len(sys.argv) > 3 else "500"
MODEL = "nystrom:rbf:ard:" + LANDMARKS


def made(n, seed):
    g = np.random.default_rng(seed)
    x = g.normal(size=(n, 8))
    f = np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] / 2 + np.exp(-(x[:, 3] - x[:, 4]) ** 2) + np.cos(x[:, 5] + x[:, 6]) / 2
    return np.column_stack([x, f + 0.3 * g.normal(size=n)])


def fit(rows, method, out, *more, model=MODEL):
    return [FABAYES, "fit", rows, "-y", "last", "--model", model, "-m", method, "-o", out, "--threads", "1", "--quiet", *more]


def run(command):
    """Processor seconds and megabytes."""
    with open(os.devnull, "w") as none:
        child = subprocess.Popen(command, stdout=none)
        _, status, used = os.wait4(child.pid, 0)
    assert status == 0, command
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def score(out, test):
    s = study.fabayes("score", out, test)
    return "RMSE %.4f, LL %.4f, 90 %% intervals hold %.1f %%" % (s["rmse"], -s["nll"], 100 * s["coverage90"])


def main():
    folder, n = sys.argv[1], int(float(sys.argv[2])) if len(sys.argv) > 2 else 10**6
    os.makedirs(folder, exist_ok=True)
    at = lambda name: os.path.join(folder, name)  # noqa: E731
    for name, rows, seed in (("all.npy", n, 1), ("test.npy", 20000, 2)):
        if not os.path.exists(at(name)):
            np.save(at(name), made(rows, seed))
    if not os.path.exists(at("part.npy")):
        np.save(at("part.npy"), np.load(at("all.npy"))[: n // 10])
    if not os.path.exists(at("pass.json")):
        seconds, mb = run(fit(at("all.npy"), "kalman", at("pass.st")))
        with open(at("pass.json"), "w") as f:
            json.dump([seconds, mb], f)
    with open(at("pass.json")) as f:
        print("one pass, %d rows: %.0f s, %.0f MB; " % (n, *json.load(f)) + score(at("pass.st"), at("test.npy")), flush=True)
    for name, command in (("exact", fit(at("part.npy"), "exact", at("exact.st"))),
                          ("vfe", fit(at("part.npy"), "vfe", at("vfe.st"), "--inducing=" + LANDMARKS, model="gp:rbf:ard"))):
        if not os.path.exists(at(name + ".json")):
            used = run(command)
            with open(at(name + ".json"), "w") as f:
                json.dump(used, f)
        with open(at(name + ".json")) as f:
            print("%s, %d rows: %.0f s, %.0f MB; " % (name, n // 10, *json.load(f)) + score(at(name + ".st"), at("test.npy")), flush=True)
    again = at("again.st")
    if os.path.exists(again):
        os.remove(again)
    child = subprocess.Popen(fit(at("all.npy"), "kalman", again, "--checkpoint", str(n // 5)))
    while not os.path.exists(again):
        time.sleep(0.2)
    time.sleep(3)
    child.send_signal(signal.SIGKILL)
    child.wait()
    run(fit(at("all.npy"), "kalman", again, "--checkpoint", str(n // 5), "--resume"))
    print("killed behind %d rows and resumed: %s bytes" % (n // 5, "the same" if filecmp.cmp(again, at("pass.st"), False) else "other"))


main()
