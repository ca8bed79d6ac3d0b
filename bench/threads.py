"""threads.py - what a second thread costs on a quiet and on a busy machine: threads.py PROGRAM [PROGRAM ...].

Two fits, of a network (60 columns, mlp:50, 500 rows in a step, vifa: many small jobs) and of a stream
(recursive-em, D = 1000: larger ones), on one and two threads, while nobody else works and while one process for
each core does.  Prints the median of the wall-clock and of the CPU time (user and system) of RUNS runs, the programs
taking turns, so that a change of the load meets them alike.
"""
# SPDX-License-Identifier: MIT
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

RUNS = int(os.environ.get("RUNS", 7))


def make_inputs(folder):
    """The commands, with their data in `folder`."""
    rng = np.random.default_rng(1)
    x = rng.standard_normal((500, 60))
    table = np.column_stack([x, np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.standard_normal(500)])
    np.savetxt(folder + "/net.csv", table, delimiter=",", fmt="%.6g")
    low = rng.standard_normal((10000, 10)) @ rng.standard_normal((10, 1000))
    np.save(folder + "/stream.npy", low + rng.standard_normal(low.shape))
    out = ["-o", folder + "/q", "--quiet"]
    return {"mlp:50, vifa": ["fit", folder + "/net.csv", "-y", "last", "--model", "mlp:50", "-m", "vifa", "-k", "5",
                             "--batch=500", "--epochs=500", *out],
            "recursive-em, D = 1000": ["fa", folder + "/stream.npy", "-k", "10", "-m", "recursive-em", *out]}


def run_once(program, command, threads):
    """Seconds on the wall clock, and of the CPU."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([program, *command, "--threads", str(threads)], check=True, stdout=subprocess.DEVNULL)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    programs, burners = sys.argv[1:], []
    if not programs:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        commands = make_inputs(folder)
        for state in ("quiet", "busy"):
            if state == "busy":
                burners = [subprocess.Popen([sys.executable, "-c", "while True: pass"])
                           for _ in os.sched_getaffinity(0)]
            try:
                for what, command in commands.items():
                    taken = {}
                    for _ in range(RUNS):
                        for program in programs:
                            for threads in (1, 2):
                                key = program, threads
                                taken.setdefault(key, []).append(run_once(program, command, threads))
                    for (program, threads), times in taken.items():
                        wall, cpu = (statistics.median(t) for t in zip(*times))
                        print("%-6s %-24s %d threads  wall %.3f s  cpu %.3f s  best %.3f s  %s" % (
                            state, what, threads, wall, cpu, min(times)[0], program), flush=True)
            finally:
                for b in burners:
                    b.kill()
                    b.wait()


main()
