"""test_safety.py PROGRAM - nothing is lost and nobody gets in: locks, limits, stops, and files that lie.

Sizes are held against a ceiling of memory for the whole program, far below what the files would have taken.
"""
# SPDX-License-Identifier: MIT
import fcntl
import gzip
import json
import os
import random
import re
import resource
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))
SMALL = 200 << 20  # bytes of memory above those of a run that does nothing


def run(words, **more):
    """A call; its peak of memory goes into .peak."""
    process = subprocess.Popen([PROGRAM] + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    out, err = process.communicate(timeout=120)
    process.out, process.err = out, err
    return process


def measured(words):
    """A call with a limit on its address space: what it has without data, and SMALL more."""
    def limit():
        resource.setrlimit(resource.RLIMIT_DATA, (SMALL, SMALL))
    return run(words + ["--threads", "1"], preexec_fn=limit, env=dict(os.environ, OPENBLAS_NUM_THREADS="1"))


def write(name, text):
    with open(name, "w") as file:
        file.write(text)


def pack(name, *parts):
    """Pieces so many times each; a gzip file may be several in a row."""
    with open(name, "wb") as file:
        for piece, times in parts:
            file.write(gzip.compress(piece, 1) * times)


def rows_seen(file):
    return int(json.loads(run(["info", file, "--json"]).out)["n"])


def read_tensors(path):
    with open(path, "rb") as file:
        size = struct.unpack("<Q", file.read(8))[0]
        return json.loads(file.read(size)), file.read()


def write_tensors(path, header, data):
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        os.chdir(self.folder.name)
        rng = random.Random(2385)
        write("t.csv", "a,b,y\n" + "".join("%.4g,%.4g,%.4g\n" % tuple(rng.gauss(0, 1) for _ in range(3)) for _ in range(40)))

    def tearDown(self):
        os.chdir("/")
        self.folder.cleanup()

    def fit(self, *more):
        done = run(["fit", "t.csv", "-y", "y", "-m", "kalman", "-o", "m.st", "--threads", "1", *more])
        self.assertEqual(done.returncode, 0, done.err)

    def refused(self, done, *words):
        self.assertIn(done.returncode, (1, 2), done.err)
        for word in words:
            self.assertIn(word, done.err)


class Lost(Case):
    def test_updates_side_by_side_lose_no_rows(self):
        self.fit()
        many = [subprocess.Popen([PROGRAM, "update", "m.st", "t.csv", "--threads", "1", "--quiet"]) for _ in range(5)]
        self.assertEqual([p.wait(timeout=120) for p in many], [0] * 5)
        self.assertEqual(rows_seen("m.st"), 6 * 40)

    def test_who_waits_says_for_whom(self):
        self.fit()
        with open("m.st") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            waiting = subprocess.Popen([PROGRAM, "update", "m.st", "t.csv"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
            line = waiting.stderr.readline()
            self.assertIn("waiting until it is done", line)
            if os.path.exists("/proc/locks"):
                self.assertIn("process %d works on it" % os.getpid(), line)
            self.assertIsNone(waiting.poll())
        self.assertEqual(waiting.wait(timeout=60), 0)
        waiting.stderr.close()

    def test_a_stop_ends_the_waiting(self):
        self.fit()
        with open("m.st") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            waiting = subprocess.Popen([PROGRAM, "update", "m.st", "t.csv"], stderr=subprocess.PIPE, text=True)
            waiting.stderr.readline()
            waiting.send_signal(signal.SIGTERM)
            self.assertEqual(waiting.wait(timeout=20), 1)
            waiting.stderr.close()
        self.assertEqual(rows_seen("m.st"), 40)

    def test_orphans_go_with_the_next_save_and_others_stay(self):
        self.fit()
        for name in (".fabayes-4194303-0.tmp", ".fabayes-4194303-1.tmp", ".fabayes-x.tmp", "fabayes-1-1.tmp"):
            write(name, "half a file")
        with open(".fabayes-4194303-1.tmp") as held:  # somebody writes it
            fcntl.flock(held, fcntl.LOCK_EX)
            self.assertEqual(run(["update", "m.st", "t.csv"]).returncode, 0)
        left = sorted(f for f in os.listdir() if f.endswith(".tmp"))
        self.assertEqual(left, [".fabayes-4194303-1.tmp", ".fabayes-x.tmp", "fabayes-1-1.tmp"])

    def test_mode_owner_and_link_are_kept(self):
        self.fit()
        os.chmod("m.st", 0o640)
        if os.geteuid() == 0:
            os.chown("m.st", 12345, 23456)
        os.mkdir("there")
        os.rename("m.st", "there/m.st")
        os.symlink("there/m.st", "m.st")
        before = os.stat("m.st")
        self.assertEqual(run(["update", "m.st", "t.csv"]).returncode, 0)
        after = os.stat("m.st")
        self.assertTrue(os.path.islink("m.st"))
        self.assertNotEqual(before.st_ino, after.st_ino)
        self.assertEqual((before.st_mode, before.st_uid, before.st_gid), (after.st_mode, after.st_uid, after.st_gid))
        self.assertEqual(stat.S_IMODE(after.st_mode), 0o640)


    def test_tables_are_replaced_as_fits_are(self):
        self.fit()
        calls = {"p.csv": ["predict", "m.st", "t.csv", "-o", "p.csv"],
                 "r.csv": ["tune", "t.csv", "-y", "y", "--alpha=0.1:10:log", "--trials", "2", "--folds", "2", "--table", "r.csv"]}
        for name, call in calls.items():
            write("kept", "old")
            os.chmod("kept", 0o600)
            os.symlink("kept", name)
            write(".fabayes-4194303-0.tmp", "half a file")
            self.assertEqual(run(call).returncode, 0)
            self.assertTrue(os.path.islink(name))
            self.assertEqual(stat.S_IMODE(os.stat("kept").st_mode), 0o600)
            self.assertFalse(os.path.exists(".fabayes-4194303-0.tmp"))
            with open("kept") as file:
                self.assertIn("\n", file.read())


class Limits(Case):
    def test_columns_are_counted_before_memory_is_taken(self):
        pack("wide.csv.gz", (b"a," * 100000, 20), (b"y\n", 1), (b"1," * 100000, 20), (b"1\n", 1))
        self.refused(measured(["fit", "wide.csv.gz", "-y", "y"]), "2000001 columns", "max-columns")

    def test_columns_of_words_are_counted(self):
        pack("words.csv.gz", (b"a," * 20000 + b"y\n", 1), (b"b," * 20000 + b"1\n", 2))
        self.refused(measured(["fit", "words.csv.gz", "-y", "y"]), "16384 columns of words")

    def test_the_limit_is_raised_by_an_option(self):
        write("w.csv", "a,b,y\n1,2,3\n2,1,2\n4,4,1\n")
        self.refused(run(["fit", "w.csv", "-y", "y", "--max-columns", "2"]), "3 columns")
        self.assertEqual(run(["fit", "w.csv", "-y", "y", "--max-columns", "3"]).returncode, 0)
        self.assertEqual(run(["fa", "w.csv", "-k", "1", "--max-columns", "3", "-m", "pca"]).returncode, 0)

    def test_a_line_has_an_end(self):
        pack("line.csv.gz", (b"a" * 1000000, 150))
        self.refused(measured(["fit", "line.csv.gz", "-y", "0"]), "longer than 67.1 MB")

    def test_words_of_a_column_have_an_end(self):
        pack("long.csv.gz", (b"x,y\n", 1), *[(b"%d" % i + b"w" * 1000000 + b",1\n", 1) for i in range(80)])
        self.refused(measured(["fit", "long.csv.gz", "-y", "y"]), "no categories")

    def test_memory_is_obeyed_while_rows_are_read(self):
        pack("rows.csv.gz", (b"x,y\n", 1), (b"1,2\n3,1\n" * 100000, 70))
        self.refused(measured(["fit", "rows.csv.gz", "-y", "y", "--memory", "20"]), "--memory")

    def test_entries_of_a_header_are_counted(self):
        header = {"t%d" % i: {"dtype": "F64", "shape": [], "data_offsets": [0, 0]} for i in range(60000)}
        write_tensors("many.st", header, b"")
        self.refused(run(["info", "many.st"]), "values, more than the 262144")

    def test_a_number_of_a_header_has_an_end(self):
        write_tensors("long.st", {"t": 1}, b"")
        text = b'{"t":' + b"1" * 5000 + b"}"
        with open("long.st", "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
        self.refused(run(["info", "long.st"]), "a number of more than 1000 characters")


class Stops(Case):
    def stopped(self, words, feed=None):
        process = subprocess.Popen([PROGRAM] + words, stdin=subprocess.PIPE if feed is not None else subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        if feed is not None:
            process.stdin.write(feed)
            process.stdin.flush()
        time.sleep(1)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=20), 1)
        self.assertIn(b"stopped", process.stderr.read())
        process.stderr.close()
        if feed is not None:
            process.stdin.close()

    def test_a_pipe_that_gives_nothing(self):
        self.stopped(["fit", "-", "-y", "y", "-m", "kalman"], b"a,y\n1,2\n")

    def test_a_named_pipe_without_a_writer(self):
        os.mkfifo("pipe")
        self.stopped(["fit", "pipe", "-y", "y", "-m", "kalman"])

    def test_blank_lines_without_an_end(self):
        pack("blank.csv.gz", (b"x,y\n1,2\n", 1), (b"\n" * 10000000, 300))
        self.stopped(["fit", "blank.csv.gz", "-y", "y"])


class Lies(Case):
    def test_a_state_that_is_not_finite_is_refused(self):
        self.fit()
        header, data = read_tensors("m.st")
        tried = 0
        for name, tensor in header.items():
            if not name.startswith("state.") or tensor["dtype"] != "F64" or name.endswith(("loss", "losses", "numbers")):
                continue
            for bad in (float("inf"), float("nan")):
                at = tensor["data_offsets"][0]
                write_tensors("bad.st", header, data[:at] + struct.pack("<d", bad) + data[at + 8:])
                self.refused(run(["update", "bad.st", "t.csv", "-o", "out.st"]), "bad.st")
                tried += 1
        self.assertGreater(tried, 0)
        self.assertFalse(os.path.exists("out.st"))

    def test_names_that_are_no_json_switch_no_check_off(self):
        self.assertEqual(run(["fa", "t.csv", "-k", "1", "-m", "online-em", "-o", "f.st"]).returncode, 0)
        with open("t.csv") as file:
            write("other.csv", file.read().replace("a,b,y", "c,d,e"))
        self.refused(run(["update", "f.st", "other.csv", "-o", "o.st"]), "column 0 is 'c'")
        header, data = read_tensors("f.st")
        meta = header["__metadata__"]
        key = [k for k in meta if '"names"' in meta[k]][0]
        for lie in ("no JSON", "[]", '{"names": 3}', "{}"):
            meta[key] = lie
            write_tensors("lie.st", header, data)
            self.refused(run(["update", "lie.st", "other.csv", "-o", "o.st"]), "lie.st")

    def test_a_run_is_not_gone_on_with_into_a_file_that_nobody_reads(self):
        """The classes of the target are gone from the scaling: it is of another kind of target than the model."""
        with open("t.csv") as file:
            lines = file.read().split()
        write("c.csv", "\n".join([lines[0]] + ["%s,%s" % (line.rsplit(",", 1)[0], i % 2) for i, line in enumerate(lines[1:])]) + "\n")
        done = run(["fit", "c.csv", "-y", "y", "-m", "rvga", "--likelihood", "bernoulli", "-o", "m.st", "--threads", "1"])
        self.assertEqual(done.returncode, 0, done.err)
        header, data = read_tensors("m.st")
        header["__metadata__"]["scaling"] = header["__metadata__"]["scaling"].replace('"levels"', '"levelw"')
        write_tensors("m.st", header, data)
        self.refused(run(["fit", "c.csv", "-y", "y", "-m", "rvga", "--likelihood", "bernoulli", "-o", "m.st", "--threads", "1", "--resume"]), "m.st")

    def test_units_and_calibration_that_lie_are_refused(self):
        with open("t.csv") as file:
            lines = file.read().split()[1:]
        rows = [(line.split(","), i % 3) for i, line in enumerate(lines)]
        write("c.csv", "a,b,w,k\n" + "".join("%s,%s,%s,%s\n" % (*r[:2], ("hi", "lo", "mid")[i], "no" if float(r[0]) < 0 else "yes") for r, i in rows))
        calls = {"poly": "t.csv -f y~poly(a,2)+b -m exact", "conformal": "t.csv -y y -m exact --calibrate conformal",
                 "temperature": "c.csv -y k -m vga --calibrate temperature"}
        lies = [("poly", "scaling", ["poly", 0], [1, 2, 3], "the polynomial poly(a, 2) is missing"),
                ("poly", "scaling", ["poly", 0, 2], 0, "number 2 of poly(a, 2) is impossible"),
                ("poly", "scaling", ["poly", 0, 0], "x", "number 0 of poly(a, 2) is impossible"),
                ("poly", "scaling", ["poly"], [[1, 2, 3, 4, 5]] * 2, "polynomials that its formula has not"),
                ("poly", "scaling", ["means"], [0], "'means' is not a list of 3 numbers"),
                ("poly", "scaling", ["scales", 1], 0, "number 1 of 'scales' is impossible"),
                ("poly", "scaling", ["means", 1], None, "number 1 of 'means' is impossible"),
                ("poly", "scaling", ["target_scale"], -1, "'target_scale' is missing or impossible"),
                ("poly", "scaling", ["target"], 3, "the target has no name"),
                ("poly", "scaling", ["from"], ["a"], ""),
                ("poly", "scaling", ["dialect"], {"separator": "too long"}, "the separator of its dialect is impossible"),
                ("temperature", "scaling", ["columns", 2, "levels"], [], "column 'w' has no levels"),
                ("temperature", "scaling", ["columns", 2, "levels"], ["lo", "hi", "mid"], "'levels' are not in order"),
                ("temperature", "scaling", ["columns", 2, "levels"], [1, 2, 3], "'levels' are not all strings"),
                ("temperature", "scaling", ["columns", 2, "name"], "a", "two columns are named 'a'"),
                ("temperature", "scaling", ["columns", 0], {}, "a column has no name"),
                ("temperature", "scaling", ["columns"], [], "there are no columns"),
                ("temperature", "scaling", ["levels"], ["no"], "'levels' are fewer than 2"),
                ("temperature", "calibration", ["temperature"], 0, "a temperature of 0, expected more than 0"),
                ("temperature", "calibration", ["sd"], -1, "the temperature has no standard error"),
                ("temperature", "calibration", ["way"], "magic", "its way is not known"),
                ("temperature", "calibration", ["rows"], 1, "it is of 1 rows"),
                ("conformal", "calibration", ["quantiles"], [1, 2], "expected 3 quantiles"),
                ("conformal", "calibration", ["percent", 1], 80, "a quantile of 80 %, expected 90 %"),
                ("conformal", "calibration", ["quantiles", 1], 0, "the quantile of 90 % is 0"),
                ("conformal", "calibration", [], {"way": "temperature", "rows": 19, "temperature": 1}, "the target has no classes")]
        for name, words in calls.items():
            done = run(["fit", *words.split(), "-o", name + ".st", "--quiet", "--threads", "1"])
            self.assertEqual(done.returncode, 0, done.err)
        for name, key, path, lie, words in lies:
            header, data = read_tensors(name + ".st")
            top = [json.loads(header["__metadata__"][key])]
            at, path = top, [0, *path]
            for step in path[:-1]:
                at = at[step]
            at[path[-1]] = lie
            header["__metadata__"][key] = json.dumps(top[0])
            write_tensors("lie.st", header, data)
            with self.subTest(key=key, path=path, lie=lie):
                self.refused(run(["predict", "lie.st", calls[name].split()[0], "-o", "p.csv"]), "lie.st", words)
                self.assertFalse(os.path.exists("p.csv"))

    def test_processes_that_lie_are_refused(self):
        with open("t.csv") as file:
            lines = file.read().split()
        write("few.csv", "\n".join(lines[:20]) + "\n")
        write("many.csv", "a,b,k\n" + "".join("%s,%s,%s\n" % (*line.split(",")[:2], "xyz"[i % 3]) for i, line in enumerate(lines[1:20])))
        calls = {"gp": "few.csv -y y --model gp:rbf --average=laplace", "vfe": "few.csv -y y -m vfe --model gp:rbf --inducing=5",
                 "ridge": "few.csv -y y -m kernel-ridge --model gp:rbf", "classes": "many.csv -y k --model gp:2*rbf:l=1"}
        absent, nan = None, float("nan")
        lies = [("gp", "L", 0, -1, "its factor has -1 on the diagonal"), ("gp", "X", 0, nan, "a number that is nan"),
                ("gp", "X", 0, absent, "its tensor 'X' is absent"), ("gp", "a", 0, absent, "its tensor 'a' is absent"),
                ("gp", "places.weight", 0, -1, "a place has the weight -1"), ("gp", "places.noise", 0, 0, "and the noise 0"),
                ("gp", "places.weight", 0, absent, "its tensor 'places.weight' is absent"), ("gp", "search", 0, absent, "'search'"),
                ("gp", "mu", 0, absent, "mu"), ("vfe", "C", 0, 0, "its factor has 0 on the diagonal"),
                ("vfe", "parameters", 0, absent, "its parameters, model and scaling do not belong together"), ("ridge", "missed", 0, 0, "its rows are missed by 0"),
                ("classes", "X", 0, absent, "its tensor 'X' is absent"), ("classes", "M", 0, -2, "its factor has -2 on the diagonal"),
                ("classes", "L", 0, nan, "nan"), ("classes", "s", 0, absent, "its tensor 's' is absent")]
        for name, words in calls.items():
            done = run(["fit", *words.split(), "-o", name + ".st", "--quiet", "--threads", "1"])
            self.assertEqual(done.returncode, 0, done.err)
        for name, tensor, at, lie, words in lies:
            header, data = read_tensors(name + ".st")
            if lie is absent:
                header["other." + tensor] = header.pop(tensor)
            else:
                at = header[tensor]["data_offsets"][0] + 8 * at
                data = data[:at] + struct.pack("<d", lie) + data[at + 8:]
            write_tensors("lie.st", header, data)
            with self.subTest(name=name, tensor=tensor, lie=lie):
                self.refused(run(["predict", "lie.st", calls[name].split()[0], "-o", "p.csv"]), "lie.st", words)
                self.assertFalse(os.path.exists("p.csv"))
        for name in calls:
            header, data = read_tensors(name + ".st")
            del header["__metadata__"]["scaling"]
            write_tensors("lie.st", header, data)
            self.refused(run(["predict", "lie.st", "few.csv"]), "is a Gaussian process without a scaling")

    def test_no_word_of_a_file_is_a_command_to_the_terminal(self):
        with open("t.csv") as file:
            lines = file.read().splitlines()
        write("w.csv", "a,b,y,c\n" + "".join("%s,%s\n" % (line, "hi" if i % 3 else "lo") for i, line in enumerate(lines[1:])))
        self.assertEqual(run(["fit", "w.csv", "-y", "y", "-m", "lrvga", "-o", "m.st"]).returncode, 0)
        header, data = read_tensors("m.st")
        meta, hidden, tried = header["__metadata__"], "\x1b[31m", 0
        for key, value in meta.items():
            words = sorted(set(re.findall('"([^"]+)"', value))) # of JSON: a name of any kind
            lies = [value.replace('"%s"' % w, '"%s\\u001b[31m%s"' % (w[:1], w[1:])) for w in words]
            for lie in lies + [value[:1] + hidden + value[1:]]:
                write_tensors("lie.st", {**header, "__metadata__": {**meta, key: lie}}, data)
                for words in (["info", "lie.st"], ["info", "lie.st", "--json"], ["update", "lie.st", "w.csv", "-o", "o.st"]):
                    done = run(words)
                    self.assertNotIn("\x1b", done.out + done.err, (key, lie, words))
                    tried += 1
        write_tensors("lie.st", {**header, "__metadata__": {**meta, "k" + hidden: "v" + hidden}}, data)
        self.assertNotIn("\x1b", run(["info", "lie.st"]).out)
        self.assertGreater(tried, 50)


if __name__ == "__main__":
    unittest.main()
