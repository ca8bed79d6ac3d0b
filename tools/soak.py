"""soak.py BUILD [SECONDS] [--only PART] [--kills N] - kills, faults, fuzz, long streams and the Python package, for about so many seconds in all (default 600).

    kills    update, fit --checkpoint, tune --table and predict -o ended by SIGKILL at a random moment: files are whole, what goes on
             ends in the same bytes, and no temporary file stays
    faults   tests/test_faults.py --all: allocations and system calls that fail, at every n
    streams  rows from a pipe for the whole of the time: memory stays, numbers are finite
    fuzz     every target of fuzz/, by tools/fuzz.sh (needs clang; left out with a word where there is none)
    python   mutated files read by the extension for the whole of the time; before it the tests of the torch adapters under every
             torch that is there: that of the program's Python, and that of BUILD/python-newest (python -m pip install torch there)

Each part gets a fifth.  What ran is printed at the end, for the notes of a release; the status is 1 when anything was wrong.
"""
# SPDX-License-Identifier: MIT
import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
QUIET = ["--threads", "1", "--quiet"]
ROWS = 500


def table(path, rows, rng):
    with open(path, "w") as file:
        file.write("a,b,c,y\n")
        for _ in range(rows):
            x = [rng.gauss(0, 1) for _ in range(3)]
            file.write("%.5f,%.5f,%.5f,%.5f\n" % (*x, x[0] - 0.5 * x[2] + rng.gauss(0, 0.3)))


def info(program, path):
    done = subprocess.run([program, "info", path, "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


class Victim:
    """A call that is killed again and again.  `whole` says what is wrong with its file, or None; `done` that it has come to its end."""

    def __init__(self, folder, words, file):
        self.folder, self.words, self.path = folder, words, os.path.join(folder, file)

    def start(self, program):
        quiet = QUIET if self.words[0] != "predict" else QUIET[2:]
        return subprocess.Popen([program] + self.words + quiet, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def prepare(self, program):
        """How long it takes undisturbed, and the bytes that it ends with."""
        begun = time.time()
        if self.start(program).wait() != 0:
            raise SystemExit("soak.py: %s fails without a kill" % " ".join(self.words))
        self.time, self.good = time.time() - begun, self.bytes()
        self.again()

    def bytes(self):
        return open(self.path, "rb").read() if os.path.exists(self.path) else None

    def again(self):
        os.unlink(self.path)


class Updated(Victim):
    """`update`: the rows of one call more, or none."""

    def prepare(self, program):
        super().prepare(program)
        self.seen = int(info(program, self.path)["n"])

    def again(self):
        pass

    def whole(self, program, ended):
        now = info(program, self.path)
        if now is None or int(now["n"]) not in ((self.seen + ROWS,) if ended else (self.seen, self.seen + ROWS)):
            return "is not whole: %s" % (now and now["n"])
        self.seen = int(now["n"])
        return None


class Resumed(Victim):
    """`fit --checkpoint --resume`: a file that can be read, and at the end the bytes of a fit that nothing disturbed."""

    def whole(self, program, ended):
        now = self.bytes()
        if ended:
            self.again()
            return None if now == self.good else "ends in other bytes"
        return None if now is None or info(program, self.path) else "cannot be read"


class Searched(Victim):
    """`tune --table --resume`: lines that are complete and the same as without a kill, but for the seconds."""

    def whole(self, program, ended):
        def lines(b):
            return [line.rsplit(b",", 1)[0] for line in b.splitlines()]
        now = self.bytes()
        if now is not None and (not now.endswith(b"\n") or lines(now) != lines(self.good)[:len(lines(now))]):
            return "has other lines: %r" % now[-200:]
        if ended and len(lines(now)) != len(lines(self.good)):
            return "lacks lines at the end"
        if ended:
            self.again()
        return None


class Written(Victim):
    """`predict -o`: all of it or nothing."""

    def whole(self, program, ended):
        now = self.bytes()
        if now is not None:
            self.again()
        return None if now == self.good or (now is None and not ended) else "is cut"


def kills(program, seconds, most=None):
    """Until the time is over, or so many kills were sent."""
    rng, wrong, n, landed = random.Random(2385), [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        table(os.path.join(folder, "t.csv"), ROWS, rng)
        table(os.path.join(folder, "long.csv"), 20000, rng)
        for model, data in ("m.st", "t.csv"), ("p.st", "long.csv"):
            subprocess.run([program, "fit", data, "-y", "y", "-m", "kalman", "-o", model] + QUIET, cwd=folder, check=True, stdout=subprocess.DEVNULL)
        victims = [Updated(folder, ["update", "m.st", "t.csv"], "m.st"),
                   Resumed(folder, "fit long.csv -y y -m lrvga -k 2 --checkpoint 500 --resume -o c.st".split(), "c.st"),
                   Resumed(folder, "fit t.csv -y y -m map --model mlp:3 --epochs=40 --checkpoint 2 --resume -o n.st".split(), "n.st"),
                   Searched(folder, "tune t.csv -y y --alpha=0.01:100:log --trials 30 --folds 5 --table r.csv --resume".split(), "r.csv"),
                   Written(folder, "predict p.st long.csv -o p.csv".split(), "p.csv")]
        for victim in victims:
            victim.prepare(program)
        end = time.time() + seconds
        while not wrong and n < most if most else time.time() < end:
            victim = victims[n % len(victims)]
            process = victim.start(program)
            time.sleep(rng.uniform(0, 1.3 * victim.time))
            process.send_signal(signal.SIGKILL)
            status = process.wait()
            landed += status == -signal.SIGKILL
            n += 1
            fault = victim.whole(program, status == 0) if status in (0, -signal.SIGKILL) else "status %d" % status
            if fault:
                wrong.append("kill %d: %s: %s %s" % (n, " ".join(victim.words), victim.path, fault))
                break
        for victim in victims:  # the last call sweeps up what killed ones left
            if victim.start(program).wait() != 0:
                wrong.append("%s fails after the kills" % " ".join(victim.words))
        left = [f for f in os.listdir(folder) if f.endswith((".tmp", ".part"))]
        if left:
            wrong.append("temporary files are left: %s" % left[:5])
    return "%d kills of 5 calls, %d of them before the end" % (n, landed), wrong


def memory_of(process):
    with open("/proc/%d/status" % process.pid) as status:
        return [int(line.split()[1]) for line in status if line.startswith("VmRSS")][0]


def streams(program, seconds):
    rng, words, wrong = random.Random(77), [], []
    calls = [["fit", "-", "-y", "y", "-m", "lrvga", "-k", "2"], ["fit", "-", "-y", "y", "-m", "kalman"],
             ["fa", "-", "-k", "2", "-m", "recursive-em"], ["fa", "-", "-k", "2", "-m", "online-em"]]
    with tempfile.TemporaryDirectory() as folder:
        table(os.path.join(folder, "t.csv"), 20000, rng)
        with open(os.path.join(folder, "t.csv"), "rb") as file:
            head = file.readline()
            piece = file.read()
        for call in calls:
            out = os.path.join(folder, "o.st")
            process = subprocess.Popen([program] + call + ["-o", out] + QUIET, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            process.stdin.write(head)
            begun, rows, early = time.time(), 0, 0
            while time.time() - begun < seconds / len(calls):
                process.stdin.write(piece)
                rows += 20000
                if not early and time.time() - begun > seconds / len(calls) / 4:
                    early = memory_of(process)
            late = memory_of(process)
            process.stdin.close()
            status, said = process.wait(), info(program, out)
            words.append("%s %d rows" % (call[-1] if call[0] == "fa" else call[5], rows))
            if status != 0 or said is None or int(said["n"]) != rows:
                wrong.append("%s: status %d after %d rows" % (" ".join(call), status, rows))
            elif late > 1.1 * early + 4096:
                wrong.append("%s: memory grew from %d to %d kB" % (" ".join(call), early, late))
    return "streams: " + ", ".join(words), wrong


def faults(build, seconds):
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tests/test_faults.py"), os.path.join(build, "fabayes"),
                           os.path.join(build, "libfault_alloc.so"), os.path.join(build, "fault_calls"), "--all", "--time", str(seconds),
                           "--seed", str(int(time.time()))], capture_output=True, text=True)
    lines = done.stdout.splitlines() or [done.stderr[-300:]]
    return lines[-1], [line for line in lines if line.startswith("    ")] or ([] if done.returncode == 0 else lines[-1:])


def fuzz(build, seconds):
    if not shutil.which("clang"):
        return "no fuzz: there is no clang", []
    targets = len([f for f in os.listdir(os.path.join(ROOT, "fuzz")) if f.startswith("fuzz_") and f.endswith(".c")])
    done = subprocess.run([os.path.join(ROOT, "tools/fuzz.sh"), str(max(1, int(seconds / targets)))], env=dict(os.environ, BUILD=build),
                          capture_output=True, text=True)
    runs = sum(int(line.split()[-1]) for line in done.stderr.splitlines() if "number_of_executed_units" in line)
    return "%d inputs for %d fuzz targets" % (runs, targets), [] if done.returncode == 0 else [done.stderr[-500:]]


MUTATE = """
import pathlib, sys, time
import numpy as np
import fabayes
end, seed, file = time.time() + float(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
r = np.random.RandomState(seed)
X = r.randn(60, 4)
y, words = X @ [1.0, 2.0, 0.0, -1.0], np.where(X[:, 0] > 0, "high", "low")
kinds = [m._fitted.core.pack() for m in (
    fabayes.BayesianLinearRegression().fit(X, y), fabayes.BayesianLinearRegression(method="kalman").fit(X, y),
    fabayes.BayesianLogisticRegression().fit(X, words), fabayes.BayesianLogisticRegression(method="lrvga", rank=2).fit(X, words),
    fabayes.BayesianMLPRegressor((3,), epochs=5).fit(X, y), fabayes.BayesianMLPClassifier((3,), epochs=5).fit(X, words),
    fabayes.FactorAnalysis(1).fit(X), fabayes.FactorAnalysis(1, method="recursive-em").fit(X))]
n = read = 0
while time.time() < end:
    bad = bytearray(kinds[n % len(kinds)])
    for at in r.randint(0, len(bad) if n % 2 else min(len(bad), 3000), 1 + n % 3):
        bad[at] = r.randint(256)
    if n % 5 == 0:
        bad = bad[: r.randint(1, len(bad) + 1)]
    file.write_bytes(bad)
    n += 1
    try:
        found = fabayes.load(file)
        read += 1
        if isinstance(found, fabayes.Gauss):
            found.sample(1)
        else:
            (found.transform if hasattr(found, "transform") else found.predict)(X)
            if hasattr(found, "partial_fit"):
                found.partial_fit(X, *([] if hasattr(found, "transform") else [words if hasattr(found, "classes_") else y]))
    except (ValueError, ArithmeticError, OSError, MemoryError):
        pass
print(n, read)
"""


def python(build, seconds):
    package = os.path.join(build, "python")
    if not os.path.exists(os.path.join(package, "fabayes", "_core.abi3.so")):
        return "no python: the package is not built", []
    env = dict(os.environ, PYTHONPATH=package, PYTHONDONTWRITEBYTECODE="1", OMP_NUM_THREADS="1", FABAYES=os.path.join(build, "fabayes"))
    words, wrong = [], []
    for program in "/usr/bin/python3", os.path.join(build, "python-newest", "bin", "python"):
        said = subprocess.run([program, "-c", "import torch; print(torch.__version__)"], capture_output=True, text=True) \
            if os.path.exists(program) else None
        if said is None or said.returncode != 0:
            words.append("no torch in " + program)
            continue
        done = subprocess.run([program, "-m", "pytest", "-q", "-p", "no:cacheprovider", os.path.join(ROOT, "python/tests/test_torch.py")],
                              env=env, capture_output=True, text=True)
        words.append("torch " + said.stdout.strip())
        wrong += [] if done.returncode == 0 else ["torch %s: %s" % (said.stdout.strip(), done.stdout[-500:])]
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(["/usr/bin/python3", "-W", "ignore", "-c", MUTATE, str(seconds), str(int(time.time())),
                               os.path.join(folder, "bad")], env=env, capture_output=True, text=True)
    if done.returncode != 0:
        wrong.append("mutated files: status %d: %s" % (done.returncode, done.stderr[-500:]))
    else:
        words.append("%s mutated files, %s of them read" % tuple(done.stdout.split()))
    return "python: " + ", ".join(words), wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("seconds", type=float, nargs="?", default=600, help="for all parts together")
    parser.add_argument("--only", choices=["kills", "faults", "streams", "fuzz", "python"], help="one part, which gets all of the time")
    parser.add_argument("--kills", type=int, help="so many of them, however long that takes")
    options = parser.parse_args()
    part = options.seconds if options.only else options.seconds / 5
    program, wrong = os.path.join(options.build, "fabayes"), []
    parts = {"kills": lambda: kills(program, part, options.kills), "faults": lambda: faults(options.build, part),
             "streams": lambda: streams(program, part), "fuzz": lambda: fuzz(options.build, part), "python": lambda: python(options.build, part)}
    for name in [options.only] if options.only else parts:
        words, found = parts[name]()
        wrong += found
        print(words, flush=True)
        for line in found:
            print("    WRONG: " + line, flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
