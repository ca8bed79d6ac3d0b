"""test_faults.py PROGRAM ALLOC CALLS [--all] [--time SECONDS] [--only WORD] [--log FILE] - what the program does when memory, the disk or a call fails.

ALLOC is the library of faults/alloc.c, under which the n-th allocation fails; CALLS the program of faults/calls.c, under which the
n-th system call of a name does.  Every verb is run with a fault at some n (with --all: at every n, once alone and once together with
all that follow), and must either

    end with status 0, the same words and the same bytes in its files, or
    end with status 1 or 2 and a sentence, its files the old ones, the new ones or none;

without a signal, without waiting forever, with no temporary file behind and no more memory held than after a run without a fault.
"""
# SPDX-License-Identifier: MIT
import argparse
import concurrent.futures
import errno
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

FIXED = dict(os.environ, OPENBLAS_NUM_THREADS="1", MALLOC_PERTURB_="165", LC_ALL="C")
PATIENCE = 300  # seconds; the longest of these runs but the demo takes less than one


class Case:
    """A call, the files it makes or changes, and whether the words on standard output stay the same."""

    def __init__(self, name, words, files=(), folders=(), few=False):
        self.name, self.words, self.files, self.folders, self.few = name, words.split(), files, folders, few


CASES = [
    Case("exact", "fit t.csv -y y -o o.st --threads 1 --json", ["o.st"]),
    Case("exact-words", "fit w.csv -y y -o o.st --threads 1 --missing mean", ["o.st"]),
    Case("laplace", "fit c.csv -y y -m laplace -o o.st --threads 1", ["o.st"]),
    Case("vga", "fit c.csv -y y -o o.st --threads 1 --calibrate temperature", ["o.st"]),
    Case("rvga", "fit c.csv -y y -m rvga -o o.st --threads 1 --json", ["o.st"]),
    Case("kalman", "fit t.csv.gz -y y -m kalman -o o.st --threads 1", ["o.st"]),
    Case("lrvga", "fit c.csv -y y -m lrvga -k 2 -o o.st --threads 1 --checkpoint 20", ["o.st"]),
    Case("resume", "fit c.csv -y y -m lrvga -k 2 -o lr.st --threads 1 --resume", ["lr.st"]),
    Case("prior", "fit t.csv -y y -m lrvga -k 2 --prior lt.st -o o.st --threads 1", ["o.st"]),
    Case("swag", "fit t.csv -y y -m swag -k 2 --epochs=5 --average=4 -o o.st --threads 1 --model mlp:3", ["o.st"]),
    Case("slang", "fit c.csv -y y -m slang -k 1 --epochs=2 -o o.st --threads 1", ["o.st"]),
    Case("vifa", "fit t.csv -y y -m vifa -k 1 --epochs=2 -o o.st --threads 1 --model mlp:3", ["o.st"]),
    Case("ensemble", "fit t.csv -y y -m ensemble --runs=2 --epochs=2 -o o.st --threads 1 --model mlp:3", ["o.st"]),
    Case("laplace-net", "fit c.csv -y y -m laplace --epochs=2 -o o.st --threads 1 --model mlp:3", ["o.st"]),
    Case("spike-slab", "fit t.csv -y y -m spike-slab -o o.st --threads 1 --json", ["o.st"]),
    Case("lasso", "fit t.csv -y y -m lasso -o o.st --threads 1 --json", ["o.st"]),
    Case("quantile", "fit t.csv -y y -m quantile --tau=0.9 -o o.st --threads 1", ["o.st"]),
    Case("hinge", "fit c.csv -y y -m erm --loss=hinge --lambda=0.1 -o o.st --threads 1", ["o.st"]),
    Case("conformal", "fit t.csv -y y -m exact --calibrate conformal -o o.st --threads 1", ["o.st"]),
    Case("conformal-classes", "fit c.csv -y y -m laplace --calibrate conformal -o o.st --threads 1", ["o.st"]),
    Case("formula", "fit t.csv -f y~poly(a,2)+b:c+log(abs(c)+1) -o o.st --threads 1", ["o.st"]),
    Case("formula-words", "fit w.csv -f y~district*a -o o.st --threads 1 --missing drop", ["o.st"]),
    Case("auto", "fit t.csv -y y --model auto --effort quick -o o.st --threads 1", ["o.st"]),
    Case("slang-resume", "fit c.csv -y y -m slang -k 1 --epochs=400 -o sl.st --threads 1 --resume", ["sl.st"]),
    Case("vifa-resume", "fit t.csv -y y -m vifa -k 1 --epochs=400 -o vi.st --threads 1 --model mlp:3 --resume", ["vi.st"]),
    Case("libsvm", "fit s.svm -y label -m lrvga -k 1 -o o.st --threads 1", ["o.st"]),
    Case("fa", "fa t.csv -k 2 -o o.st --loadings l.csv --scores z.npy --threads 1 --json", ["o.st", "l.csv", "z.npy"]),
    Case("fa-auto", "fa t.csv -k auto --max-factors 2 -m online-ml -o o.st --threads 1 --rotation varimax --scores z.csv", ["o.st", "z.csv"]),
    Case("fa-recursive-em", "fa t.csv -k 1 -m recursive-em --block=8 -o o.st --threads 1", ["o.st"]),
    Case("fa-em", "fa t.csv -k 1 -m em -o o.st --threads 1", ["o.st"]),
    Case("fa-online-em", "fa t.csv -k 1 -m online-em -o o.st --threads 1 --checkpoint 40", ["o.st"]),
    Case("fa-missing", "fa m.csv -k 1 -m em --missing em -o o.st --threads 1 --scores z.csv", ["o.st", "z.csv"]),
    Case("fa-npy", "fa x.npy -k 1 -m pca -o o.st --threads 1", ["o.st"]),
    Case("predict", "predict e.st t.csv -o p.csv", ["p.csv"]),
    Case("predict-json", "predict v.st c.csv -o p.csv --json", ["p.csv"]),
    Case("predict-net", "predict n.st t.csv --samples 3"),
    Case("predict-words", "predict w.st w.csv"),
    Case("score", "score v.st c.csv --json --selective"),
    Case("score-net", "score n.st t.csv --linearised"),
    Case("report", "report v.st c.csv -o o.html", ["o.html"]),
    Case("report-net", "report n.st t.csv -o o.html --linearised", ["o.html"]),
    Case("predict-formula", "predict formula.st t.csv -o p.csv", ["p.csv"]),
    Case("report-table", "report e.st t.csv -o o.html", ["o.html"]),
    Case("report-alone", "report e.st -o o.html", ["o.html"]),
    Case("report-stream", "report lt.st t.csv -o o.html", ["o.html"]),
    Case("report-fa", "report f.st t.csv -o o.html", ["o.html"]),
    Case("sample", "sample e.st -n 3 -o d.npy --threads 1", ["d.npy"]),
    Case("sample-csv", "sample e.st -n 3 --threads 1"),
    Case("update", "update lr.st c.csv --threads 1", ["lr.st"]),
    Case("update-fa", "update f.st t.csv --threads 1 --json", ["f.st"]),
    Case("update-units", "update k.st t.csv --threads 1", ["k.st"]),
    Case("tune", "tune t.csv -y y -m exact --alpha=0.1:10:log --trials 2 --folds 2 -o o.st --table r.csv --threads 1 --json", ["o.st"]),
    Case("tune-resume", "tune t.csv -y y -m exact --alpha=0.1:10:log --trials 2 --folds 2 --table tr.csv --resume --threads 1", ["tr.csv"]),
    Case("compare", "compare e.st k.st --threads 1 --json"),
    Case("gp", "fit t.csv -y y --model gp:rbf -o o.st --threads 1 --starts=1", ["o.st"]),
    Case("gp-classes", "fit c.csv -y y --model gp:rbf -o o.st --threads 1 --starts=1", ["o.st"]),
    Case("vfe", "fit t.csv -y y --model gp:rbf -m vfe --inducing=4 -o o.st --threads 1", ["o.st"]),
    Case("nystrom", "fit t.csv -y y --model nystrom:rbf:4 -m kalman -o o.st --threads 1", ["o.st"]),
    Case("predict-gp", "predict gp.st t.csv -o p.csv", ["p.csv"]),
    Case("update-gp", "update gp.st t.csv --threads 1", ["gp.st"]),
    Case("propose", "propose trials.csv -y loss --range rate=1e-4:0.1:log --range layers=1:4:int -n 2 --json"),
    Case("merge-rows", "merge e.st e2.st -o o.st --threads 1 --json", ["o.st"]),
    Case("merge-product", "merge lt.st lt2.st -o o.st --threads 1", ["o.st"]),
    Case("merge-states", "merge f.st f2.st -o o.st --threads 1", ["o.st"]),
    Case("merge-moments", "merge ml.st ml2.st -o o.st --threads 1 --json", ["o.st"]),
    Case("merge-networks", "merge n.st n2.st -o o.st --threads 1", ["o.st"]),
    Case("info", "info w.st --json"),
    Case("info-table", "info v.st"),
    Case("info-net", "info n.st --json"),
    Case("methods", "methods vifa --json"),
    Case("methods-all", "methods --json", few=True),
    Case("methods-one", "methods vifa"),
    Case("demo", "demo -o rep --threads 1 --json", folders=["rep"], few=True),
]

# What is broken, how, and the name of the call: (name, errno); errno 0 is half of the bytes.
BROKEN = [("read", errno.EIO), ("read", 0), ("read", errno.EINTR), ("write", errno.ENOSPC), ("write", 0), ("write", errno.EINTR),
          ("fsync", errno.EIO), ("rename", errno.EACCES), ("mmap", errno.ENOMEM), ("openat", errno.EMFILE), ("newfstatat", errno.EIO),
          ("lseek", errno.EIO), ("close", errno.EIO), ("flock", errno.EINTR), ("flock", errno.ENOLCK), ("fchmod", errno.EPERM),
          ("unlink", errno.EPERM), ("getdents64", errno.EIO)]


def prepare(program, folder):
    """The small inputs: a table of numbers, of classes, of words, of vectors, sparse; and files made of them."""
    import gzip
    import struct
    rng = random.Random(2385)
    rows = [[rng.gauss(0, 1) for _ in range(3)] for _ in range(40)]
    y = [1.3 * r[0] - 0.4 * r[2] + rng.gauss(0, 0.5) for r in rows]

    def write(name, lines):
        with open(os.path.join(folder, name), "w") as file:
            file.write("\n".join(lines) + "\n")
    write("t.csv", ["a,b,c,y"] + [",".join("%.17g" % v for v in r + [t]) for r, t in zip(rows, y)])
    with open(os.path.join(folder, "t.csv"), "rb") as plain, open(os.path.join(folder, "t.csv.gz"), "wb") as packed:
        packed.write(gzip.compress(plain.read(), mtime=0))
    write("t2.csv", ["a,b,c,y"] + [",".join("%.17g" % (1.1 * v) for v in r + [t]) for r, t in zip(rows, y)])
    write("trials.csv", ["rate,layers,loss"] + ["%.5g,%d,%.5g" % (10 ** (-3 + abs(r[0])), 1 + i % 4, r[1]) for i, r in enumerate(rows[:6])])
    write("c.csv", ["a,b,c,y"] + ["%.6g,%.6g,%.6g,%s" % (*r, "yes" if t > 0 else "no") for r, t in zip(rows, y)])
    write("w.csv", ["a,district,y"] + ["%s,%s,%.6g" % ("NA" if i == 7 else "%.6g" % r[0], rng.choice(["hill", "h\u00fctte", "port"]), t)
                                       for i, (r, t) in enumerate(zip(rows, y))])
    write("m.csv", ["a,b,c"] + ["%.6g,%s,%.6g" % (r[0], "NA" if i % 4 == 0 else "%.6g" % r[1], r[2]) for i, r in enumerate(rows[:20])])
    write("s.svm", ["%d 1:%.5g 3:%.5g" % (t > 0, r[0], r[1]) for r, t in zip(rows, y)])
    head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (40, 3), }"
    head += b" " * (117 - len(head)) + b"\n"
    with open(os.path.join(folder, "x.npy"), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + head + b"".join(struct.pack("<3d", *r) for r in rows))
    for call in ("fit t.csv -y y -o e.st", "fit c.csv -y y -o v.st --calibrate temperature", "fit w.csv -y y -o w.st --missing mean",
                 "fit c.csv -y y -m lrvga -k 2 -o lr.st", "fit t.csv -y y -m lrvga -k 2 -o lt.st", "fit t.csv -y y -m kalman -o k.st", "fa t.csv -k 2 -m online-em -o f.st",
                 "fit t2.csv -y y --units e.st -o e2.st", "fit t2.csv -y y --units lt.st -m lrvga -k 2 -o lt2.st", "fa t2.csv -k 2 -m online-em -o f2.st",
                 "fa t.csv -k 2 -m ml -o ml.st", "fa t2.csv -k 2 -m ml -o ml2.st", "fit t.csv -y y --model gp:rbf --starts=1 -o gp.st",
                 "fit t.csv -f y~poly(a,2)+b:c+log(abs(c)+1) -o formula.st",
                 "fit t.csv -y y -m ensemble --runs=2 --epochs=2 --model mlp:3 -o n.st",
                 "fit t2.csv -y y --units n.st -m ensemble --runs=2 --epochs=2 --model mlp:3 -o n2.st",
                 "tune t.csv -y y -m exact --alpha=0.1:10:log --trials 2 --folds 2 --table tr.csv"):
        subprocess.run([program] + call.split() + ["--threads", "1"], cwd=folder, env=FIXED, check=True, capture_output=True)
    for call in ("fit c.csv -y y -m slang -k 1 --epochs=400 -o sl.st", "fit t.csv -y y -m vifa -k 1 --epochs=400 -o vi.st --model mlp:3"):
        stopped(program, folder, call.split())


def stopped(program, folder, call):
    """A fit that was stopped after its first save: --resume has something left to do, and ends in the same bytes wherever that was."""
    process = subprocess.Popen([program] + call + ["--threads", "1", "--checkpoint", "1", "--quiet"], cwd=folder, env=FIXED, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    while process.poll() is None and not os.path.exists(os.path.join(folder, call[call.index("-o") + 1])):
        time.sleep(0.001)
    process.terminate()
    process.wait()


# Times differ from run to run.
TIMES = [(rb'"[a-z_]*(seconds|rows_per_s)": [^,\n}]*', b'"seconds": 0'), (rb"[0-9.e+-]+ s\b", b"0 s"), (rb"[0-9.e+kMG-]+ rows/s", b"0 rows/s"),
         (rb"(?m)^(time +).*$", rb"\1")]


def settled(text):
    for pattern, instead in TIMES:
        text = re.sub(pattern, instead, text)
    return text


def differ(a, b):
    for x, y in zip(a.splitlines() + [b"(the end)"], b.splitlines() + [b"(the end)"]):
        if x != y:
            return "%r became %r" % (x[:120], y[:120])
    return "the end is missing"


def seen(folder, case):
    """The bytes of the case's files, None where there is none; of a folder only whether files in it are whole."""
    bytes_ = {}
    for name in case.files:
        path = os.path.join(folder, name)
        bytes_[name] = open(path, "rb").read() if os.path.exists(path) else None
        if name in ("tr.csv", "r.csv") and bytes_[name]:
            bytes_[name] = re.sub(rb"(?m),[^,\n]*$", b",", bytes_[name])  # the last column are seconds
    return bytes_


class Bench:
    """One case in a folder of its own."""

    def __init__(self, options, inputs, case):
        self.options, self.inputs, self.case = options, inputs, case
        self.root = tempfile.mkdtemp(prefix="faults")
        self.folder, self.report = os.path.join(self.root, "work"), os.path.join(self.root, "report")
        self.call, self.server = [options.program] + case.words, None
        shutil.copytree(inputs, self.folder)

    def close(self):
        if self.server:
            os.close(self.ask)
            os.close(self.answer)
            self.server.wait()
        shutil.rmtree(self.root, ignore_errors=True)

    def fresh(self):
        """The files as they were before the first run."""
        for name in list(self.case.files) + [f for f in os.listdir(self.folder) if f.startswith(".fabayes")]:
            path = os.path.join(self.folder, name)
            if os.path.exists(path):
                os.unlink(path)
            if os.path.exists(os.path.join(self.inputs, name)):
                shutil.copy(os.path.join(self.inputs, name), path)
        for name in self.case.folders:
            shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)
        if os.path.exists(self.report):
            os.unlink(self.report)

    def results(self, status, out, err):
        held = tuple(map(int, open(self.report).read().split())) if os.path.exists(self.report) else None
        return status, settled(out), err, seen(self.folder, self.case), held

    def run(self, before):
        """A run of the program on its own, under the words `before`."""
        self.fresh()
        try:
            done = subprocess.run(list(before) + self.call, cwd=self.folder, capture_output=True, timeout=PATIENCE,
                                  stdin=subprocess.DEVNULL, env=FIXED)
        except subprocess.TimeoutExpired:
            return "no end", b"", b"", {}, None
        return self.results(done.returncode, done.stdout, done.stderr)

    def serve(self):
        """A process that waits before main, and runs a copy of itself for each question."""
        asked, self.ask = os.pipe()
        self.answer, answered = os.pipe()
        self.server = subprocess.Popen(self.call, cwd=self.folder, stdin=subprocess.DEVNULL, pass_fds=(asked, answered),
                                       env=dict(FIXED, LD_PRELOAD=self.options.alloc, FAULT_REPORT=self.report, FAULT_SERVER="%d,%d" % (asked, answered)))
        os.close(asked)
        os.close(answered)

    def run_alloc(self, at, on):
        """A run in which allocation `at` fails (0: none)."""
        if not self.server:
            self.serve()
        self.fresh()
        os.write(self.ask, b"%d %d\n" % (at, on))
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(self.answer, 64)
        status = os.waitstatus_to_exitcode(int(line))
        words = [open(os.path.join(self.folder, name), "rb").read() for name in ("out", "err")]
        return self.results("no end" if status == -14 else status, *words)

    def judge(self, case, good, got, before=()):
        """What is wrong with a run, or None."""
        status, out, err, files, held = got
        if status == "no end":
            return "does not end"
        if status not in (0, 1, 2):
            return "ends by signal or status %s: %s" % (status, err[-200:])
        if status == 0 and out != good[1]:
            return "status 0 and other words: " + differ(good[1], out)
        for name, bytes_ in files.items():
            if bytes_ == good[3][name]:
                continue
            old = None
            if os.path.exists(os.path.join(self.inputs, name)):
                old = seen(self.inputs, case)[name]
            if status == 0 or (bytes_ != old and case.name not in ("lrvga", "fa-online-em")):
                return "status %d and another %s" % (status, name)
        silent = before[1:2] == ("write",) and int(before[3]) < 0  # the sentence cannot be written either
        if status and not silent and not re.search(rb"(?m)^fabayes: (?!note: )", err):
            return "status %d without a sentence: %r" % (status, err[-200:])
        if status and not silent and len([l for l in err.splitlines() if not l.startswith(b"fabayes: note: ")]) != 1:
            return "more than one sentence: %r" % err[-300:]
        if re.search(rb"\?\?\?|: *$|Success", err):
            return "a sentence without its reason: %r" % err[-200:]
        left = [f for f in os.listdir(self.folder) if f.startswith(".fabayes") and f.endswith(".tmp")]
        if left:
            return "leaves %s" % left
        if held and good[4] and held[1] > good[4][1]:
            return "holds %d blocks instead of %d (status %s: %s)" % (held[1], good[4][1], status, err[-150:])
        return None


def plan(options, bench, case, rng):
    """A run without a fault, and the faults to try: (words for a report, before or None, at, on)."""
    good = bench.run_alloc(0, 0)
    if good[0] != 0:
        raise SystemExit("%s: fails without a fault: %s" % (case.name, good[2].decode()))
    count = good[4][0]
    if options.all and not case.few:
        at = [(n, on) for n in range(1, count + 1) for on in (0, 1)]
    else:
        at = [(rng.randint(1, count), rng.randint(0, 1)) for _ in range(options.sample)]
    runs = [("allocation %d%s" % (n, " and on" if on else ""), None, n, on) for n, on in at]
    if case.few or not options.calls_work:
        return good, runs
    for name, error in BROKEN:
        if not options.all and rng.random() > 0.1:
            continue
        probe = bench.run((options.calls, name, str(error), "0"))
        many = int(re.search(rb"calls: (\d+)", probe[2]).group(1))
        at = list(range(1, many + 1)) if options.all else [rng.randint(1, many)] if many else []
        if options.all and name in ("write", "openat", "mmap") and error not in (0, errno.EINTR):
            at += [-n for n in at]
        runs += [("%s %d %s" % (name, n, os.strerror(error) if error else "half"), (options.calls, name, str(error), str(n)), 0, 0) for n in at]
    return good, runs


def check(options, inputs, case, part=0, parts=1):
    """One of so many parts of the faults of a case."""
    bench, rng = Bench(options, inputs, case), random.Random("%s %d" % (case.name, options.seed))
    found, n = [], 0
    try:
        good, runs = plan(options, bench, case, rng)
        if options.all:
            rng.shuffle(runs)
        for words, before, at, on in runs[part::parts]:
            if options.end and time.time() > options.end:
                break
            got = bench.run(before) if before else bench.run_alloc(at, on)
            fault = bench.judge(case, good, got, before or ())
            n += 1
            if fault:
                found.append("%s, %s: %s" % (case.name, words, fault))
                if len(found) >= options.most:
                    break
    finally:
        bench.close()
    return case.name, n, found


def main():
    parser = argparse.ArgumentParser()
    for name in ("program", "alloc", "calls"):
        parser.add_argument(name, type=os.path.abspath)
    parser.add_argument("--all", action="store_true", help="every n of every case")
    parser.add_argument("--sample", type=int, default=15, help="allocations to fail in each case")
    parser.add_argument("--seed", type=int, default=2385)
    parser.add_argument("--time", type=float, default=0, help="begin no run after so many seconds")
    parser.add_argument("--only", help="cases whose name has this word")
    parser.add_argument("--log", help="lines of the cases that are done; those it has are not run again: a long run in pieces")
    parser.add_argument("--most", type=int, default=20, help="faults to report of one case")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.end = time.time() + options.time if options.time else 0
    probe = subprocess.run([options.calls, "read", "5", "0", options.program, "--version"], capture_output=True)
    options.calls_work = probe.returncode == 0
    if not options.calls_work:
        print("system calls cannot be traced here: only allocations fail")
    total, faults, past = 0, [], []
    if options.log and os.path.exists(options.log):
        past = [line.split()[0] for line in open(options.log) if line[0] != " "]
    with tempfile.TemporaryDirectory() as inputs:
        prepare(options.program, inputs)
        cases = [c for c in CASES if (options.all or not c.few) and (not options.only or options.only in c.name) and c.name not in past]
        parts = options.jobs if options.all else 1  # of a case, side by side
        with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
            checks = [[pool.submit(check, options, inputs, c, i, parts) for i in range(parts)] for c in cases]
            for several in checks:
                done = [one.result() for one in several]
                name, n, found = done[0][0], sum(d[1] for d in done), [f for d in done for f in d[2]]
                total += n
                faults += found
                lines = ["%-17s %5d faults%s" % (name, n, ", %d WRONG" % len(found) if found else "")] + ["    " + line for line in found]
                print("\n".join(lines), flush=True)
                if options.log:
                    with open(options.log, "a") as log:
                        log.write("\n".join(lines) + "\n")
    print("%d faults in %d calls of the program: %d wrong" % (total, len(cases), len(faults)))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
