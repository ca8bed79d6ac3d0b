"""mutants.py BUILD [--most N] [--only WORD] [--again FATE|NUMBERS] [--fresh] - do the tests notice small changes of the algorithms?

Mutants of src/methods, src/posterior and src/predict, made by universalmutator (https://pypi.org/project/universalmutator; needs no install in the
tree: run this with the Python of a virtual environment that has it), in an order that is drawn with a fixed seed, one after the other:

    1  once: the sources as they are now go into BUILD/mutants, are compiled with every symbol open, and the unit tests of BUILD are linked with them
    2  once: each test runs alone, with the blocks of code noted that it enters (tests/mutants_tests.c)
    3  a line of a file is changed and compiled with -O1; what does not compile, or compiles to the same code, is no mutant, and another is drawn
    4  the mutant's object is loaded before the library (nothing is linked anew), and the tests run that enter the line, the quick ones first,
       until one fails, takes ten times as long, or --patience seconds of tests have passed without a failure

Each goes into studies/mutants/results.csv (number, file, line, fate, test, before, after): what stands there is not run again, so that a long study
is done in pieces, and the sources stay those of the first piece until --fresh.  Fates: caught (a test failed), hung, survived, unreached (no
unit test enters the line); and, by hand, caught now (by a test that was written for it).  A mutant's place in the order depends on its text alone, so that a change of one line does not change the other mutants.
Not drawn: changes of words (inside of a string), which are for the tests `frozen` and `docs`.  --again runs some of those in the table once more,
with the tests as they are now (build them, and give --fresh), and writes their new fates.  With --only the results go into BUILD/mutants/only.csv.
"""
# SPDX-License-Identifier: MIT
import argparse
import bisect
import collections
import contextlib
import csv
import glob
import hashlib
import io
import json
import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TRACED = ("methods", "posterior", "predict")
FIELDS = ["number", "file", "line", "fate", "test", "before", "after"]
Test = collections.namedtuple("Test", "unit name seconds")


def inside_string(before, after):
    """Is the change inside of one string?"""
    for m in re.finditer(r'"(?:[^"\\]|\\.)*"', before):
        a, b = before[:m.start() + 1], before[m.end() - 1:]
        if after.startswith(a) and after.endswith(b) and len(after) >= len(a) + len(b):
            return True
    return False


def mutants(root, seed):
    """(order, file, line from 0, text before, text after) of all files.  Comments are not mutated, nor do they keep a line from it."""
    from universalmutator import mutator
    found = []
    for folder in TRACED:
        for path in sorted(glob.glob(os.path.join(root, "src", folder, "**", "*.c"), recursive=True)):
            file = os.path.relpath(path, root)
            source = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group(0).count("\n"), open(path).read(), flags=re.S)
            source = [line.rstrip() + "\n" for line in re.sub(r"//.*", "", source).splitlines()]
            with contextlib.redirect_stdout(io.StringIO()):
                proposed = mutator.mutants_regexp(source, ruleFiles=["universal.rules", "c_like.rules", "c.rules"], ignorePatterns=[])
            times = collections.Counter()
            for number, after, *_ in sorted(proposed, key=lambda p: (p[0], p[1])):
                before, after = source[number - 1].strip(), after.strip()
                if before in ("", "{", "}", "};") or before.startswith("#") or after == before or inside_string(before, after):
                    continue
                key = (file, before, after)
                times[key] += 1  # the same line may stand there twice
                order = hashlib.sha256(repr((seed, times[key], key)).encode()).hexdigest()
                found.append((order, file, number - 1, before, after))
    return sorted(found)


class Bench:
    def __init__(self, build, fresh):
        self.build, self.work = build, os.path.join(build, "mutants")
        if fresh and os.path.exists(self.work):
            for name in ("src", "include", "plain", "traced", "tests", "none.txt", "coverage.json"):
                path = os.path.join(self.work, name)
                shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.unlink(path)
        os.makedirs(self.work, exist_ok=True)
        self.commands = {}
        for entry in json.load(open(os.path.join(build, "compile_commands.json"))):
            words, file = shlex.split(entry["command"]), os.path.relpath(entry["file"], ROOT)
            if not file.startswith("src/"):
                continue
            keep, i = [words[0]], 1
            while i < len(words):
                w = words[i]
                if w == "-isystem":
                    keep += words[i:i + 2]
                    i += 1
                elif re.match(r"-[DIm]|-std|-fopenmp|-ffp|-fno-math", w):
                    keep.append(w.replace(ROOT + "/", self.work + "/"))
                i += 1
            self.commands[file] = keep + ["-w", "-g0", "-fPIC", "-fvisibility=default"]
        self.originals, self.file_tests = {}, {}
        if not os.path.exists(os.path.join(self.work, "coverage.json")):
            self.prepare()
        c = json.load(open(os.path.join(self.work, "coverage.json")))
        self.tests = [Test(*t) for t in c["tests"]]
        self.lines = {file: {int(n): tests for n, tests in lines.items()} for file, lines in c["lines"].items()}

    # ---- once: the library twice, the test programs, who enters what ----

    def compile(self, file, to, *flags):
        source = os.path.join(self.work, file)
        return subprocess.run(self.commands[file] + [*flags, "-c", source, "-o", to], capture_output=True, text=True, cwd=self.work)

    def prepare(self):
        for name in ("src", "include"):
            shutil.rmtree(os.path.join(self.work, name), ignore_errors=True)
            shutil.copytree(os.path.join(ROOT, name), os.path.join(self.work, name))
        objects = {"plain": [], "traced": []}
        for kind in objects:
            os.makedirs(os.path.join(self.work, kind), exist_ok=True)
        for file in sorted(self.commands):
            name = file.replace("/", "_") + ".o"
            plain, traced = (os.path.join(self.work, kind, name) for kind in ("plain", "traced"))
            made = self.compile(file, plain, "-O2")
            if made.returncode == 0 and file.split("/")[1] in TRACED:
                made = self.compile(file, traced, "-O0", "-g1", "-fsanitize-coverage=trace-pc")
            else:
                traced = plain
            if made.returncode:
                raise SystemExit("%s does not compile: %s" % (file, made.stderr[-500:]))
            objects["plain"].append(plain)
            objects["traced"].append(traced)
        watch = os.path.join(self.work, "tests.so")
        self.must(["cc", "-O2", "-w", "-shared", "-fPIC", "-o", watch, os.path.join(ROOT, "tests/mutants_tests.c"), "-ldl"])
        units = sorted(os.path.basename(p)[5:-2] for p in glob.glob(os.path.join(ROOT, "tests/test_*.c")))
        links = {unit: self.link(unit) for unit in units if os.path.exists(os.path.join(self.build, "test_" + unit))}
        libraries = [w for w in next(iter(links.values()))[1] if w.startswith("-l") or re.search(r"\.so\b", w)]
        for kind in objects:
            self.must(["cc", "-shared", "-o", os.path.join(self.work, kind, "libopen.so"), *objects[kind], *libraries])
        os.makedirs(os.path.join(self.work, "tests"), exist_ok=True)
        for unit, (head, tail) in links.items():
            self.must(["cc", *head, "-o", os.path.join(self.work, "tests", unit), "-L" + os.path.join(self.work, "plain"), "-lopen", *tail], self.build)
        self.trace(sorted(links))

    def must(self, command, cwd=None):
        done = subprocess.run(command, capture_output=True, text=True, cwd=cwd)
        if done.returncode:
            raise SystemExit("%s ..: %s" % (" ".join(command)[:200], done.stderr[-1000:]))
        return done.stdout

    def link(self, unit):
        """The words before and behind the library in the command that links a test program."""
        by_make = os.path.join(self.build, "CMakeFiles/test_%s.dir/link.txt" % unit)
        text = open(by_make).read() if os.path.exists(by_make) else self.must(["ninja", "-t", "commands", "test_" + unit], self.build).splitlines()[-1]
        words = [w for w in shlex.split(text) if w not in (":", "&&")]
        at = [i for i, w in enumerate(words) if w.endswith("libfabayes.a")][0]
        head = [w for w in words[1:at] if not re.match(r"-[OD]", w)]
        o = head.index("-o")
        return head[:o] + head[o + 2:], words[at + 1:]

    def environment(self, kind, *preload, **more):
        return dict(os.environ, LD_LIBRARY_PATH=os.path.join(self.work, kind), LD_PRELOAD=" ".join([os.path.join(self.work, "tests.so"), *preload]),
                    OPENBLAS_NUM_THREADS="1", FABAYES=os.path.join(self.build, "fabayes"), **more)

    def trace(self, units):
        blocks, now, file_line = {}, None, None  # return address in a block -> lines
        listing = subprocess.Popen(["objdump", "-d", "-l", "--no-show-raw-insn", os.path.join(self.work, "traced/libopen.so")], stdout=subprocess.PIPE, text=True)
        entered = False
        for text in listing.stdout:
            where = re.match(r"(/\S+\.[ch]):(\d+)", text)
            if where:
                file_line = (os.path.relpath(where.group(1), self.work), int(where.group(2)))
                if now is not None:
                    blocks[now].add(file_line)
                continue
            if entered:
                entered, at = False, re.match(r"\s+([0-9a-f]+):", text)
                if at:
                    now = int(at.group(1), 16)
                    blocks[now] = {file_line}
            if re.match(r"[0-9a-f]+ <", text):
                now, file_line = None, None
            entered = "__sanitizer_cov_trace_pc" in text and "call" in text
        tests, lines = [], collections.defaultdict(lambda: collections.defaultdict(list))
        for unit in units:
            out = os.path.join(self.work, "trace.txt")
            if os.path.exists(out):
                os.unlink(out)
            subprocess.run([os.path.join(self.work, "tests", unit)], env=self.environment("traced", MUTANTS_TRACE=out), cwd=self.work, capture_output=True)
            for text in open(out) if os.path.exists(out) else []:
                name, failed, seconds, *at = text.split()
                print("%-20s %-70s %8.3f s%s" % (unit, name, float(seconds), "" if failed == "0" else "  fails alone"), flush=True)
                if failed != "0":
                    continue
                here = set().union(*(blocks.get(int(a, 16), ()) for a in at))
                for file, line in here:
                    lines[file][line].append(len(tests))
                tests.append((unit, name, float(seconds)))
        json.dump({"tests": tests, "lines": lines}, open(os.path.join(self.work, "coverage.json"), "w"))

    # ---- for each mutant ----

    def order(self, file, line):
        """Who enters this line (from 1): the quick ones first, a program's together."""
        lines = self.lines.get(file, {})
        if line in lines:
            found = lines[line]
        else:  # a line without code of its own: the statement it belongs to began above, or it is a table, which anybody may read
            known = sorted(lines)
            at = bisect.bisect(known, line)
            near = lines[known[at - 1]] if at else []
            found = near + sorted(set().union(*lines.values()) - set(near)) if lines else []
        tiers = [collections.defaultdict(list) for _ in range(4)]
        for i in found:
            t = self.tests[i]
            tiers[0 if t.seconds < 0.1 else 1 if t.seconds < 1 else 2 if t.seconds < 5 else 3][t.unit].append(t)
        for tier in tiers:
            for unit in sorted(tier, key=lambda u: (sum(t.seconds for t in tier[u]) / len(tier[u]), u)):
                yield unit, tier[unit]

    def object(self, file, text, to):
        """The object code of a file with this text; None: it does not compile."""
        source = os.path.join(self.work, "mutant.c")
        with open(source, "w") as out:
            out.write(text)
        folder = os.path.dirname(os.path.join(self.work, file))
        done = subprocess.run(self.commands[file] + ["-O1", "-I" + folder, "-c", source, "-o", to], capture_output=True, cwd=self.work)
        return open(to, "rb").read() if done.returncode == 0 else None

    def run(self, unit, tests, preload):
        """None: passed; otherwise "caught" or "hung"."""
        limit = 10 * sum(t.seconds for t in tests) + 20

        def bounds():
            resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))
            os.setsid()
        program = subprocess.Popen([os.path.join(self.work, "tests", unit)], cwd=self.work, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=self.environment("plain", *preload, MUTANTS_TESTS=",".join(t.name for t in tests)), preexec_fn=bounds)
        try:
            return "caught" if program.wait(limit) else None
        except subprocess.TimeoutExpired:
            return "hung"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(program.pid, signal.SIGKILL)
            program.wait()

    def try_one(self, file, n, before, after, patience):
        """(fate, test), or None: it is no mutant."""
        source = open(os.path.join(self.work, file)).read().splitlines(keepends=True)
        if file not in self.originals:
            self.originals[file] = self.object(file, "".join(source), os.path.join(self.work, "original.o"))
        source[n] = after + "\n"
        made, library = os.path.join(self.work, "mutant.o"), os.path.join(self.work, "mutant.so")
        code = self.object(file, "".join(source), made)
        if code is None or code == self.originals[file]:
            return None
        if subprocess.run(["cc", "-shared", "-o", library, made, "-L" + os.path.join(self.work, "plain"), "-lopen"], capture_output=True).returncode:
            return None
        spent, ran = 0.0, 0
        for unit, tests in self.order(file, n + 1):
            part = []
            for t in tests:
                if not part or spent + t.seconds <= patience:
                    part.append(t)
                    spent += t.seconds
            fate = self.run(unit, part, [library])
            ran += len(part)
            if fate and self.run(unit, part, []) is None:  # the tests themselves are well
                return fate, unit
            if spent > patience:
                break
        return ("survived", "%d tests" % ran) if ran else ("unreached", "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build", type=os.path.abspath)
    parser.add_argument("--most", type=int, default=500, help="mutants in all, those of earlier runs counted")
    parser.add_argument("--only", help="files with this word in their path")
    parser.add_argument("--again", help="survived, hung or unreached, or numbers with commas: these of the table once more")
    parser.add_argument("--fresh", action="store_true", help="the sources and tests as they are now")
    parser.add_argument("--patience", type=float, default=60, help="seconds of tests for one mutant")
    parser.add_argument("--seed", type=int, default=2385)
    options = parser.parse_args()
    bench = Bench(options.build, options.fresh)
    table = os.path.join(bench.work, "only.csv") if options.only else os.path.join(ROOT, "studies/mutants/results.csv")
    past = list(csv.DictReader(open(table))) if os.path.exists(table) else []
    known = {(p["file"], p["before"], p["after"], p["line"]): p for p in past}
    every = [m for m in mutants(bench.work, options.seed) if not options.only or options.only in m[1]]

    def write():
        with open(table + ".new", "w") as out:
            w = csv.DictWriter(out, FIELDS, lineterminator="\n")
            w.writeheader()
            w.writerows(past)
        os.replace(table + ".new", table)

    if options.again:
        for p in past:
            if p["fate"] != options.again and p["number"] not in options.again.split(","):
                continue
            same = [m for m in every if (m[1], m[3], m[4]) == (p["file"], p["before"], p["after"])]
            if not same:
                print("%s: %s is not there any more" % (p["number"], p["before"]))
                continue
            n = min(same, key=lambda m: abs(m[2] + 1 - int(p["line"])))[2]
            p["fate"], p["test"] = bench.try_one(p["file"], n, p["before"], p["after"], options.patience) or ("equivalent", "")
            print("%(number)s %(file)s:%(line)s %(fate)s %(test)s: %(before)s   ->   %(after)s" % p, flush=True)
            write()
        return
    none = os.path.join(bench.work, "none.txt")  # those that are no mutants, so that they are not compiled again
    skip = set(open(none).read().splitlines()) if os.path.exists(none) else set()
    begun = time.time()
    for order, file, n, before, after in every:
        if len(past) >= options.most:
            break
        if order in skip or (file, before, after, str(n + 1)) in known:
            continue
        found = bench.try_one(file, n, before, after, options.patience)
        if not found:
            with open(none, "a") as rest:
                rest.write(order + "\n")
            continue
        past.append(dict(zip(FIELDS, [len(past) + 1, file, n + 1, *found, before, after])))
        write()
        if found[0] not in ("caught", "hung"):
            print("%d %s:%d %s %s: %s   ->   %s" % (len(past), file, n + 1, *found, before, after), flush=True)
    fates = collections.Counter(p["fate"] for p in past)
    print("%d of %d mutants are caught (%s), %.0f s" % (fates["caught"] + fates["caught now"] + fates["hung"], len(past), ", ".join("%s %d" % f for f in sorted(fates.items())), time.time() - begun))


if __name__ == "__main__":
    sys.exit(main())
