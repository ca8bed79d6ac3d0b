"""mutants.py BUILD [--most N] [--only WORD] [--seed N] - do the tests notice small changes of the algorithms?

Mutants of src/methods, src/posterior and src/predict, made by universalmutator (https://pypi.org/project/universalmutator; needs no install in the
tree: run this with the Python of a virtual environment that has it), drawn with a fixed seed, one after the other:

    1  a line of a file is changed; what does not compile, or compiles to the same code, is no mutant, and another is drawn
    2  the unit tests that stand for the folder are linked with it and run, until one of them fails or takes ten times as long

Each goes into studies/mutants/results.csv (number, file, line, fate, test, before, after): what stands there is not run again, so that a long study
is done in pieces.  Fates: caught (a test failed), hung, survived.  With --only they go into BUILD/mutants/only.csv.  BUILD: a build by make.
"""
# SPDX-License-Identifier: MIT
import argparse
import contextlib
import csv
import glob
import io
import os
import random
import re
import shlex
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FA = "online_em stochastic_em online_sga recursive_em online_ml batch factors"
TESTS = {"methods/fa": FA, "methods/exact": "exact", "methods/laplace": "laplace laplace_net laplace_hard", "methods/spike_slab": "spike_slab", "methods/vga": "vga",
         "methods/rvga": "rvga", "methods/lrvga": "lrvga lrvga_classes lrvga_net", "methods/sgd": "sgd runs", "methods/swag": "swag runs",
         "methods/slang": "slang", "methods/vifa": "vifa runs", "posterior": "gauss distance absorb mixture posterior small scatter " + FA,
         "predict": "predict predict_classes draws linearised net"}
LAST = "hard_runs ask drive fit regression calibration tune"
FIELDS = ["number", "file", "line", "fate", "test", "before", "after"]


def mutants():
    """(file, line, text before, text after) of all files.  Comments are not mutated, nor do they keep a line from it."""
    from universalmutator import mutator
    for folder in ("methods", "posterior", "predict"):
        for file in sorted(glob.glob(os.path.join(ROOT, "src", folder, "**", "*.c"), recursive=True)):
            source = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), open(file).read(), flags=re.S)
            source = [line.rstrip() + "\n" for line in re.sub(r"//.*", "", source).splitlines()]
            with contextlib.redirect_stdout(io.StringIO()):
                found = mutator.mutants_regexp(source, ruleFiles=["universal.rules", "c_like.rules", "c.rules"], ignorePatterns=[])
            for number, after, *_ in found:
                before = source[number - 1]
                if before.strip() not in ("", "{", "}", "};") and not before.startswith("#") and after.strip() != before.strip():
                    yield os.path.relpath(file, ROOT), number - 1, before, after


class Bench:
    def __init__(self, build):
        self.build, self.work = build, os.path.join(build, "mutants")
        os.makedirs(self.work, exist_ok=True)
        flags = {}
        for line in open(os.path.join(build, "CMakeFiles/fabayes_static.dir/flags.make")):
            if line.startswith("C_"):
                name, _, value = line.partition(" = ")
                flags[name] = value.strip()
        self.compile = ["cc"] + shlex.split(" ".join(flags.get(k, "") for k in ("C_DEFINES", "C_INCLUDES", "C_FLAGS"))) + ["-w", "-g0", "-O2"]
        self.original, self.times = {}, {}

    def object(self, file, text, to):
        """The object code of a file with this text; None: it does not compile."""
        source = os.path.join(self.work, "mutant.c")
        with open(source, "w") as out:
            out.write(text)
        done = subprocess.run(self.compile + ["-I" + os.path.join(ROOT, "src"), "-I" + os.path.dirname(os.path.join(ROOT, file)), "-c", source, "-o", to], capture_output=True, cwd=self.build)
        return open(to, "rb").read() if done.returncode == 0 else None

    def run(self, test, object_file, patience):
        """None: passed; otherwise "caught" or "hung"."""
        link = open(os.path.join(self.build, "CMakeFiles", "test_%s.dir" % test, "link.txt")).read().split()
        at = [i for i, w in enumerate(link) if w.endswith("libfabayes.a")][0]
        program = os.path.join(self.work, "test_" + test)
        link[link.index("-o") + 1] = program
        done = subprocess.run(link[:at] + ([object_file] if object_file else []) + link[at:], cwd=self.build, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit("%s cannot be linked: %s" % (test, done.stderr[-500:]))
        try:
            status = subprocess.run([program], cwd=self.work, capture_output=True, timeout=patience, env=dict(os.environ, FABAYES=os.path.join(self.build, "fabayes")))
        except subprocess.TimeoutExpired:
            return "hung"
        finally:
            os.unlink(program)
        return "caught" if status.returncode != 0 else None

    def good(self, test):
        """Seconds of a test without a mutant; a test that fails then says nothing."""
        if test not in self.times:
            begun = time.time()
            fate = self.run(test, None, 600)
            self.times[test] = None if fate else time.time() - begun
        return self.times[test]

    def try_one(self, file, n, after):
        """(fate, test), or None: it is no mutant."""
        source = open(os.path.join(ROOT, file)).read().splitlines(keepends=True)
        if file not in self.original:
            self.original[file] = self.object(file, "".join(source), os.path.join(self.work, "original.o"))
            if self.original[file] is None:
                raise SystemExit("%s does not compile as it is" % file)
        source[n] = after if after.endswith("\n") else after + "\n"
        path = os.path.join(self.work, "mutant.o")
        made = self.object(file, "".join(source), path)
        if made is None or made == self.original[file]:
            return None
        folder = file[len("src/"):file.rindex("/")]
        for test in (TESTS[folder] + " " + LAST).split():
            usual = self.good(test)
            fate = self.run(test, path, 10 * usual + 20) if usual is not None else None
            if fate:
                return fate, test
        return "survived", ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--most", type=int, default=500, help="mutants in all, those of earlier runs counted")
    parser.add_argument("--only", help="files with this word in their path")
    parser.add_argument("--seed", type=int, default=2385)
    options = parser.parse_args()
    bench = Bench(options.build)
    table = os.path.join(bench.work, "only.csv") if options.only else os.path.join(ROOT, "studies/mutants/results.csv")
    os.makedirs(os.path.dirname(table), exist_ok=True)
    past = list(csv.DictReader(open(table))) if os.path.exists(table) else []
    known = {(p["file"], p["line"], p["after"]): p for p in past}
    none = os.path.join(bench.work, "none.txt")  # those that are no mutants, so that they are not compiled again
    skip = set(open(none).read().splitlines()) if os.path.exists(none) else set()
    every = [m for m in mutants() if not options.only or options.only in m[0]]
    random.Random(options.seed).shuffle(every)
    with open(table, "a") as out:
        write = csv.writer(out, lineterminator="\n")
        if not past:
            write.writerow(FIELDS)
        n, caught = 0, 0
        for file, line, before, after in every:
            key = (file, str(line + 1), after.strip())
            if repr(key) in skip:
                continue
            if key not in known:
                found = bench.try_one(file, line, after)
                if not found:
                    with open(none, "a") as rest:
                        rest.write(repr(key) + "\n")
                    continue
                known[key] = dict(zip(FIELDS, [n + 1, *key[:2], *found, before.strip(), key[2]]))
                write.writerow(known[key].values())
                out.flush()
            fate = known[key]["fate"]
            n += 1
            caught += fate != "survived"
            if fate == "survived":
                print("%s:%d: %s   ->   %s" % (file, line + 1, before.strip(), after.strip()), flush=True)
            if n >= options.most:
                break
    print("%d of %d mutants are caught" % (caught, n))


if __name__ == "__main__":
    sys.exit(main())
