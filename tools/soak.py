"""soak.py BUILD [SECONDS] - kills, faults, fuzz and long streams, for about so many seconds in all (default 600).

    kills    `update` ended by SIGKILL at a random moment: the file is whole, with the rows of one update more or without them
    faults   tests/test_faults.py --all: allocations and system calls that fail, at every n
    streams  rows from a pipe for the whole of the time: memory stays, numbers are finite
    fuzz     every target of fuzz/, by tools/fuzz.sh (needs clang; left out with a word where there is none)

Each part gets a quarter.  What ran is printed at the end, for the notes of a release; the status is 1 when anything was wrong.
"""
# SPDX-License-Identifier: MIT
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


def table(path, rows, rng):
    with open(path, "w") as file:
        file.write("a,b,c,y\n")
        for _ in range(rows):
            x = [rng.gauss(0, 1) for _ in range(3)]
            file.write("%.5f,%.5f,%.5f,%.5f\n" % (*x, x[0] - 0.5 * x[2] + rng.gauss(0, 0.3)))


def info(program, path):
    done = subprocess.run([program, "info", path, "--json"], capture_output=True, text=True)
    return json.loads(done.stdout) if done.returncode == 0 else None


def kills(program, seconds):
    rng, rows, wrong, n, landed = random.Random(2385), 500, [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        data, model = os.path.join(folder, "t.csv"), os.path.join(folder, "m.st")
        table(data, rows, rng)
        subprocess.run([program, "fit", data, "-y", "y", "-m", "kalman", "-o", model] + QUIET, check=True, stdout=subprocess.DEVNULL)
        begun = time.time()
        subprocess.run([program, "update", model, data] + QUIET, check=True, stdout=subprocess.DEVNULL)
        whole, seen, end = time.time() - begun, 2 * rows, time.time() + seconds
        while time.time() < end:
            process = subprocess.Popen([program, "update", model, data] + QUIET, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(rng.uniform(0, 1.3 * whole))
            process.send_signal(signal.SIGKILL)
            landed += process.wait() == -signal.SIGKILL
            n += 1
            now = info(program, model)
            if now is None or int(now["n"]) not in (seen, seen + rows):
                wrong.append("kill %d: the file is not whole: %s" % (n, now and now["n"]))
                break
            seen = int(now["n"])
        subprocess.run([program, "update", model, data] + QUIET, check=True, stdout=subprocess.DEVNULL)
        left = [f for f in os.listdir(folder) if f.endswith(".tmp")]
        if left:
            wrong.append("temporary files are left: %s" % left)
    return "%d kills, %d of them before the end" % (n, landed), wrong


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


def main():
    build = os.path.abspath(sys.argv[1])
    part = float(sys.argv[2] if len(sys.argv) > 2 else 600) / 4
    program, wrong = os.path.join(build, "fabayes"), []
    for what in (lambda: kills(program, part), lambda: faults(build, part), lambda: streams(program, part), lambda: fuzz(build, part)):
        words, found = what()
        wrong += found
        print(words, flush=True)
        for line in found:
            print("    WRONG: " + line, flush=True)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
