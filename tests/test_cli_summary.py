#!/usr/bin/env python3
"""test_cli_summary.py - what `fit` and `info` tell a person, from outside: test_cli_summary.py FABAYES [NAME ..].

Numbers are held against least squares and against the likelihoods written out in NumPy."""
# SPDX-License-Identifier: MIT
import math
import os
import pty
import random
import re
import resource
import signal
import subprocess
import time

from cli_case import Case, np, run

VAGUE = ("--alpha=1e-9",)


def table(n=120, seed=3):
    """Columns a, b, place and the targets y, kind, count; row 5 lacks a."""
    r = random.Random(seed)
    lines = ["a,b,place,y,kind,count"]
    for i in range(n):
        a, b, place = r.gauss(3, 2), r.gauss(-1, 0.5), r.choice(["hill", "lake", "port"])
        eta = 0.4 * a - 1.1 * b + {"hill": 0, "lake": 1.5, "port": -0.7}[place]
        y = 10 * eta + r.gauss(0, 4)
        kind = "yes" if r.random() < 1 / (1 + math.exp(2 - eta)) else "no"
        count = sum(r.random() < 0.08 * math.exp(min(eta, 4)) / 2 for _ in range(12))
        lines.append("%s,%.4f,%s,%.4f,%s,%d" % ("NA" if i == 5 else "%.4f" % a, b, place, y, kind, count))
    return "\n".join(lines) + "\n"


class Table(Case):
    def setUp(self):
        super().setUp()
        text = table()
        self.data = self.write("t.csv", text.encode())
        self.file = self.path("m.fit")
        rows = [line.split(",") for line in text.splitlines()[1:] if not line.startswith("NA")]
        self.X = np.array([[float(r[0]), float(r[1]), r[2] == "lake", r[2] == "port", 1.0] for r in rows])
        self.y = np.array([float(r[3]) for r in rows])
        self.kind = np.array([r[4] == "yes" for r in rows], dtype=float)
        self.count = np.array([float(r[5]) for r in rows])

    def fit(self, target, *args):
        return self.good("fit", self.data, "-y", target, "--only", "a,b,place", "--missing", "drop", "-o", self.file, *args)


class Summary(Table):
    """What `fit` and `info` say."""

    def effects(self, text):
        """{name: (mean, sd, lower, upper)} of the printed table."""
        found = {}
        for line in text.splitlines():
            words = line.split()
            if len(words) == 6 and words[4] == "to":
                found[words[0]] = tuple(float(words[i]) for i in (1, 2, 3, 5))
        return found

    def test_a_gaussian_fit_prints_what_least_squares_says(self):
        text = self.fit("y", *VAGUE)
        beta = np.linalg.lstsq(self.X, self.y, rcond=None)[0]
        errors = self.y - self.X @ beta
        r2 = 1 - errors @ errors / np.sum((self.y - self.y.mean()) ** 2)
        sigma = math.sqrt(errors @ errors / len(self.y))
        cov = np.linalg.inv(self.X.T @ self.X)
        shown = self.effects(text)
        self.assertEqual(list(shown), ["a", "b", "place=lake", "place=port", "intercept"])
        noise = float(re.search(r"noise +([\d.]+)", text).group(1))
        self.assertAlmostEqual(noise / sigma, 1, delta=0.03)  # beta may allow for the coefficients
        for i, name in enumerate(shown):
            mean, sd, lower, upper = shown[name]
            self.assertAlmostEqual(mean, beta[i], delta=0.02 * sd + 0.06 * abs(sd))
            self.assertAlmostEqual(sd / (noise * math.sqrt(cov[i, i])), 1, delta=0.05)
            self.assertAlmostEqual(lower, mean - 1.645 * sd, delta=0.06 * sd)
            self.assertAlmostEqual(upper, mean + 1.645 * sd, delta=0.06 * sd)
        self.assertIn("R^2            %.4f " % r2, text)
        self.assertIn("levels against place=hill", text)
        self.assertIn("1 rows were left out", text)
        self.assertIn("chosen for you likelihood gaussian, by the values of 'y'; method exact\n", text)  # alpha was given
        self.assertIn("fabayes predict %s NEW_DATA" % self.file, text)

    def test_info_says_the_same_as_fit(self):
        for target, more in (("y", ()), ("kind", ()), ("count", ("--likelihood", "poisson"))):
            with self.subTest(target=target):
                tail = self.fit(target, *more).split("\neffects ")[1]
                info = self.good("info", self.file)
                self.assertEqual(info.split("\neffects ")[1], tail)
                self.assertIn("left out       1 rows", info)

    def test_two_classes_have_a_share_of_deviance_and_an_accuracy(self):
        told = self.good_json("fit", self.data, "-y", "kind", "--only", "a,b,place", "--missing", "drop", "-m", "laplace", "-o",
                              self.file, *VAGUE)
        means = {c["name"]: c["mean"] for c in self.good_json("info", self.file, "--reference", "place=hill")["coefficients"]}
        eta = self.X @ [means[n] for n in ("a", "b", "place=lake", "place=port", "intercept")]
        loglik = np.sum(self.kind * eta - np.log1p(np.exp(eta)))
        p = self.kind.mean()
        none = len(eta) * (p * math.log(p) + (1 - p) * math.log(1 - p))
        self.assertAlmostEqual(told["deviance_explained"], 1 - loglik / none, places=7)
        self.assertAlmostEqual(told["accuracy"], np.mean((eta > 0) == self.kind), places=12)
        text = self.good("info", self.file)
        self.assertIn("accuracy       %.1f %% of the rows" % (100 * told["accuracy"]), text)
        self.assertIn("alone has %.1f %%" % (100 * max(p, 1 - p)), text)
        self.assertIn("log odds of 'yes'", text)

    def test_counts_have_the_deviance_of_poisson(self):
        told = self.good_json("fit", self.data, "-y", "count", "--only", "a,b,place", "--missing", "drop", "--likelihood",
                              "poisson", "-o", self.file, *VAGUE)
        means = {c["name"]: c["mean"] for c in self.good_json("info", self.file, "--reference", "place=hill")["coefficients"]}
        rate = np.exp(self.X @ [means[n] for n in ("a", "b", "place=lake", "place=port", "intercept")])

        def deviance(mean):
            logs = np.where(self.count > 0, np.log(np.maximum(self.count, 1) / mean), 0)
            return 2 * np.sum(self.count * logs - (self.count - mean))

        self.assertAlmostEqual(told["deviance_explained"], 1 - deviance(rate) / deviance(np.full(len(rate), self.count.mean())),
                               places=7)

    def test_an_offset_belongs_to_the_constant(self):
        n = 80
        days = np.arange(1, n + 1) % 9 + 1.0
        y = np.array([int(d * 2 + (i * 7) % 3) for i, d in enumerate(days)], dtype=float)
        x = np.array([(i * 13) % 11 for i in range(n)], dtype=float)
        data = self.write("o.csv", ("x,days,y\n" + "".join("%g,%g,%g\n" % t for t in zip(x, days, y))).encode())
        told = self.good_json("fit", data, "-y", "y", "--only", "x", "--offset", "log:days", "--likelihood", "poisson", "-o",
                              self.file, *VAGUE)
        b = {c["name"]: c["mean"] for c in self.good_json("info", self.file)["coefficients"]}

        def deviance(mean):
            return 2 * np.sum(y * np.log(y / mean) - (y - mean))

        rate, none = days * np.exp(b["x"] * x + b["intercept"]), days * y.sum() / days.sum()
        self.assertAlmostEqual(told["deviance_explained"], 1 - deviance(rate) / deviance(none), places=7)

    def test_of_many_coefficients_the_strongest_are_shown(self):
        r = random.Random(1)
        rows = []
        for _ in range(300):
            x = [r.gauss(0, 1) for _ in range(60)]
            rows.append(x + [5 * x[57] - 4 * x[3] + r.gauss(0, 1)])
        head = ",".join("x%d" % i for i in range(60)) + ",y\n"
        data = self.write("w.csv", (head + "".join(",".join("%.5f" % v for v in row) + "\n" for row in rows)).encode())
        text = self.good("fit", data, "-y", "y", "-o", self.file)
        shown = list(self.effects(text))
        self.assertEqual(shown[:2], ["x57", "x3"])
        self.assertEqual(len(shown), 40)
        self.assertIn("the 40 strongest (|mean| / sd) of 61; `fabayes info FILE --json` shows all", text)
        self.assertEqual(len(self.good_json("info", self.file)["coefficients"]), 61)

    def test_names_and_levels_that_break_a_line_are_escaped(self):
        words = ['"one\ntwo"', '"three\tx"', "four"]
        rows = "".join("%d,%s,%d\n" % (i * i % 7, words[i % 3], i % 5 + i % 3) for i in range(30))
        told = self.good("fit", self.write("l.csv", ('"a\nb",k,"t\nu"\n' + rows).encode()), "-y", "t\nu")
        for part in ("exact of 't\\nu'", "\na\\nb   ", "\nk=one\\ntwo  ", "\nk=three\\tx  ", "k: four, one\\ntwo, three\\tx\n"):
            self.assertIn(part, told)
        self.bad(1, "fit", self.write("m.csv", ('a,"b\nc",y\n' + "1,,2\n" * 9 + "1,1,2\n").encode()), "-y", "y")

    def test_exact_data_have_digits_that_a_person_can_read(self):
        rows = "".join("%d,%.6f,%.9f\n" % (i, i * i % 7 / 3, 1.1 + 2 * i - i * i % 7 / 3) for i in range(60))
        data = self.write("e.csv", ("x,z,y\n" + rows).encode())
        for alpha in ([], ["--alpha=1e-9"], ["--alpha=1e-9", "--beta=1e15"]):
            told = self.good("fit", data, "-y", "y", "-m", "exact", "-o", self.path("m"), *alpha)
            told += self.good("predict", self.path("m"), data)
            self.assertLessEqual(max(len(n.replace(".", "").lstrip("0")) for n in re.findall(r"\d+\.\d+", told)), 10, told)

    def test_quiet_says_nothing_and_without_a_file_the_next_step_is_to_save(self):
        self.assertEqual(self.fit("y", "--quiet"), "")
        self.assertIn("-o FILE saves the fit", self.good("fit", self.data, "-y", "y", "--only", "b"))

    def test_a_column_of_frequencies_is_remarked_until_it_is_a_weight(self):
        rows = "".join("%s,%s,%d\n" % (a, b, n) for a, b, n in (("in", "m", 51), ("out", "m", 31), ("in", "f", 9), ("out", "f", 19)))
        for name, found in (("Freq", True), ("frequency", True), ("freqs", False)):
            data = self.write("cells.csv", ("admit,sex,%s\n%s" % (name, rows)).encode())
            self.assertEqual("say --weight %s\n" % name in self.good("fit", data, "-y", "admit"), found)
            self.assertNotIn("say --weight", self.good("fit", data, "-y", "admit", "--weight", name))

    def test_fit_shows_levels_against_the_reference_that_it_is_given(self):
        shown = lambda told: told[told.index("effects on"):told.index("next")]
        for reference in ("place=lake", "none"):
            told = self.fit("y", "--reference", reference)
            self.assertEqual(shown(told), shown(self.good("info", self.file, "--reference", reference)))
        call = ["fit", self.data, "-y", "y", "--only", "a,b,place", "--missing", "drop"]
        self.bad(2, *call, "--reference", "place=hill", "--json", says=["info --json --reference"])
        self.bad(2, *call, "--reference", "place=hill", "--model", "mlp:3", says=["linear model"])

    def test_a_reference_that_is_not_there_is_refused_before_anything_is_fitted_or_saved(self):
        new = os.path.join(self.folder, "new.st")
        for method in ("exact", "lrvga"):
            call = ["fit", self.data, "-y", "y", "--only", "a,b,place", "--missing", "drop", "-m", method, "-o", new] + ["-k", "2"] * (method == "lrvga")
            for reference, says in (("place=hil", "did you mean 'hill'?"), ("town=hill", "there is no such column"), ("a=1", "has numbers"), ("place", "column=level"),
                                    ("place=lake,town=hill", "there is no such column")):
                self.bad(2, *call, "--reference", reference, says=[says])
                self.assertFalse(os.path.exists(new), reference)
            self.bad(2, *call, "--no-intercept", "--reference", "place=lake", says=["no intercept"])
            self.assertFalse(os.path.exists(new))

    def test_reference_none_shows_the_coefficients_as_they_are(self):
        self.fit("y")
        self.assertIn("place=hill", self.good("info", self.file, "--reference", "none"))


class Predictions(Table):
    """What `predict` and `sample` write."""

    def rows(self, *args):
        done = self.run_it("predict", self.file, self.data, *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [line.split(",") for line in done.stdout.decode().splitlines()]

    def test_numbers_have_the_digits_that_their_sd_warrants(self):
        self.fit("y")
        short, full = self.rows(), self.rows("--full")
        self.assertEqual(short[0], ["mean", "sd", "lower", "upper"])
        for a, b in zip(short[1:], full[1:]):
            if a[0] == "NA":
                self.assertEqual(a, b)
                continue
            unit = 10 ** (math.floor(math.log10(float(b[1]))) - 2)
            for x, y in zip(a, b):
                self.assertLessEqual(abs(float(x) - float(y)), 0.5001 * unit)
                self.assertLessEqual(len(x.replace("-", "").replace(".", "")), 6)
        self.assertGreater(len(full[1][0]), 12)

    def test_bounds_of_counts_are_whole(self):
        self.fit("count", "--likelihood", "poisson")
        for row in self.rows()[1:]:
            self.assertTrue(row[0] == "NA" or (row[2].isdigit() and row[3].isdigit()), row)

    def test_intervals_have_the_level_that_is_asked_for(self):
        self.fit("y")
        for level, z in ((0.5, 0.6744897501960817), (0.95, 1.959963984540054)):
            for row in self.rows("--full", "--level", level)[1:]:
                if row[0] != "NA":
                    mean, sd, lower, upper = map(float, row)
                    self.assertAlmostEqual(lower, mean - z * sd, delta=1e-9 * (abs(mean) + sd))
                    self.assertAlmostEqual(upper, mean + z * sd, delta=1e-9 * (abs(mean) + sd))
        self.assertEqual(self.rows("--level", "0.9"), self.rows())
        self.bad(2, "predict", self.file, self.data, "--level", "95", says=["level = 95"])

    def test_levels_of_counts_are_quantiles_of_the_predictive_distribution(self):
        self.fit("count", "--likelihood", "poisson")
        wide, usual = self.rows("--level", "0.999")[1:], self.rows()[1:]
        self.assertTrue(all(float(w[3]) > float(u[3]) for w, u in zip(wide, usual) if w[0] != "NA"))

    def test_classes_and_calibrated_fits_refuse_a_level_they_do_not_have(self):
        self.fit("kind")
        self.bad(2, "predict", self.file, self.data, "--level", "0.5", says=["classes"])
        self.fit("y", "--calibrate", "conformal")
        self.bad(2, "predict", self.file, self.data, "--level", "0.8", says=["50, 90 and 95 %"])
        a, b = self.rows("--full", "--level", "0.5")[1], self.rows("--full")[1]
        self.assertLess(float(a[3]) - float(a[2]), float(b[3]) - float(b[2]))

    def test_the_most_probable_class_is_a_column(self):
        self.fit("kind")
        rows = self.rows()
        self.assertEqual(rows[0], ["class", "p_no", "p_yes"])
        for row in rows[1:]:
            self.assertEqual(row[0], "NA" if row[1] == "NA" else "yes" if float(row[2]) > 0.5 else "no")

    def test_columns_of_the_data_go_with_the_predictions(self):
        self.fit("y")
        plain, kept = self.rows(), self.rows("--keep", "place,0,kind")
        self.assertEqual(kept[0], ["place", "a", "kind", "mean", "sd", "lower", "upper"])
        cells = [line.split(",") for line in table().splitlines()[1:]]
        for row, of, cell in zip(kept[1:], plain[1:], cells):
            self.assertEqual(row[3:], of)
            self.assertEqual((row[0], row[2]), (cell[2], cell[4]))
            self.assertEqual(row[1] if row[1] == "NA" else float(row[1]), cell[0] if cell[0] == "NA" else float(cell[0]))
        self.assertEqual(self.rows("--all")[0], ["a", "b", "place", "y", "kind", "count", "mean", "sd", "lower", "upper"])
        some = self.write("rows.txt", b"3\n7\n")
        self.assertEqual([r[0] for r in self.rows("--keep", "b", "--rows", some)[1:]],
                         ["%g" % float(cells[3][1]), "%g" % float(cells[7][1])])
        self.bad(2, "predict", self.file, self.data, "--keep", "plaec", says=["'plaec'", "did you mean 'place'?"])
        self.bad(2, "predict", self.file, "-", "--all", says=["standard input"])
        self.bad(2, "predict", self.file, self.data, "--all", "--keep", "a", says=["--all"])

    def test_names_with_commas_and_row_names_survive(self):
        text = '"","x","what, now","y"\n' + "".join('"car %d","%d","a, b","%g"\n' % (i, i, 2 * i + (i * 7) % 3) for i in range(12))
        data = self.write("r.csv", text.encode())
        self.run_it("fit", data, "-y", "y", "--only", "x", "-o", self.file)
        done = self.run_it("predict", self.file, data, "--all", "--quiet")
        lines = done.stdout.decode().splitlines()
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('x,"what, now",y,mean,sd,lower,upper', lines[0])
        self.assertIn('car 3,3,"a, b"', lines[4])

    def test_draws_have_the_names_of_the_coefficients(self):
        self.fit("y")
        self.assertEqual(self.good("sample", self.file, "-n", 2).splitlines()[0], "a,b,place=hill,place=lake,place=port,intercept")
        self.fit("place", "--only", "a,b")
        self.assertEqual(self.good("sample", self.file, "-n", 1).splitlines()[0].split(",")[:4],
                         ["hill:a", "hill:b", "hill:intercept", "lake:a"])


class Manners(Table):
    """Stops, and what is said of wrong calls."""

    def test_a_stop_is_heard_with_and_without_checkpoints(self):
        for checkpoint in ((), ("--checkpoint", "1")):
            for sign in (signal.SIGINT, signal.SIGTERM):
                with self.subTest(checkpoint=checkpoint, sign=sign):
                    file = self.path("n%d.fit" % sign) if checkpoint else self.path("never.fit")
                    call = [self.program, "fit", self.data, "-y", "y", "--only", "b,place", "--model", "mlp:20", "-m", "map",
                            "--epochs=1000000", "--threads", "1", "-o", file, *checkpoint]
                    going = subprocess.Popen(call, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                    for _ in range(500):
                        if os.path.exists(file) or (not checkpoint and _ > 40):
                            break
                        time.sleep(0.02)
                    going.send_signal(sign)
                    _, err = going.communicate(timeout=60)
                    self.assertEqual(going.returncode, 1, err)
                    self.assertIn(b"stopped", err)
                    self.assertEqual(os.path.exists(file), bool(checkpoint))

    def test_a_folder_that_is_not_there_is_refused_before_anything_is_read(self):
        nowhere = self.path("no/m.fit")
        for verb in ("fit", "tune"):
            self.bad(1, verb, self.path("none.csv"), "-y", "y", "-o", nowhere, says=["no/m.fit", "folder"])
        self.bad(2, "fit", self.path("none.csv"), "-y", "y", "-m", "exakt", says=["did you mean 'exact'?"])
        self.bad(2, "fit", self.path("none.csv"), "-y", "y", "--checkpoint", "3", says=["-o FILE"])

    def test_swapped_arguments_are_recognised(self):
        self.fit("y")
        for verb in ("predict", "score"):
            self.bad(2, verb, self.data, self.file, says=["the fit comes first"])
        self.bad(2, "fit", "y", self.data, says=["-y TARGET"])
        self.bad(1, "predict", self.data, self.data, says=["safetensors"])

    def test_a_full_disk_is_said(self):
        def small():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        self.fit("y")
        out = self.path("p.csv")
        done = self.run_it("predict", self.file, self.data, "--all", "--full", "-o", out, "--quiet", preexec_fn=small)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"p.csv: cannot be written: File too large", done.stderr)
        self.assertFalse(os.path.exists(out))

    def test_a_missing_value_of_an_array_has_its_remedy(self):
        X = np.arange(60.0).reshape(20, 3) % 7
        X[2, 1] = np.nan
        np.save(self.path("x.npy"), X)
        self.bad(1, "fit", self.path("x.npy"), "-y", "last", says=["row 2, column 1 (from 0) is NaN", "--missing drop"])
        self.bad(1, "fa", self.path("x.npy"), "-k", "1", says=["row 2, column 1 (from 0) is NaN", "--missing drop"])

    def test_the_bar_of_a_search_counts_all_of_its_work(self):
        """One bar that never falls, for all candidates, or all trials and folds."""
        for verb, args, label in (("fit", ("--model", "auto", "--effort", "quick"), "models"),
                                  ("tune", ("-m", "sgd", "--model", "mlp:30", "--epochs=200", "--trials", "6", "--folds", "3",
                                            "--alpha=0.1:10:log"), "tune")):
            seen = self.on_a_terminal(verb, *args)
            shares = [int(share) for share in re.findall(label + r" \[[#.]+\] +(\d+) %", seen)]
            self.assertGreater(len(shares), 0, seen)
            self.assertEqual(shares, sorted(shares))
            self.assertLessEqual(shares[-1], 100)
            self.assertNotIn("rows left out [", seen)
            self.assertNotIn(" 0/s", seen)  # no rate yet is no rate

    def test_the_rate_of_a_new_piece_of_work_is_not_negative(self):
        seen = self.on_a_terminal("fit", "--model", "mlp:30", "--epochs=1500")  # over a second: a short fit has no rate yet
        self.assertIn("/s", seen)
        self.assertNotRegex(seen, r"-[\d.]+[kMGT]?/s")

    def on_a_terminal(self, verb, *args):
        """What the call shows there."""
        leader, follower = pty.openpty()
        with open(self.path("w.csv"), "w", encoding="ascii") as f:
            r = random.Random(2)
            f.write("a,b,y\n" + "".join("%g,%g,%g\n" % (a, b, a * b) for a, b in
                                        ((r.gauss(0, 1), r.gauss(0, 1)) for _ in range(600))))
        going = subprocess.Popen([self.program, verb, self.path("w.csv"), "-y", "y", *args, "--threads", "1"],
                                 stdout=subprocess.DEVNULL, stderr=follower)
        os.close(follower)
        seen = b""
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        os.close(leader)
        self.assertEqual(going.wait(timeout=60), 0)
        return seen.decode()


if __name__ == "__main__":
    run(Summary, Predictions, Manners)
