"""test_cli_propose.py - the command line of Bayesian optimisation: a table of trials in, the next trial out."""
# SPDX-License-Identifier: MIT
import csv
import io
import math

from cli_case import Case, run

RANGES = ("--range", "rate=1e-4:0.1:log", "--range", "layers=1:4:int")


def loss(rate, layers):
    return (math.log10(rate) + 2.5) ** 2 + 0.1 * (layers - 3) ** 2


class Propose(Case):
    def points(self, *args):
        rows = list(csv.DictReader(io.StringIO(self.good("propose", *args, *RANGES, "--quiet"))))
        return [(float(r["rate"]), float(r["layers"])) for r in rows]

    def table(self, rows, name="trials.csv"):
        lines = ["note,rate,loss,layers"] + ["run %d,%s,%s,%s" % (i, *row) for i, row in enumerate(rows)]
        return self.write(name, ("\n".join(lines) + "\n").encode())

    def test_a_loop_around_it_finds_the_least_loss(self):
        rows = []
        for _ in range(18):
            path = self.table(rows)
            (rate, layers), = self.points(path, "-y", "loss")
            self.assertTrue(1e-4 <= rate <= 0.1 and layers in (1, 2, 3, 4))
            rows.append((rate, "failed" if rate > 0.05 else loss(rate, layers), layers))
        best = min(r[1] for r in rows if r[1] != "failed")
        self.assertLess(best, 0.01)  # its neighbours in whole numbers have 0.1
        said = self.good_json("propose", self.table(rows), "-y", "loss", *RANGES)
        self.assertEqual(said["trials"], 18)
        self.assertEqual(said["failed"], sum(r[1] == "failed" for r in rows))
        self.assertTrue(said["modelled"])
        self.assertAlmostEqual(said["best"]["loss"], best, delta=0.02)

    def test_no_trials_are_no_table_an_empty_one_and_a_header(self):
        first = self.points()
        self.assertEqual(self.points(self.write("empty.csv", b""), "-y", "loss"), first)
        self.assertEqual(self.points(self.table([]), "-y", "loss"), first)
        self.assertEqual(self.points(self.path("none.csv"), "-y", "loss"), first)
        self.assertEqual(self.points(self.path("none.csv")), first)
        many = self.points("-n", 5)
        self.assertEqual(many[0], first[0])
        self.assertEqual(len(set(many)), 5)
        self.assertNotEqual(self.points("--seed", 3), first)

    def test_words_of_failure_are_alike_and_other_columns_do_not_matter(self):
        rows = [(10 ** -(1 + 3 * k / 9), loss(10 ** -(1 + 3 * k / 9), 1 + k % 4), 1 + k % 4) for k in range(10)]
        answers = []
        for word in ("failed", "", "nan", "inf", "NA", "error"):
            bad = rows[:4] + [(0.02, word, 4)] + rows[4:]
            answers.append(self.points(self.table(bad), "-y", "loss", "-n", 2))
        self.assertEqual(len({tuple(a) for a in answers}), 1)
        turned = ["%s;%s;%s" % (layers, ("%.17g" % y).replace(".", ","), ("%.17g" % rate).replace(".", ",")) for rate, y, layers in rows]
        path = self.write("other.csv", "\n".join(["layers;loss;rate", *turned]).encode())
        plain = self.write("plain.csv", "\n".join(["rate,loss,layers", *["%.17g,%.17g,%s" % r for r in rows]]).encode())
        self.assertEqual(self.points(path, "-y", "loss"), self.points(plain, "-y", "loss"))

    def test_large_numbers_are_good_where_they_are_said_to_be(self):
        rows = [(10 ** -(1 + 3 * k / 9), loss(10 ** -(1 + 3 * k / 9), 1 + k % 4), 1 + k % 4) for k in range(10)]
        low = self.points(self.table(rows), "-y", "loss")
        high = self.points(self.table([(r, -y, n) for r, y, n in rows], "gains.csv"), "-y", "loss", "--maximise")
        self.assertEqual(low, high)

    def test_trials_from_standard_input_and_refusals(self):
        rows = [(0.01, 1.5, 2), (0.001, 0.5, 3)]
        with open(self.table(rows), "rb") as f:
            done = self.run_it("propose", "-", "-y", "loss", *RANGES, stdin=f)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"2 trials", done.stderr)
        self.bad(1, "propose", self.table([(-1, 1, 2)]), "-y", "loss", *RANGES, says=["trial 0", "rate = -1"])
        self.bad(1, "propose", self.table([("", 1, 2)]), "-y", "loss", *RANGES, says=["trial 0", "rate = nan"])
        self.bad(1, "propose", self.table([("x", 1, 2)]), "-y", "loss", *RANGES, says=["line 2", "rate"])
        self.bad(2, "propose", self.table(rows), "-y", "loss", "--rang", "rate=1:2", says=["--range"])


if __name__ == "__main__":
    run(Propose)
