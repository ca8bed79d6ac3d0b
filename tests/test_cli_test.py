#!/usr/bin/env python3
"""test_cli_test.py - `fabayes test` from outside: test_cli_test.py FABAYES [NAME ..]."""
# SPDX-License-Identifier: MIT
import math
import random

from cli_case import Case, run


def table(n, seed, shift=0.0):
    """Lines of a csv file: two numbers, of which the second follows the first, and words that follow nothing."""
    r = random.Random(seed)
    lines = ["height,weight,place"]
    for _ in range(n):
        height = r.gauss(170 + shift, 10)
        lines.append("%.6f,%.6f,%s" % (height, 0.9 * height - 90 + r.gauss(0, 8), r.choice(["hill", "lake", "port"])))
    return lines


class Test(Case):
    def rows(self, name, lines):
        return self.write(name, ("\n".join(lines) + "\n").encode())

    def setUp(self):
        super().setUp()
        self.a, self.same, self.other = (self.rows(name, table(n, seed, shift)) for name, n, seed, shift in
                                         (("a.csv", 120, 1, 0), ("same.csv", 90, 2, 0), ("other.csv", 90, 4, 5)))

    def test_two_tables_of_one_distribution_and_two_of_others(self):
        same, other = self.good_json("test", self.a, self.same), self.good_json("test", self.a, self.other)
        self.assertGreater(same["p"], 0.1)
        self.assertEqual(other["p"], 1 / 1001)
        self.assertEqual((other["test"], other["n"], other["m"], other["features"], other["permutations"]), ("mmd", 120, 90, 5, 1000))
        self.assertEqual(other["p"], (1 + other["as_large"]) / 1001)

    def test_the_statistic_is_the_formula(self):
        """Of two columns as they stand, with a length-scale that is given."""
        def column(path):
            return [tuple(map(float, line.split(",")[:2])) for line in open(path).read().split()[1:]]

        def mean(x, y, same):
            pairs = [math.exp(-((a[0] - b[0]) ** 2 + (a[1] - b[1]) ** 2) / 200) for i, a in enumerate(x) for j, b in enumerate(y) if not (same and i == j)]
            return math.fsum(pairs) / len(pairs)
        x, y = column(self.a), column(self.other)
        said = self.good_json("test", self.a, self.other, "--exclude", "place", "--raw", "--kernel", "rbf:l=10")
        self.assertAlmostEqual(said["statistic"], mean(x, x, True) + mean(y, y, True) - 2 * mean(x, y, False), places=12)
        self.assertNotIn("bandwidth", said)

    def test_order_of_columns_and_of_words_is_nothing(self):
        lines = [line.split(",") for line in table(90, 4, 5)]
        turned = self.rows("turned.csv", [",".join([c, a, b]) for a, b, c in lines])
        here, there = (self.good_json("test", self.a, file, "--seed", "3") for file in (self.other, turned))
        self.assertEqual(here, there)

    def test_a_word_that_one_table_lacks_counts(self):
        lines = table(90, 2)
        far = self.rows("far.csv", lines[:1] + [line.rsplit(",", 1)[0] + ",sea" for line in lines[1:]])
        self.assertEqual(self.good_json("test", self.a, far)["features"], 6)
        self.assertLess(self.good_json("test", self.a, far)["p"], 0.002)

    def test_the_witness_is_above_0_where_there_is_more_of_the_first(self):
        out = self.path("w.csv")
        self.good("test", self.a, self.other, "--only", "height", "--witness", out, "--quiet")
        rows = [line.split(",") for line in open(out).read().split()]
        self.assertEqual(rows[0], ["table", "row", "witness"])
        self.assertEqual([len([r for r in rows[1:] if r[0] == t]) for t in "12"], [120, 90])
        low = [float(w) for (_, _, w), line in zip(rows[1:121], open(self.a).read().split()[1:]) if float(line.split(",")[0]) < 160]
        self.assertTrue(low and min(low) > 0)

    def test_columns_that_depend_and_columns_that_do_not(self):
        said = self.good_json("test", self.a, "-x", "height", "-y", "weight")
        self.assertEqual((said["test"], said["p"]), ("hsic", 1 / 1001))
        self.assertLess(said["p_gamma"], 1e-6)
        free = self.good_json("test", self.a, "-x", "height,weight", "-y", "place")
        self.assertGreater(free["p"], 0.05)
        self.assertEqual((free["features"], free["features_y"]), (2, 3))

    def test_the_same_numbers_for_any_number_of_threads(self):
        for call in (("test", self.a, self.other), ("test", self.a, "-x", "height", "-y", "weight,place")):
            one, two = (self.good_json(*call, "--threads", n) for n in "13")
            self.assertEqual(one, two)

    def test_rows_with_holes_are_left_out_of_both_sides(self):
        lines = table(60, 8)
        lines[3] = "NA," + lines[3].split(",", 1)[1]
        lines[7] = lines[7].rsplit(",", 1)[0] + ","
        holes = self.rows("holes.csv", lines)
        self.bad(1, "test", holes, "-x", "height", "-y", "weight,place", says=["missing"])
        said = self.good_json("test", holes, "-x", "height", "-y", "weight,place", "--missing", "drop")
        self.assertEqual((said["n"], said["missing"]), (58, 2))

    def test_what_cannot_be_tested_is_refused_with_a_sentence(self):
        short = self.rows("short.csv", table(3, 1))
        one = self.rows("one.csv", table(1, 1))
        flat = self.rows("flat.csv", ["a,b"] + ["1,%d" % i for i in range(9)])
        words = self.rows("words.csv", ["height,weight,place"] + ["tall,2,hill"] * 9)
        for status, sentence, call in (
                (2, "give a second table", (self.a,)),
                (2, "two tables are compared whole", (self.a, self.same, "-x", "height")),
                (2, "is among the x and among the y", (self.a, "-x", "height", "-y", "height")),
                (2, "did you mean 'height'", (self.a, "-x", "heights", "-y", "weight")),
                (2, "did you mean 'rbf'", (self.a, self.same, "--kernel", "rbff")),
                (2, "at least 4", (short, "-x", "height", "-y", "weight")),
                (2, "at least 2", (self.a, one)),
                (1, "all rows of x are alike", (flat, "-x", "a", "-y", "b")),
                (1, "has no column 'a'", (flat, self.a)),
                (1, "has words in", (self.a, words)),
                (2, "--only", (self.a, "-x", "height", "-y", "weight", "--only", "place"))):
            with self.subTest(sentence):
                self.bad(status, "test", *call, says=[sentence])


if __name__ == "__main__":
    run(Test)
