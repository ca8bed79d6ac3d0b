#!/usr/bin/env python3
"""test_cli_merge.py - `fabayes merge` and `fit --units` from outside: test_cli_merge.py FABAYES [NAME ..]."""
# SPDX-License-Identifier: MIT
import os
import random
import subprocess

from cli_case import Case, run


def table(n=150, seed=5):
    """Lines of a csv file: numbers, words, and a target of each kind."""
    r = random.Random(seed)
    lines = ["a,b,place,y,kind"]
    for _ in range(n):
        a, b, place = r.gauss(3, 2), r.gauss(-100, 50), r.choice(["hill", "lake", "port"])
        y = 4 * a - 0.02 * b + {"hill": 0, "lake": 3, "port": -2}[place] + r.gauss(0, 1)
        lines.append("%.6f,%.6f,%s,%.6f,%s" % (a, b, place, y, "yes" if y + r.gauss(0, 4) > 14 else "no"))
    return lines


class Merge(Case):
    def setUp(self):
        super().setUp()
        self.lines = table()
        self.all = self.rows("all.csv", 0, 150)

    def rows(self, name, first, end):
        return self.write(name, ("\n".join(self.lines[:1] + self.lines[1 + first:1 + end]) + "\n").encode())

    def shards(self, *args, cuts=(0, 40, 90, 150)):
        files = []
        for i in range(len(cuts) - 1):
            data = self.rows("s%d.csv" % i, cuts[i], cuts[i + 1])
            files.append(self.path("s%d.st" % i))
            self.good(*args[:1], data, *args[1:], "--quiet", "-o", files[-1])
        return files

    def distances(self, a, b):
        return self.good_json("compare", a, b)

    def test_exact_shards_are_the_fit_of_all_rows(self):
        call = ("fit", "-y", "y", "--exclude", "kind")
        whole, out = self.path("whole.st"), self.path("out.st")
        self.good("fit", self.all, *call[1:], "--quiet", "-o", whole)
        report = self.good_json("merge", *self.shards(*call), "-o", out)
        self.assertEqual((report["way"], report["parts"], report["n"], report["kl"]), ("rows", 3, 150, 0))
        self.assertLess(self.distances(out, whole)["kl_ab"], 1e-9)
        a, b = (self.good("predict", f, self.all, "--full") for f in (out, whole))
        numbers = [[float(x) for line in text.splitlines()[1:] for x in line.split(",")] for text in (a, b)]
        self.assertLess(max(abs(x - y) for x, y in zip(*numbers)), 1e-7)
        said = [self.good_json("info", f)["r_squared"] for f in (out, whole)]
        self.assertAlmostEqual(*said, places=10)

    def test_exact_shards_with_an_offset_multiply(self):
        call = ("fit", "-y", "y", "--exclude", "kind", "--offset", "a")
        whole, out = self.path("whole.st"), self.path("out.st")
        self.good("fit", self.all, *call[1:], "--quiet", "-o", whole)
        self.assertEqual(self.good_json("merge", *self.shards(*call), "-o", out)["way"], "product")
        self.assertLess(self.distances(out, whole)["kl_ab"], 0.1)  # alpha and the noise are not found again

    def test_factor_analyses_add_up_and_go_on(self):
        call = ("fa", "-k", "1", "--only", "a,b,y")
        whole, out = self.path("whole.st"), self.path("out.st")
        self.good("fa", self.all, *call[1:], "--quiet", "-o", whole)
        parts = self.shards(*call, cuts=(0, 40, 90))
        self.assertIn("states", self.good("merge", *parts, "-o", out))
        self.good("update", out, self.rows("rest.csv", 90, 150), "--only", "a,b,y", "--quiet")
        self.assertLess(self.distances(out, whole)["kl_ab"], 1e-9)

    def test_classes_in_units_of_one_multiply(self):
        base = self.path("base.st")
        self.good("fit", self.rows("first.csv", 0, 60), "-y", "kind", "--exclude", "y", "--quiet", "-o", base)
        parts = self.shards("fit", "-y", "kind", "--exclude", "y", "--units", base)
        scaling = [self.good_json("info", f)["scaling"] for f in (base, *parts)]
        self.assertTrue(all(s == scaling[0] for s in scaling))
        out, whole = self.path("out.st"), self.path("whole.st")
        self.assertIn("product", self.good("merge", *parts, "-o", out))
        self.good("fit", self.all, "-y", "kind", "--exclude", "y", "--quiet", "-o", whole)
        nll = [self.good_json("score", f, self.all)["nll"] for f in (out, whole)]
        self.assertLess(abs(nll[0] - nll[1]), 0.01)

    def test_networks_become_a_mixture(self):
        base = self.path("base.st")
        call = ("fit", "-y", "y", "--exclude", "kind", "--model", "mlp:3", "-m", "vifa", "--epochs=5", "--draws=2")
        self.good("fit", self.rows("first.csv", 0, 60), *call[1:], "--quiet", "-o", base)
        parts = self.shards(*call, "--units", base, "--noise", "fixed", "--beta=2")
        out = self.path("out.st")
        self.assertIn("equal weights", self.good("merge", *parts, "-o", out))
        self.assertEqual([p["weight"] for p in self.good_json("info", out)["parts"]], [1 / 3] * 3)
        self.good("predict", out, self.all)

    def test_the_example_of_shards_is_the_fit_of_all_rows(self):
        out, whole = self.path("out.st"), self.path("whole.st")
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "shards", "parallel.sh")
        done = subprocess.run([script, self.all, "y", "4", out, "--exclude", "kind"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, FABAYES=os.path.abspath(self.program)), timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        units = self.path("units.csv")  # the script's units are those of its first shard
        with open(units, "w") as f:
            f.write("\n".join(self.lines[:1] + self.lines[1::4]) + "\n")
        base = self.path("base.st")
        self.good("fit", units, "-y", "y", "--exclude", "kind", "--quiet", "-o", base)
        self.good("fit", self.all, "-y", "y", "--exclude", "kind", "--quiet", "--units", base, "-o", whole)
        self.assertLess(self.distances(out, whole)["kl_ab"], 1e-9)

    def test_words_that_only_a_shard_has_name_the_remedy(self):
        one = self.write("one.csv", ("\n".join(x for x in self.lines if "port" not in x) + "\n").encode())
        files = [self.path("a.st"), self.path("b.st")]
        for data, file in zip((one, self.all), files):
            self.good("fit", data, "-y", "y", "--exclude", "kind", "--quiet", "-o", file)
        self.bad(1, "merge", *files, "-o", self.path("c.st"), says=("the words of them", "--units"))
        self.bad(1, "fit", self.all, "-y", "y", "--exclude", "kind", "--units", files[0], says=("port",))
        self.good("fit", one, "-y", "y", "--exclude", "kind", "--units", files[1], "--quiet", "-o", files[0])
        self.good("merge", *files, "-o", self.path("c.st"))

    def test_wrong_calls_are_told(self):
        file = self.path("m.st")
        self.good("fit", self.all, "-y", "y", "--exclude", "kind", "--quiet", "-o", file)
        other = self.path("n.st")
        self.good("fit", self.all, "-y", "y", "--exclude", "kind", "--quiet", "-o", other)
        self.bad(2, "merge", file, other, says=("-o FILE",))
        self.bad(2, "merge", file, "-o", self.path("x.st"), says=("merge",))
        self.bad(1, "merge", file, other, "-o", file, says=("is the input",))
        self.bad(1, "merge", file, self.all, "-o", self.path("x.st"), says=("all.csv",))
        self.bad(1, "merge", file, self.path("nobody"), "-o", self.path("x.st"), says=("nobody",))
        self.bad(1, "fit", self.all, "-y", "y", "--units", self.all, says=("all.csv",))
        merged = self.path("x.st")
        self.good("merge", file, other, "-o", merged)
        self.bad(1, "update", merged, self.all, says=("batch method",))


if __name__ == "__main__":
    run(Merge)
