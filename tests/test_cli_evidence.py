#!/usr/bin/env python3
"""test_cli_evidence.py FABAYES - the verb `evidence`: closed forms, several models, rows left out, and what it refuses."""
# SPDX-License-Identifier: MIT
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv[1]


def run(folder, *words):
    done = subprocess.run([PROGRAM, *words], cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def answer(folder, *words):
    status, out, err = run(folder, *words, "--json")
    assert status == 0, err
    return json.loads(out)["models"]


def lines_of(folder, name):
    with open(os.path.join(folder, name)) as f:
        return f.read().split()


def write_rows(folder, name, n=120):
    """y = 1 + 2 a - b + noise; class: whether a and noise are above; c has nothing to do with either."""
    rng = random.Random(5)
    with open(os.path.join(folder, name), "w") as f:
        f.write("a,b,c,y,class\n")
        for _ in range(n):
            a, b, c, e = (rng.gauss(0, 1) for _ in range(4))
            f.write("%.6f,%.6f,%.6f,%.6f,%s\n" % (a, b, c, 100 + 20 * a - 10 * b + 5 * e, "yes" if a + e > 0 else "no"))


class Evidence(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.folder = cls.kept.name
        write_rows(cls.folder, "t.csv")
        for name, words in {"all": ["-y", "y", "--exclude", "class"], "without_c": ["-y", "y", "--exclude", "class,c"],
                            "without_a": ["-y", "y", "--exclude", "class,a"], "ridge": ["-y", "y", "--exclude", "class", "-m", "ridge"],
                            "laplace": ["-y", "class", "--exclude", "y", "-m", "laplace"],
                            "vga": ["-y", "class", "--exclude", "y", "-m", "vga"]}.items():
            status, _, err = run(cls.folder, "fit", "t.csv", *words, "-o", name, "--quiet")
            assert status == 0, err

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def test_exact_agrees_with_its_own_evidence(self):
        status, out, err = run(self.folder, "fit", "t.csv", "-y", "y", "--exclude", "class", "--json")
        self.assertEqual(status, 0, err)
        fitted = json.loads(out)["log_evidence"]
        ys = [float(line.split(",")[3]) for line in lines_of(self.folder, "t.csv")[1:]]
        mean = sum(ys) / len(ys)
        scale = math.sqrt(sum((y - mean) ** 2 for y in ys) / len(ys))
        proper = 0.5 * math.log(1e-4 / (2 * math.pi))  # a flat intercept there, N(0, 1e4) here
        model = answer(self.folder, "evidence", "t.csv", "all")[0]
        self.assertAlmostEqual(model["log_evidence"], fitted + proper - len(ys) * math.log(scale), delta=1e-3)
        self.assertLess(model["se"], 1e-6)
        self.assertEqual(model["n"], 120)

    def test_a_column_that_says_nothing_is_left_to_the_simpler_model(self):
        models = answer(self.folder, "evidence", "t.csv", "all", "without_c", "without_a")
        self.assertAlmostEqual(sum(m["probability"] for m in models), 1, places=12)
        self.assertGreater(models[1]["log_evidence"], models[0]["log_evidence"])
        self.assertLess(models[2]["probability"], 1e-6)
        self.assertGreater(models[1]["elpd"], models[2]["elpd"] + 20)
        status, out, err = run(self.folder, "evidence", "t.csv", "all", "without_c", "without_a")
        self.assertEqual(status, 0, err)
        self.assertIn("log factor", out)
        self.assertIn("120 rows", out)

    def test_two_approximations_agree(self):
        models = answer(self.folder, "evidence", "t.csv", "laplace", "vga", "--samples", "20000")
        for m in models:
            self.assertLess(m["k"], 0.7)
        # alpha of the two differ: each is asked for that of the other by fits with one alpha
        for name in ("laplace", "vga"):
            status, _, err = run(self.folder, "fit", "t.csv", "-y", "class", "--exclude", "y", "-m", name, "--alpha=0.5", "-o", name + "1", "--quiet")
            self.assertEqual(status, 0, err)
        a, b = answer(self.folder, "evidence", "t.csv", "laplace1", "vga1", "--samples", "20000")
        self.assertLess(abs(a["log_evidence"] - b["log_evidence"]), 5 * math.hypot(a["se"], b["se"]))

    def test_rows_go_into_a_file(self):
        status, _, err = run(self.folder, "evidence", "t.csv", "laplace", "--rows-out", "rows.csv")
        self.assertEqual(status, 0, err)
        lines = lines_of(self.folder, "rows.csv")
        self.assertEqual(lines[0], "row,elpd,k")
        self.assertEqual(len(lines), 121)
        total = sum(float(line.split(",")[1]) for line in lines[1:])
        self.assertAlmostEqual(total, answer(self.folder, "evidence", "t.csv", "laplace")[0]["elpd"], places=9)

    def test_other_rows_are_noticed(self):
        write_rows(self.folder, "more.csv", n=2000)
        status, _, err = run(self.folder, "evidence", "more.csv", "laplace")
        self.assertEqual(status, 0, err)
        self.assertIn("are these the rows of the fit?", err)

    def test_the_same_seed_is_the_same_answer(self):
        a = run(self.folder, "evidence", "t.csv", "vga", "--threads", "1", "--json")
        b = run(self.folder, "evidence", "t.csv", "vga", "--threads", "3", "--json")
        self.assertEqual(a, b)
        c = run(self.folder, "evidence", "t.csv", "vga", "--seed", "2", "--json")
        self.assertNotEqual(a[1], c[1])

    def test_what_has_none_is_said(self):
        for words, status, sentence in ((["t.csv", "ridge"], 1, "is a point"), (["t.csv"], 2, "FILE"), (["t.csv", "nothing"], 1, "nothing"),
                                        (["none.csv", "all"], 1, "none.csv"), (["-", "all", "without_c"], 2, "not a pipe"),
                                        (["t.csv", "all", "without_c", "--rows-out", "x"], 2, "one FILE"),
                                        (["t.csv", "all", "--rows-out", "x", "--no-rows"], 2, "leaves none out"),
                                        (["t.csv", "all", "--samples", "3"], 2, "samples"),
                                        (["t.csv", "all", "--rows-out", "t.csv"], 1, "is the input")):
            got, out, err = run(self.folder, "evidence", *words)
            self.assertEqual((got, out), (status, ""), (words, err))
            self.assertIn(sentence, err)
            self.assertEqual(err.count("\n"), 1, err)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
