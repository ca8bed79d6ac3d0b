"""mpi.py BUILD [COORDINATES [ROWS]] - what a row costs one process and each of two, at `fa -m online-em`, K = 10, f32.

Processor time of a call with all rows less that of a call with half of them: beginning, report and files cancel (one process is one of one, without the scores one step
ahead that only a call alone has).  What goes by inside
sums, where a process also waits for the other, stands apart (mpi_times.c).  Best of three; the file of rows is made in a temporary folder.
"""
# SPDX-License-Identifier: MIT
import os
import re
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))


def write_rows(path, n, d):
    r = np.random.default_rng(5)
    x = np.lib.format.open_memmap(path, mode="w+", dtype="f4", shape=(n, d))
    F = r.standard_normal((d, 3), dtype="f4")
    for i in range(n):
        x[i] = F @ r.standard_normal(3, dtype="f4") + r.standard_normal(d, dtype="f4")


def several(call, n, times, index):
    """Of each process: seconds, of them in sums, sums, bytes."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    mpirun = ["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-q", "-n", str(n), "-x", "FABAYES_PROCESSES=mpi", "-x", "LD_PRELOAD=" + times]
    said = subprocess.run([*mpirun, *call, "-o", index], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True).stderr
    return [tuple(map(float, m)) for m in re.findall(r"rank \d+: ([\d.]+) s, in sums ([\d.]+) s, (\d+) sums of (\d+) bytes", said)]


def main(build, d=10 ** 7, n=40):
    with tempfile.TemporaryDirectory() as folder:
        rows, times, half = (os.path.join(folder, f) for f in ("x.npy", "times.so", "half.txt"))
        subprocess.run(["mpicc", "-O2", "-shared", "-fPIC", "-o", times, os.path.join(HERE, "mpi_times.c")], check=True)
        write_rows(rows, n, d)
        with open(half, "w") as f:
            f.writelines("%d\n" % i for i in range(n // 2))
        call = [os.path.join(build, "fabayes"), "fa", rows, *"-k 10 -m online-em --warmup=10 --held=0 --dtype f32 --threads 1 --quiet --json".split()]
        best = {}
        for turn in range(3):
            one, two = [], []
            for more in ([], ["--rows", half]):
                index = os.path.join(folder, "q.safetensors.index.json")
                one.append(several(call + more, 1, times, index))
                two.append(several(call + more, 2, times, index))
            share = n - n // 2
            took = {"one process": (one[0][0][0] - one[1][0][0]) / share}
            for rank in range(2):
                all_of, sums = ((two[0][rank][i] - two[1][rank][i]) / share for i in range(2))
                took["rank %d of 2" % rank] = all_of
                took["rank %d of 2, outside sums" % rank] = all_of - sums
            messages = [(two[0][0][i] - two[1][0][i]) / share for i in (2, 3)]
            print("turn %d, load %.0f: %s; %.1f sums of %.0f bytes a row" %
                  (turn + 1, os.getloadavg()[0], ", ".join("%s %.4f s" % item for item in took.items()), *messages), flush=True)
            for name, seconds in took.items():
                best[name] = min(best.get(name, seconds), seconds)
        for name, seconds in best.items():
            print("%-28s %.4f s a row, %.2f of one" % (name, seconds, seconds / best["one process"]))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(os.path.abspath(sys.argv[1]), *map(int, sys.argv[2:]))
