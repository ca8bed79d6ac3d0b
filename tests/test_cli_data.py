#!/usr/bin/python3
"""test_cli_data.py - tables as people have them, through every verb that reads DATA: test_cli_data.py FABAYES [NAME ..]."""
# SPDX-License-Identifier: MIT
import bz2
import gzip
import io
import lzma
import shutil
import subprocess

from cli_case import Case, np, run

ROWS = 120


def table():
    r = np.random.default_rng(2385)
    a, b = r.normal(5, 2, ROWS), r.normal(0, 10, ROWS)
    y = 3 * a - 0.5 * b + r.normal(0, 0.3, ROWS)
    return np.round(np.c_[a, b, y], 3)


def text(rows, separator=",", mark=".", header="a,b,y"):
    out = io.StringIO()
    out.write(header.replace(",", separator) + "\n")
    for row in rows:
        out.write(separator.join("%.3f" % x for x in row).replace(".", mark) + "\n")
    return out.getvalue()


class Tables(Case):
    def setUp(self):
        super().setUp()
        self.rows = table()
        self.plain = self.write("plain.csv", text(self.rows).encode())
        self.new = self.write("new.csv", text(self.rows[:5, :2], header="a,b").encode())
        self.good("fit", self.plain, "-y", "y", "-o", self.path("plain.fit"), "--quiet")
        self.expected = self.good("predict", "--full", self.path("plain.fit"), self.new)

    def said(self, *args):
        """Output and notes of a call that must succeed."""
        done = self.run_it(*args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode(), done.stderr.decode()

    def check_same(self, name, data, note=None, *options):
        """The fit of this file predicts as that of the plain one does."""
        path, fit = self.write(name, data), self.path(name + ".fit")
        notes = self.said("fit", path, "-y", "y", "-o", fit, *options)[1]
        if note is None:
            self.assertEqual(notes, "")
        else:
            self.assertEqual(notes.count(note), 1, notes)
        self.assertEqual(self.good("predict", "--full", fit, self.new), self.expected)
        self.assertEqual(self.said("fit", path, "-y", "y", "--quiet", *options)[1], "")
        return fit

    def test_separators_and_decimal_marks_are_found_or_given(self):
        rows = self.rows
        fit = self.check_same("semi.csv", text(rows, ";", ",").encode(), "decimal comma")
        self.check_same("tab.tsv", text(rows, "\t", ",").encode(), "decimal comma")
        self.check_same("pipe.csv", text(rows, "|").encode())
        self.check_same("tilde.csv", text(rows, "~").encode(), None, "--sep", "~")
        self.check_same("given.csv", text(rows, ";", ",").encode(), None, "--sep", ";", "--decimal", "comma")
        # One row, whose numbers could be grouped in threes: the file says how they were read.
        one = np.array([[1.234, 2.345]])
        as_point = self.good("predict", "--full", fit, self.write("one.csv", text(one, header="a,b").encode()))
        as_comma = self.said("predict", "--full", fit, self.write("two.csv", text(one, ";", ",", "a,b").encode()))[0]
        self.assertEqual(as_comma, as_point)

    def test_every_verb_reads_them(self):
        semi = self.write("semi.csv", text(self.rows, ";", ",").encode())
        odd = self.write("odd.csv", text(self.rows, "!").encode())
        for path, options in (semi, []), (odd, ["--sep", "!"]):
            fit = self.path("x.fit")
            self.said("fit", path, "-y", "y", "-m", "kalman", "--beta=4", "-o", fit, *options)
            self.assertEqual(self.said("score", fit, path)[0], self.said("score", fit, self.plain)[0])
            self.assertEqual(self.said("score", fit, path, *options)[0],
                             self.said("score", fit, self.plain)[0])
            self.assertIn("240 rows", self.said("update", fit, path, *options)[0])
            fa = self.said("fa", path, "-k", "1", "--json", "-o", self.path("x.fa"), *options)[0]
            self.assertIn('"D": 3', fa)
            self.said("update", self.path("x.fa"), path, *options)
            self.said("tune", path, "-y", "y", "-m", "ridge", "--alpha=1e-3:1e3", "--trials", "4",
                      "--quiet", *options)
        done = self.run_it("fit", odd, "-y", "y", "--sep", "12")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"--sep: the separator is comma, semicolon", done.stderr)

    def test_encodings_and_line_ends(self):
        plain = text(self.rows)
        self.check_same("u16.csv", plain.encode("utf-16"), "UTF-16")
        self.check_same("u16be.csv", plain.encode("utf-16-be"), "UTF-16")
        self.check_same("bom.csv", plain.encode("utf-8-sig"))
        self.check_same("mac.csv", plain.replace("\n", "\r").encode(), "old Mac")
        self.check_same("dos.csv", plain.replace("\n", "\r\n").encode())

    def test_compressions(self):
        plain = text(self.rows).encode()
        self.check_same("x.gz", gzip.compress(plain))
        self.check_same("x.xz", lzma.compress(plain))
        self.check_same("x.bz2", bz2.compress(plain))
        if shutil.which("zstd"):
            self.check_same("x.zst", subprocess.run(["zstd", "-c"], input=plain, capture_output=True,
                                                    check=True).stdout)

    def test_comments_and_row_names(self):
        plain = text(self.rows)
        lines = plain.splitlines()
        self.check_same("c.csv", ("# from the lab\n" + plain).encode(), "comments")
        self.check_same("np.txt", ("# " + plain.replace(",", " ")).encode(), "names of its columns")
        named = ['"",' + lines[0]] + ['"car %d",%s' % (i, x) for i, x in enumerate(lines[1:])]
        self.check_same("r.csv", "\n".join(named).encode(), "an index")
        named = [lines[0]] + ['"car %d" %s' % (i, x) for i, x in enumerate(lines[1:])]
        self.check_same("r.txt", "\n".join(named).replace(",", " ").encode(), "an index")
        fa = self.said("fa", self.path("r.txt"), "-k", "1", "--json")[0]
        self.assertEqual(fa.count('"D": 3'), 1)

    def test_signs_and_groups(self):
        rows = self.rows.copy()
        rows[:, 2] *= 1000
        plain = self.write("k.csv", text(rows).encode())
        messy = "a;b;y\n" + "".join("%.3f%%;%.3f EUR;%s\n" % (a, b, "{:,.3f}".format(y)) for a, b, y in rows)
        out = []
        for path in plain, self.write("m.csv", messy.encode()):
            fit = self.path("k.fit")
            notes = self.said("fit", path, "-y", "y", "-o", fit)[1]
            out.append(self.good("predict", "--full", fit, self.new))
        self.assertEqual(out[0], out[1])
        for word in "'%'", "'EUR'", "groups of three":
            self.assertIn(word, notes)

    def test_an_index_beside_a_column_x0_is_left_out_by_every_verb(self):
        rows = ["%d,%.3f,%.3f,%.3f" % (i + 1, *r) for i, r in enumerate(self.rows)]
        path, fit = self.write("index.csv", ("\"\",x0,x1,y\n" + "\n".join(rows) + "\n").encode()), self.path("index.fit")
        self.said("fit", path, "-y", "y", "-o", fit)
        scores = dict(line.split()[:2] for line in self.said("score", fit, path)[0].splitlines())
        self.assertLess(float(scores["rmse"]), 0.5)

    def test_names_that_are_numbers_are_names_when_they_are_quoted(self):
        data = text(self.rows, header='"1940","1945","1950"').encode()
        fit = self.path("years.fit")
        self.said("fit", self.write("years.csv", data), "-y", "1950", "-o", fit)
        new = self.write("years_new.csv", text(self.rows[:5, :2], header='"1940","1945"').encode())
        self.assertEqual(self.good("predict", fit, new, "--full"), self.expected)
        numbers = "\n".join(",".join('"%.3f"' % x for x in row) for row in self.rows) # quotes everywhere say nothing
        self.assertIn('"n": %d' % ROWS, self.said("fa", self.write("quoted.csv", numbers.encode()), "-k", "1", "--json")[0])

    def test_score_leaves_rows_with_gaps_out_and_counts_them(self):
        lines = text(self.rows).splitlines()
        lines[3] = "NA," + lines[3].split(",", 1)[1]
        lines[7] = lines[7].rsplit(",", 1)[0] + ",NA"
        path, whole = self.write("gaps.csv", "\n".join(lines).encode()), [l for l in lines if "NA" not in l]
        fit, rest = self.path("plain.fit"), self.write("whole.csv", "\n".join(whole).encode())
        out = self.said("score", fit, path)[0]
        self.assertIn("2 rows were left out: a value is missing", out)
        self.assertEqual(out.splitlines()[:-1], self.said("score", fit, rest)[0].splitlines())
        self.assertIn('"missing": 2', self.said("score", fit, path, "--json")[0])
        self.bad(1, "fit", path, "-y", "y", says=["missing value"])

    def test_a_table_without_a_whole_row_names_the_column(self):
        holes = "\n".join("%.3f,,%.3f" % (a, y) for a, b, y in self.rows)
        path = self.write("holes.csv", ("a,b,y\n" + holes).encode())
        self.bad(1, "fit", path, "-y", "y", "--missing", "drop", says=["in 120 of them that of 'b'", "--exclude"])
        one = self.write("one.csv", ("a,b,y\n1,2,3\n" + holes).encode())
        self.bad(1, "fit", one, "-y", "y", "--missing", "drop", says=["one row alone is left", "the other 120 rows, in 120 of them that of 'b'"])
        first = "\n".join("%.3f,,%.3f" % tuple(self.rows[0, [0, 2]]) for _ in range(1100))
        late = self.write("late.csv", ("a,b,y\n" + first + "\n" + text(self.rows).split("\n", 1)[1]).encode())
        self.said("fit", late, "-y", "y", "--missing", "drop", "-o", self.path("late.fit"))
        self.assertEqual(self.good("predict", self.path("late.fit"), self.new, "--full"), self.expected)

    def test_words_of_rows_that_are_left_out_are_no_levels(self):
        rows = "\n".join("%.3f,%s,%.3f,%s" % (a, "hp"[i % 2], y, "ab"[i % 2]) for i, (a, _, y) in enumerate(self.rows))
        table = "a,k,y,c\nNA,first,1,c\n%s\nNA,last,2,d\n" % rows
        path = self.write("left.csv", table.encode())
        plain = self.write("plain.csv", table.replace("NA,first,1,c\n", "").replace("NA,last,2,d\n", "").encode())
        for args in (("-f", "y ~ a + k"), ("-f", "c ~ a + k"), ("-f", "y ~ a + k", "-m", "lrvga", "-k", "1", "--scale-rows", "10")):
            one, two = self.path("one.fit"), self.path("two.fit")
            self.said("fit", path, *args, "--missing", "drop", "-o", one)
            self.said("fit", plain, *args, "--missing", "drop", "-o", two)
            self.assertEqual(*([c["name"] for c in self.good_json("info", fit)["coefficients"]] for fit in (one, two)))
            if "lrvga" not in args:  # its units come from the first ten rows, those that are left out counted
                self.assertEqual(self.good("predict", one, self.write("new.csv", b"a,k\n0.5,h\n1,p\n"), "--full"),
                                 self.good("predict", two, self.path("new.csv"), "--full"))

    def test_words_that_name_the_rows_are_no_classes(self):
        rows = "\n".join("%.3f,%.3f,name%d" % (a, b, i) for i, (a, b, _) in enumerate(self.rows))
        path = self.write("names.csv", ("a,b,y\n" + rows).encode())
        self.bad(1, "fit", path, "-y", "y", says=["120 different words in 120 rows"])

    def test_a_wrong_name_is_answered_with_those_that_there_are(self):
        data = self.write("n.csv", b"speed,dist\n1,2\n2,4\n3,5\n")
        self.bad(2, "fit", data, "-y", "Employed", says=["there is no column 'Employed' among its 2: speed, dist"])

    def test_a_header_that_begins_with_a_number_and_dates_that_are_not_there_are_noted(self):
        done = self.run_it("fit", self.write("i.csv", b"150,2,setosa\n" + b"1,2,3\n4,1,5\n2,2,2\n" * 4), "-y", "last")
        self.assertIn(b"line 1 is taken for the names of its columns, though '150' is a number", done.stderr)
        data = self.write("d.csv", b"a,1960,y\n" + b"1,2,3\n4,1,5\n2,2,2\n" * 4)
        self.good("fit", data, "-y", "y")
        done = self.run_it("fit", data, "-y", "y", "--dates", "parts")
        self.assertIn(b"no column holds dates", done.stderr)

    def test_a_rare_none_is_missing_with_both_remedies(self):
        data = self.write("n.csv", b"k,y\n" + b"a,1\nb,2\n" * 9 + b"none,3\n")
        self.bad(1, "fit", data, "-y", "y", says=["'none' is a missing value (--na NA takes it for a word); --missing drop"])
        self.assertEqual(self.good_json("fit", data, "-y", "y", "--na", "NA")["D"], 3)

    def test_missing_values_and_none(self):
        rows = self.rows
        lines = ["a,c,y"] + ["%s,%s,%.3f" % ("-99" if i % 10 == 3 else "%.3f" % a, "None" if b < 0 else "gravel", y)
                             for i, (a, b, y) in enumerate(rows)]
        path, fit = self.write("n.csv", "\n".join(lines).encode()), self.path("n.fit")
        _, notes = self.said("fit", path, "-y", "y", "--missing", "drop", "--na", "-99,NA", "-o", fit)
        self.assertEqual(notes, "")
        self.assertIn("c=None", self.good("info", fit))
        _, notes = self.said("fit", path, "-y", "y", "-o", self.path("m.fit"))
        self.assertIn("'None' is frequent", notes)
        one = self.write("one.csv", b"a,c\n5,None\n6,gravel\n")
        self.assertEqual(len(self.good("predict", "--full", self.path("m.fit"), one).splitlines()), 3)

    def test_dates_are_days_on_request(self):
        days = np.arange(ROWS) * 3
        stamps = np.datetime64("2023-12-30") + days
        lines = ["when,y"] + ["%s,%.3f" % ("%s/%s/%s" % (s[8:10], s[5:7], s[:4]), 2 * d)
                              for s, d in zip(stamps.astype(str), days)]
        path, fit = self.write("d.csv", "\n".join(lines).encode()), self.path("d.fit")
        _, notes = self.said("fit", path, "-y", "y", "--dates", "numbers", "-o", fit)
        self.assertIn("days since 1970-01-01", notes)
        one = self.write("one.csv", b"when\n01/03/2024\n")  # the first of March, as in the file
        mean = float(self.said("predict", "--full", fit, one)[0].splitlines()[1].split(",")[0])
        self.assertAlmostEqual(mean, 2 * (np.datetime64("2024-03-01") - stamps[0]).astype(int), delta=0.05)
        other = self.write("iso.csv", b"when\n2024-03-01\n")
        self.assertAlmostEqual(float(self.said("predict", "--full", fit, other)[0].splitlines()[1].split(",")[0]), mean)


class Folds(Case):
    """Rows of one patient, or of one series, are not to be split."""

    def patients(self):
        r = np.random.default_rng(7)
        who = r.permutation(np.repeat(np.arange(22), 9))
        traits, level = np.round(r.normal(size=(22, 12)), 3), r.normal(size=22)
        lines = ["patient,%s,y" % ",".join("t%d" % i for i in range(12))]
        for p in who: # y belongs to the patient, and no trait says why
            lines.append("P%02d,%s,%.4f" % (p, ",".join(map(str, traits[p])), level[p] + 0.1 * r.normal()))
        return self.write("patients.csv", ("\n".join(lines) + "\n").encode())

    TUNE = ["-m", "ridge", "--alpha=1e-3:1:log", "--trials", 4, "--folds", 5]

    def test_rows_of_a_group_are_left_out_together(self):
        data, q = self.patients(), self.path("q")
        split = self.good_json("tune", data, "-y", "y", "--exclude", "patient", *self.TUNE)["best"]["nll"]
        whole = self.good_json("tune", data, "-y", "y", "--group", "patient", *self.TUNE, "-o", q)["best"]["nll"]
        self.assertGreater(whole, split + 0.3) # new patients are not known
        self.assertNotIn("patient", self.good("info", q))
        self.good("predict", q, data)

    def test_calibration_leaves_whole_groups_out(self):
        data = self.patients()
        for way in (["--group", "patient"], ["--ordered", "--exclude", "patient"]):
            j = self.good_json("fit", data, "-y", "y", "--calibrate", "conformal", *way)
            self.assertEqual(j["calibration"]["rows"] % 9 == 0, way[0] == "--group", j["calibration"])

    def test_in_the_order_of_time_the_past_predicts(self):
        r = np.random.default_rng(3)
        walk, day = np.cumsum(r.normal(size=300)), np.arange(300)
        season = [np.cos(day * np.pi * k / 300) for k in range(1, 30)]
        rows = np.round(np.c_[np.array(season).T, walk], 4)
        data = self.write("walk.csv", text(rows, header=",".join("c%d" % k for k in range(29)) + ",y").encode())
        mixed = self.good_json("tune", data, "-y", "y", *self.TUNE)["best"]["nll"]
        ahead = self.good_json("tune", data, "-y", "y", "--ordered", *self.TUNE)["best"]["nll"]
        self.assertGreater(ahead, mixed + 1)

    def test_a_network_is_chosen_by_groups(self):
        data = self.patients()
        fits = [self.good_json("fit", data, "-y", "y", "--model", "mlp:5", "-m", "map", "--epochs=40",
                               "--noise-floor", "auto", *way)["noise_floor"]
                for way in (["--exclude", "patient"], ["--group", "patient"])]
        self.assertGreater(fits[1], 1.5 * fits[0])

    def test_a_group_that_nothing_asks_for_is_refused(self):
        data = self.patients()
        self.bad(2, "fit", data, "-y", "y", "--group", "patient", says=["leaves no rows out", "groups of rows"])
        self.bad(2, "fit", data, "-y", "y", "--ordered", says=["order of the rows"])
        self.bad(2, "tune", data, "-y", "y", "--group", "patient", "--ordered", says=["not by both"])
        self.bad(2, "tune", data, "-y", "y", "--group", "y", says=["the group is target"])
        self.bad(2, "tune", data, "-y", "y", "--group", "patien", says=["patient"])
        self.bad(1, "tune", data, "-y", "y", "--group", "patient", *self.TUNE, "--folds", 30,
                 says=["22 groups", "30 parts"])


if __name__ == "__main__":
    run(Tables, Folds)
