#!/usr/bin/env python3
"""frozen.py - what the command line says and writes stays as it is.

    frozen.py compare OLD NEW [-k WORD]    two programs, over all cases: every byte the same
    frozen.py check NEW [-k WORD]          one program against the stored records
    frozen.py renew NEW [-k WORD]          write the stored records anew
    frozen.py files NEW                    write files/ anew: posterior files of this version, and their records

A case (cases.py) is a list of commands that run in a fresh folder on small inputs (inputs.py). Its record has, for
each command, the exit status, standard output and error, and every file that it wrote: text as it stands,
safetensors and npy as a list of what is in them. Times, rates, bytes of memory and the version are replaced by
marks. -k keeps the cases whose name has WORD in it. The exit status is 1 when a record differs.

`compare` sees every bit, and is for a change that must change nothing: build the program before and after it.

`check` takes numbers for the same within a relative 1e-6 (or 1e-9), since another CPU has other kernels, which add
in another order; whole numbers (but for iterations) and the text between numbers must be the same. A case may have a tolerance of its
own (single precision), and one whose run is long enough for the last bits to grow is left to `compare`. The stored
records (expected/) have 9 digits of a number, and of long lists the first values and the sum.

The cases `old-...` read the posterior files in files/, which an earlier version wrote: a later one must read them
and say the same. `renew` leaves them alone.
"""
# SPDX-License-Identifier: MIT
import argparse
import concurrent.futures
import difflib
import json
import os
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import time

import inputs
from cases import CASES, OLD_FILES, OLD_INPUTS, Case

HERE = os.path.dirname(os.path.abspath(__file__))
EXPECTED, OLD = os.path.join(HERE, "expected"), os.path.join(HERE, "files")
INPUTS = inputs.files()
WORKERS = 2
FIRST = 12          # values of a tensor that the stored record shows
SHOWN_LINES = 40    # of a difference
ABSOLUTE = 1e-9
AT_REST = 1e-6      # nats a row: what a search that ended was still worth is made of last bits

# ---- running ------------------------------------------------------------------------------------------------


def environment():
    return {**os.environ, "LC_ALL": "C", "OMP_WAIT_POLICY": "passive"}


def contents(folder):
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as f:
                found[os.path.relpath(path, folder)] = f.read()
    return found


def run(program, command, folder):
    """(exit status, standard output, standard error) of one command in `folder`."""
    words, source = shlex.split(command), None
    if "<" in words:
        source = os.path.join(folder, words[-1])
        words = words[:words.index("<")]
    with open(source or os.devnull, "rb") as stdin:
        done = subprocess.run([program, *words], cwd=folder, stdin=stdin, capture_output=True, env=environment(),
                              timeout=300)
    return done.returncode, done.stdout, done.stderr


def kill(program, command, folder, before):
    """Start `killed FILE: ...` and kill it as soon as FILE is there; FILE. What else it left behind, half a file under
    another name, is taken away: when it came to be killed is chance."""
    awaited, call = command.split(" ", 1)[1].split(": ", 1)
    with subprocess.Popen([program, *shlex.split(call)], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, env=environment()) as going:
        while going.poll() is None and not os.path.exists(os.path.join(folder, awaited)):
            time.sleep(0.002)
        going.kill()
    for name in contents(folder):
        if name not in before and name != awaited:
            os.remove(os.path.join(folder, name))
    return awaited


def prepare(case, folder):
    """The files that the commands name."""
    if case.old:
        inputs.write(folder, {name: data for name, data in contents(OLD).items() if not name.endswith(".txt")})
        return
    words = {word for command in case.commands for word in shlex.split(command)}
    inputs.write(folder, {name: data for name, data in INPUTS.items() if name in words})


def record(case, program, short):
    """The record of a case: text. `short`: long lists are cut, as they are in the stored records."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        prepare(case, folder)
        before = contents(folder)
        for command in case.commands:
            lines.append(("$ fabayes " + command).rstrip())
            if command.startswith("killed "):
                before.pop(kill(program, command, folder, before), None) # what goes on with it is recorded in any case
                continue
            status, out, err = run(program, command, folder)
            lines.append("status %d" % status)
            for name, data in (("stdout", out), ("stderr", err)):
                if data:
                    lines += ["--- " + name, *text_lines(data, short)]
            after = contents(folder)
            for name in sorted(after):
                if after[name] != before.get(name):
                    lines += ["--- file " + name, *file_lines(after[name], short)]
            lines += ["--- gone: " + name for name in sorted(before) if name not in after]
            lines.append("")
            before = after
    return "\n".join(lines)


# ---- from bytes to lines ------------------------------------------------------------------------------------

COST = "<cost>"
MASKS = ((re.compile(r'("(?:seconds|rows_per_s|bytes)": )[-+\d.e]+'), r"\g<1>" + COST),
         (re.compile(r"(?m)(?<![\w.])[\d.]+(?:e[-+]?\d+)? s(?=,|$)"), COST + " s"),
         (re.compile(r"(?<![\w.])[\d.]+(?:e[-+]?\d+)?[kMGT]? rows/s"), COST + " rows/s"),
         (re.compile(r'(a stream, once|the whole table)((?: +|</td><td class="n">)[\d.]+){2}'), r"\g<1> " + COST), # demo
         (re.compile(r"(whole table: |needs (?:more than )?)[\d.]+[kMGT]?B\b"), r"\g<1>" + COST),
         (re.compile(r"\bfabayes \d+\.\d+\.\d+"), "fabayes <version>"),
         (re.compile(r'("fabayes": )"\d+\.\d+\.\d+"'), r'\g<1>"<version>"'))
NUMBERS_ALONE = re.compile(r"[-+\d.,e \t]*\d[-+\d.,e \t]*")
# Where the starts of a search ended, and after how many steps, hangs on last bits: the best end does not. Stored records leave it out.
SEARCHED = (re.compile(r'("optima": )[^,]+'), re.compile(r'("optima": <path>,\s+"second": )[^,]+'))
LENGTH = re.compile(r"\(\d+ bytes; ")  # of numbers of all digits
PATHS = {11: (3, 4, 5), 15: (6, 7, 8)}  # the same in the tensor `search`, by its length
LONG_RUN = 16       # lines of numbers alone that the stored record shows whole


def text_lines(data, short):
    text = data.decode("utf-8", "backslashreplace")
    for pattern, mark in MASKS:
        text = pattern.sub(mark, text)
    if short:
        for pattern in SEARCHED:
            text = pattern.sub(r"\g<1><path>", text)
        text = LENGTH.sub("(" + COST + " bytes; ", text)
    end = [] if text.endswith("\n") else ["(no end of line)"]
    lines = text.removesuffix("\n").split("\n")
    if lines[0].endswith(",seconds"): # the table of `tune`
        lines[1:] = [line.rsplit(",", 1)[0] + "," + COST for line in lines[1:]]
    return (cut_lines(lines) if short else lines) + end


def cut_lines(lines):
    """Long runs of lines that are numbers alone: the first ones, and the sum of all."""
    kept, at = [], 0
    while at < len(lines):
        end = at
        while end < len(lines) and NUMBERS_ALONE.fullmatch(lines[end]):
            end += 1
        if end - at > LONG_RUN:
            values = [float(v) for line in lines[at:end] for v in NUMBER.findall(line)]
            kept += [*lines[at:at + LONG_RUN // 2], "(%d lines: %s)" % (end - at, total(values))]
            at = end
        else:
            kept += lines[at:max(end, at + 1)]
            at = max(end, at + 1)
    return kept


def total(values):
    return "%d values, sum %r of magnitude %r" % (len(values), float(sum(values)), float(sum(map(abs, values))))


def value_lines(values, short):
    values = list(values)
    shown = values[:FIRST] if short else values
    lines = ["  " + " ".join(map(repr, shown[i:i + 6])) for i in range(0, len(shown), 6)]
    return lines + (["  (%s)" % total(values)] if len(shown) < len(values) else [])


KINDS = {"F64": "d", "F32": "f", "I64": "q", "I32": "i", "U8": "B", "BOOL": "?"}


def product(F, D, K):
    """F F', since F is known up to a turn, and the signs of its columns are the CPU's."""
    rows = [F[i * K:i * K + K] for i in range(D)]
    return [sum(a * b for a, b in zip(p, q)) for p in rows for q in rows]


def safetensors_lines(data, short):
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    lines = []
    for key, value in sorted(header.pop("__metadata__", {}).items()):
        lines.append("%s = %s" % (key, "<version>" if key == "fabayes" else value))
    for name, t in header.items(): # in the order of the file
        start, end = t["data_offsets"]
        code = KINDS[t["dtype"]]
        body = data[8 + size + start:8 + size + end]
        values = struct.unpack("<%d%s" % (len(body) // struct.calcsize(code), code), body)
        if short and name == "search":
            values = [v for i, v in enumerate(values) if i not in PATHS[len(values)]]
        if short and name.split(".")[-1] == "F" and len(t["shape"]) == 2:
            name, values = name + " F'", product(values, *t["shape"])
        lines.append("%s %s %s" % (name, t["dtype"], t["shape"]))
        lines += value_lines(values, short)
    return lines


def npy_lines(data, short):
    size = struct.unpack("<H", data[8:10])[0]
    head, body = data[10:10 + size].decode().strip(), data[10 + size:]
    code = "f" if "<f4" in head else "d"
    return [head, *value_lines(struct.unpack("<%d%s" % (len(body) // struct.calcsize(code), code), body), short)]


def file_lines(data, short):
    if data[:6] == b"\x93NUMPY":
        return npy_lines(data, short)
    if len(data) > 8 and data[8:9] == b"{" and struct.unpack("<Q", data[:8])[0] < len(data):
        return safetensors_lines(data, short)
    return text_lines(data, short)


# ---- the same but for the last digits -----------------------------------------------------------------------

NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w.])")


def rounded(text):
    """Numbers to 9 digits; whole numbers as they are."""
    def shorter(m):
        word = m.group()
        digits = re.sub(r"[eE].*|\D", "", word)
        return word if is_whole(word) or len(digits) < 10 else "%.9g" % float(word)
    return NUMBER.sub(shorter, text)


def is_whole(word):
    return not set(word) & set(".eE")


def near(a, b, tolerance, size, counted):
    if is_whole(a) and is_whole(b):
        return int(a) == int(b) or counted
    a, b = float(a), float(b)
    return abs(a - b) <= max(ABSOLUTE, tolerance * max(abs(a), abs(b), size))


def same_line(expected, line, tolerance):
    """Both lines say the same. A sum is held against the magnitude of what was added. The number of iterations that a
    search needs to its tolerance may differ."""
    if rounded(line) == expected:
        return True
    a, b = NUMBER.findall(expected), NUMBER.findall(line)
    if [rounded(v) for v in b] == a or len(a) != len(b):
        return False # the text differs
    size = abs(float(a[-1])) if " of magnitude " in expected else 0
    if '"gain":' in expected:
        size = AT_REST / tolerance
    counted = "iterations" in expected
    # A number of other length moves its neighbours in a column: blanks count as one.
    texts = [re.sub(" +", " ", NUMBER.sub("#", text)) for text in (expected, line)]
    return texts[0] == texts[1] and all(near(x, y, tolerance, size, counted) for x, y in zip(a, b))


def differences(expected, got, tolerance):
    """Lines of a unified diff, in which lines that say the same are the same."""
    expected, got = expected.split("\n"), got.split("\n")
    got = [rounded(line) for line in got]
    if len(expected) == len(got):
        got = [e if same_line(e, g, tolerance) else g for e, g in zip(expected, got)]
    return list(difflib.unified_diff(expected, got, "expected", "got", n=2, lineterm=""))


# ---- modes --------------------------------------------------------------------------------------------------

def place(case):
    return os.path.join(OLD if case.old else EXPECTED, case.name + ".txt")


def read(path):
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as f:
        return f.read()


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def compare_one(case, old, new):
    a, b = record(case, old, False), record(case, new, False)
    return list(difflib.unified_diff(a.split("\n"), b.split("\n"), "old", "new", n=2, lineterm="")) if a != b else []


def check_one(case, program):
    return differences(read(place(case)), record(case, program, True), case.tolerance)


def renew_one(case, program):
    write(place(case), rounded(record(case, program, True)))
    return []


def over(cases, one):
    """Run `one` over the cases, two at a time, and report; the number of cases that differ."""
    start, bad = time.time(), 0
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for case, lines in zip(cases, pool.map(one, cases)):
            if lines:
                bad += 1
                more = len(lines) - SHOWN_LINES
                print("== " + case.name, *[line[:300] for line in lines[:SHOWN_LINES]],
                      *(["... %d more lines" % more] if more > 0 else []), "", sep="\n", flush=True)
    print("%d cases, %d differ, %.0f s" % (len(cases), bad, time.time() - start))
    if bad:
        print("tests/frozen/README.md says what to do")
    return bad


def remove_others(cases):
    """Stored records that no case has any more."""
    names = {c.name + ".txt" for c in cases}
    for name in os.listdir(EXPECTED) if os.path.exists(EXPECTED) else ():
        if name not in names:
            os.remove(os.path.join(EXPECTED, name))


def make_files(program):
    """The posterior files of this version, the inputs that they are used with, and the records of both."""
    for name, call in OLD_FILES:
        with tempfile.TemporaryDirectory() as folder:
            command = "%s -o %s.safetensors --quiet --threads 1" % (call, name)
            prepare(Case(name, command), folder)
            status, _, err = run(program, command, folder)
            if status:
                sys.exit("%s: %s" % (command, err.decode()))
            inputs.write(OLD, {name + ".safetensors": contents(folder)[name + ".safetensors"]})
    inputs.write(OLD, {name: INPUTS[name] for name in OLD_INPUTS})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("compare", "check", "renew", "files"))
    parser.add_argument("program", nargs="+", help="the program, for compare the old one and the new one")
    parser.add_argument("-k", metavar="WORD", default="", help="only cases with WORD in their name")
    args = parser.parse_args()
    if len(args.program) != (2 if args.mode == "compare" else 1):
        parser.error("compare takes two programs, the others one")
    programs = [os.path.abspath(p) for p in args.program]
    for p in programs:
        if not os.access(p, os.X_OK):
            parser.error("%s: cannot be run" % p)
    cases = [c for c in CASES if args.k in c.name]
    if args.mode == "compare":
        return 1 if over(cases, lambda c: compare_one(c, *programs)) else 0
    cases = [c for c in cases if not c.bits_only]
    if args.mode == "check":
        return 1 if over(cases, lambda c: check_one(c, *programs)) else 0
    if args.mode == "files":
        os.makedirs(OLD, exist_ok=True)
        make_files(*programs)
    elif not args.k:
        remove_others(cases)
    over([c for c in cases if c.old == (args.mode == "files")], lambda c: renew_one(c, *programs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
