"""test_cli_formula.py PROGRAM - formulas, chosen columns, references, and predictions of every row."""
# SPDX-License-Identifier: MIT
import datetime
import json
from cli_case import Case, np, run

VAGUE = ("--alpha=1e-9", "--intercept_alpha=1e-9")


def table(n=120, seed=3):
    """Rows of houses: numbers, words, numbers that are levels, an index."""
    r = np.random.default_rng(seed)
    area, age, rooms = r.uniform(40, 200, n), r.integers(1, 90, n), r.integers(1, 6, n)
    k = np.array(["hill", "port", "town"])[np.r_[0:3, r.integers(0, 3, n - 3)]]
    price = 50 + 2.5 * area - 12 * np.log(age) + 30 * (k == "hill") + .3 * area * (k == "port") + 9 * rooms
    return area, age, rooms, k, np.round(price + r.normal(0, 8, n), 3)


def text(columns, names):
    lines = [",".join(names)] + [",".join(str(v) for v in row) for row in zip(*columns)]
    return ("\n".join(lines) + "\n").encode()


class Formula(Case):
    def setUp(self):
        super().setUp()
        self.area, self.age, self.rooms, self.k, self.price = self.columns = table()
        self.names = ["area", "age", "rooms", "district", "price"]
        self.data = self.write("h.csv", text(self.columns, self.names))

    def coefficients(self, *args):
        told = self.good_json("info", self.path("m"), *args)["coefficients"]
        return {c["name"]: (c["mean"], c["sd"]) for c in told}

    def test_a_vague_prior_gives_least_squares(self):
        self.good("fit", self.data, "-f", "price ~ log(age) + I(area / rooms) + area:rooms", *VAGUE, "-o", self.path("m"))
        X = np.c_[np.log(self.age), self.area / self.rooms, self.area * self.rooms, np.ones(120)]
        want = np.linalg.lstsq(X, self.price, rcond=None)[0]
        got = self.coefficients()
        self.assertEqual(list(got), ["log(age)", "I(area / rooms)", "area:rooms", "intercept"])
        np.testing.assert_allclose([m for m, _ in got.values()], want, rtol=1e-7)

    def test_references_are_treatment_contrasts(self):
        """Means and deviations of ordinary least squares with the column of the reference left out."""
        self.good("fit", self.data, "-f", "price ~ area * district + log(age)", *VAGUE, "-o", self.path("m"))
        got = self.coefficients("--reference", "district=hill")
        one = np.ones(120)
        p, t = self.k == "port", self.k == "town"
        X = np.c_[self.area, p, t, np.log(self.age), self.area * p, self.area * t, one]
        names = ["area", "district=port", "district=town", "log(age)", "area:district=port", "area:district=town", "intercept"]
        want = np.linalg.lstsq(X, self.price, rcond=None)[0]
        noise = np.sum((self.price - X @ want) ** 2) / (120 - 7)
        self.assertEqual(list(got), names)
        np.testing.assert_allclose([got[n][0] for n in names], want, rtol=1e-5)
        sd = np.sqrt(noise * np.diag(np.linalg.inv(X.T @ X)))
        np.testing.assert_allclose([got[n][1] for n in names], sd, rtol=2e-3)  # beta is found by the evidence
        said = self.good("info", self.path("m"), "--reference", "district=hill")
        self.assertIn("against district=hill", said)
        self.assertNotIn("district=hill ", said)
        self.bad(2, "info", self.path("m"), "--reference", "district=hil", says=["did you mean 'hill'?"])
        self.bad(2, "info", self.path("m"), "--reference", "area=3", says=["has numbers"])

    def test_two_references_are_those_of_R(self):
        """Two columns of levels and their product, against a level in the middle and one at the end."""
        r = self.rooms % 3
        data = self.write("two.csv", text([r, self.k, self.price], ["r", "k", "price"]))
        self.good("fit", data, "-f", "price ~ C(r) * k", *VAGUE, "-o", self.path("m"))
        got = self.coefficients("--reference", "k=town,r=1")
        names = ["C(r)=0", "C(r)=2", "k=hill", "k=port"]
        X = [r == 0, r == 2, self.k == "hill", self.k == "port"]
        for j in (2, 3):
            for i in (0, 1):
                names.append(names[i] + ":" + names[j])
                X.append(X[i] & X[j])
        X = np.array(X + [np.ones(120)], dtype=float).T
        self.assertEqual(list(got), names + ["intercept"])
        np.testing.assert_allclose([m for m, _ in got.values()], np.linalg.lstsq(X, self.price, rcond=None)[0],
                                   rtol=1e-5, atol=1e-4)

    def test_references_do_not_move_predictions(self):
        """The difference of two levels at one area is what two predictions differ by."""
        self.good("fit", self.data, "-f", "price ~ area * district", "-o", self.path("m"))
        c = self.coefficients("--reference", "district=town")
        new = self.write("new.csv", b"district,area\nport,70\ntown,70\n")
        rows = [float(line.split(",")[0]) for line in self.good("predict", "--full", self.path("m"), new).splitlines()[1:]]
        self.assertAlmostEqual(rows[0] - rows[1], c["district=port"][0] + 70 * c["area:district=port"][0], places=7)

    def test_a_formula_is_that_of_columns_made_by_hand(self):
        made = self.write("made.csv", text([np.log(self.age), self.rooms, self.k, self.area * self.rooms, self.price],
                                           ["la", "r", "district", "ar", "price"]))
        for more in ((), ("-m", "lrvga", "-k", "3"), ("--model", "mlp:4", "-m", "laplace", "--epochs=5")):
            self.good("fit", made, "-y", "price", "--categorical", "r", *more, "-o", self.path("by_hand"))
            self.good("fit", self.data, "-f", "price ~ log(age) + area:rooms + C(rooms) + district", *more, "-o", self.path("m"))
            told = [self.good("score", self.path("by_hand"), made), self.good("score", self.path("m"), self.data)]
            a, b = [[float(w) for w in t.split() if w.replace(".", "").replace("-", "").isdigit()] for t in told]
            np.testing.assert_allclose(a, b, rtol=1e-5)  # logarithms of two libraries, and six digits

    def test_a_stream_goes_on_with_its_formula(self):
        half = [c[:60] for c in self.columns], [c[60:] for c in self.columns]
        first, second = (self.write(n, text(h, self.names)) for n, h in zip(("1.csv", "2.csv"), half))
        f = ("-f", "price ~ poly(area, 2) + C(rooms) + district", "-m", "lrvga", "-k", "3", "--scale-rows", "60")
        self.good("fit", first, *f, "-o", self.path("m"))
        self.good("update", self.path("m"), second)
        self.good("fit", self.data, *f, "-o", self.path("whole"))
        self.assertEqual(self.good("predict", "--full", self.path("m"), self.data), self.good("predict", "--full", self.path("whole"), self.data))

    def test_a_fit_goes_on_with_its_own_formula_alone(self):
        stream = ("-m", "lrvga", "-k", "2", "--checkpoint", "50", "-o", self.path("m"))
        self.good("fit", self.data, "-f", "price ~ age", *stream)
        self.bad(1, "fit", self.data, "-f", "price ~ log(age)", *stream, "--resume", says=["formula age", "log(age)"])
        self.bad(1, "fit", self.data, "-y", "price", "--only", "age", *stream, "--resume", says=["formula age", "none"])
        self.good("fit", self.data, "-y", "price", "--only", "age", *stream)
        self.bad(1, "fit", self.data, "-y", "price", "--only", "area", *stream, "--resume", says=["other columns"])
        self.good("fit", self.data, "-y", "price", "--only", "age", *stream, "--resume")
        self.bad(2, "fit", self.data, "-f", "price ~ log(age)", "--prior", self.path("m"), says=["log(age)"])

    def test_folds_take_the_formula(self):
        told = self.good_json("tune", self.data, "-f", "price ~ poly(area, 2) + district:area + log(age)", "--folds", "3",
                              "--trials", "2", "--alpha=1e-3:1")
        self.assertTrue(told)

    def test_counts_have_an_offset_and_no_intercept(self):
        data = self.write("c.csv", text([self.rooms, self.area, self.k, self.age], ["n", "exposure", "k", "age"]))
        self.good("fit", data, "-f", "n ~ 0 + k + age + offset(log(exposure))", "--likelihood", "poisson", "-o", self.path("m"))
        self.good("fit", data, "-y", "n", "--offset", "log:exposure", "--likelihood", "poisson", "--no-intercept",
                  "--only", "k,age", "-o", self.path("same"))
        self.assertEqual(self.good("predict", "--full", self.path("m"), data), self.good("predict", "--full", self.path("same"), data))
        self.assertNotIn("intercept", self.coefficients())

    def test_wrong_formulas_say_where(self):
        self.bad(2, "fit", self.data, "-f", "price ~ aera", says=["character 9", "did you mean 'area'?"])
        self.bad(2, "fit", self.data, "-f", "price ~ area +", says=["ends where"])
        self.bad(2, "fit", self.data, "-f", "price ~ area", "-y", "age", says=["explains 'price'", "'age'"])
        self.bad(2, "fit", self.data, "-f", "prise ~ area", says=["did you mean 'price'?"])
        self.bad(2, "fit", self.data, "-f", "price ~ area - 1", "--model", "mlp:4", says=["biases"])
        self.bad(1, "fit", self.data, "-f", "price ~ log(district)", says=["holds words"])
        self.bad(1, "fit", self.data, "-f", "price ~ log(rooms - 5)", says=["row", "'rooms'"])

    def test_formulas_have_an_end(self):
        many = "+".join("I(age * %d)" % i for i in range(2, 22))
        self.bad(2, "fit", self.data, "-f", "price ~ (%s)^8" % many, says=["makes more than 100000 terms"])
        self.bad(2, "fit", self.data, "-f", "price ~ poly(area, 45)", says=["expected a degree from 1 to 20"])
        wide = self.write("wide.csv", text([np.arange(600), np.arange(600) // 2, np.arange(600) % 40, np.ones(600)], "abcy"))
        self.bad(1, "fit", wide, "-f", "y ~ C(a):C(b):C(c)", says=["the term with C(c) makes more than 1000000 features"])
        far = self.write("far.csv", text([[1e200, 2e200, 3e100], [1, 2, 1]], "ay"))
        self.bad(1, "fit", far, "-f", "y ~ a:I(a * 3)", says=["row 0 (from 0): the term with a is too large for a double"])
        self.bad(1, "fit", far, "-f", "y ~ poly(a, 2)", says=["power 1 of these numbers is too large or too small"])
        self.bad(2, "fit", self.data, "-y", "price", "--features", 2 ** 31, says=["2147483648 features is above 2147483647"])


class Dates(Case):
    """Parts of dates, held against the datetime of Python, and some values against those that pandas gives."""
    PARTS = {"year": lambda t: t.year, "quarter": lambda t: (t.month + 2) // 3, "month": lambda t: t.month,
             "day": lambda t: t.day, "yearday": lambda t: t.timetuple().tm_yday, "weekday": lambda t: t.weekday(),
             "hour": lambda t: t.hour}

    def setUp(self):
        super().setUp()
        r = np.random.default_rng(4)
        first = datetime.datetime(1896, 1, 1)
        self.when = [first + datetime.timedelta(seconds=int(s)) for s in r.integers(0, 210 * 365 * 86400, 150)]
        self.when += [datetime.datetime(*t) for t in ((2000, 2, 29), (1900, 3, 1), (1969, 12, 31, 23, 59, 59), (1970, 1, 1),
                                                      (2024, 12, 31, 13), (1600, 2, 29, 6), (2100, 2, 28), (2100, 3, 1))]
        self.a = r.normal(size=len(self.when))
        self.y = r.normal(size=len(self.when)) + np.array([t.month for t in self.when])
        self.data = self.write("d.csv", text([[t.isoformat(" ") for t in self.when], self.a, self.y], ["when", "a", "y"]))

    def same(self, parted, data):
        """Predictions of the fit from the columns of `parted` are those of the fit of the formula from dates."""
        self.assertEqual(self.run_it("predict", "--full", self.path("f"), self.data).stdout.decode(),
                         self.good("predict", "--full", parted, data))

    def test_parts_are_those_of_the_calendar(self):
        columns = [[of(t) for t in self.when] for of in self.PARTS.values()]
        data = self.write("p.csv", text(columns + [self.a, self.y], list(self.PARTS) + ["a", "y"]))
        formula = "y ~ " + " + ".join("%s(when)" % part for part in self.PARTS) + " + log(year(when)) + a"
        told = self.run_it("fit", self.data, "-f", formula, "-o", self.path("f"))
        self.assertEqual(told.returncode, 0, told.stderr)
        self.good("fit", data, "-f", "y ~ " + " + ".join(self.PARTS) + " + log(year) + a", "-o", self.path("p"))
        self.same(self.path("p"), data)

    def test_parts_that_pandas_gives(self):
        # pandas.Timestamp(t): year, quarter, month, day, day_of_year, day_of_week, hour
        known = {"1969-12-31 23:59:59": (1969, 4, 12, 31, 365, 2, 23), "2000-02-29": (2000, 1, 2, 29, 60, 1, 0),
                 "2024-12-31T13:00": (2024, 4, 12, 31, 366, 1, 13), "1900-03-01": (1900, 1, 3, 1, 60, 3, 0)}
        for part, at in zip(self.PARTS, range(7)):
            rows = [(t, v[at]) for t, v in known.items() for _ in range(5)]
            data = self.write("k.csv", text([[t for t, _ in rows], [v for _, v in rows]], ["when", "y"]))
            self.run_it("fit", data, "-f", "~ I(%s(when))" % part, "-y", "y", "-o", self.path("f"), "-m", "ridge",
                        "--likelihood", "gaussian", "--alpha=1e-12", "--beta=1")
            got = self.run_it("predict", self.path("f"), data, "--full").stdout.decode().split("\n")[1:-1]
            np.testing.assert_allclose([float(line.split(",")[0]) for line in got], [v for _, v in rows], rtol=0, atol=1e-6)

    def test_levels_of_a_part_are_features(self):
        words = [["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"][t.month - 1]
                 for t in self.when]
        told = json.loads(self.run_it("fit", self.data, "-f", "y ~ a * C(month(when))", "-o", self.path("f"), "--json").stdout)
        self.assertEqual(told["D"], 1 + 12 + 12)
        names = [c["name"] for c in self.good_json("info", self.path("f"))["coefficients"]]
        self.assertIn("C(month(when))=Jan", names)
        self.assertIn("a:C(month(when))=Dec", names)
        data = self.write("p.csv", text([words, self.a, self.y], ["m", "a", "y"]))
        self.good("fit", data, "-f", "y ~ a * m", "-o", self.path("p"))
        a = [self.run_it("predict", self.path(f), d).stdout for f, d in (("f", self.data), ("p", data))]
        a = [np.array([line.split(b",") for line in t.split(b"\n")[1:-1]], float) for t in a]
        np.testing.assert_allclose(a[0], a[1], rtol=1e-3, atol=1e-3)

    def test_dates_as_parts_is_that_formula(self):
        for args, formula in ((["--dates", "parts"], "y ~ . - when + year(when) + C(month(when)) + C(weekday(when)) + C(hour(when))"),):
            done = self.run_it("fit", self.data, "-y", "y", "-o", self.path("f"), *args)
            self.assertIn(b"dates are read as their parts", done.stderr)
            self.run_it("fit", self.data, "-f", formula, "-o", self.path("p"))
            one, two = (self.good_json("info", self.path(f))["coefficients"] for f in "fp")
            self.assertEqual(one, two)
        self.assertEqual(len(one), 1 + 1 + 12 + 7 + 24 + 1)
        days = self.write("e.csv", text([[t.date().isoformat() for t in self.when], self.a, self.y], ["my date", "a", "y"]))
        self.run_it("fit", days, "-y", "y", "-o", self.path("f"), "--dates", "parts")
        self.assertEqual(len(self.good_json("info", self.path("f"))["coefficients"]), 1 + 1 + 12 + 7 + 1)
        # the fit knows what its dates are: a gap is NA, and no option is needed
        gap = self.write("g.csv", b"my date,a\n2024-02-03,1\n,1\n")
        self.assertEqual(self.run_it("predict", self.path("f"), gap).stdout.split(b"\n")[2], b"NA,NA,NA,NA")
        either = self.write("h.csv", text([["01/02/2024", "03/04/2024"] * 20, range(40)], ["when", "y"]))
        self.bad(1, "fit", either, "-y", "y", "--dates", "parts", says=["day-first", "month-first"])
        self.bad(2, "fa", self.data, "-k", "1", "--dates", "parts", says=["is for fit and tune"])
        self.bad(2, "fit", self.data, "-f", "y ~ C(year(when))", says=["expected a column, or quarter, month"])

    def test_notes_are_about_columns_of_the_fit(self):
        data = self.write("n.csv", text([[t.date().isoformat() for t in self.when], ["$%.2f" % v for v in self.a], self.a, self.y],
                                        ["when", "cost", "a", "y"]))
        done = self.run_it("fit", data, "-f", "y ~ a", "-o", self.path("f"))
        self.assertIn(b"('cost'): the sign '$' is left out", done.stderr)
        self.good("predict", self.path("f"), data)
        self.good("predict", self.path("f"), data, "--all")
        self.good("score", self.path("f"), data)
        self.good("fit", self.data, "-f", "y ~ a", "-o", self.path("f"), "--quiet")
        self.run_it("fit", data, "-f", "y ~ cost", "-o", self.path("f"))
        done = self.run_it("predict", self.path("f"), data)
        self.assertIn(b"('cost'): the sign '$' is left out", done.stderr)
        self.assertNotIn(b"when", done.stderr)


class Columns(Case):
    def setUp(self):
        super().setUp()
        self.area, self.age, self.rooms, self.k, self.price = table(40)

    def data(self, *more):
        """A table with more columns in front: (name, values)."""
        return self.write("d.csv", text([v for _, v in more] + [self.area, self.k, self.price],
                                        [n for n, _ in more] + ["area", "district", "price"]))

    def test_columns_are_chosen_and_left_out(self):
        data = self.data(("b1", self.age), ("b2", self.rooms))
        for args, D in ((("--only", "area,b*"), 3), (("--exclude", "b1:b2"), 4), (("--exclude", "district,b2"), 2)):
            self.assertEqual(self.good_json("fit", data, "-y", "price", *args)["D"], D)
        self.bad(2, "fit", data, "-y", "price", "--exclude", "distict", says=["did you mean 'district'?"])
        self.bad(1, "fit", data, "-y", "price", "--only", "price", says=["no column left"])

    def test_a_gap_in_a_column_that_is_left_out_is_no_gap(self):
        data = self.data(("gap", ["NA" if i == 7 else i % 5 for i in range(40)]))
        self.bad(1, "fit", data, "-y", "price", says=["missing"])
        self.assertEqual(self.good_json("fit", data, "-y", "price", "--exclude", "gap")["D"], 4)
        self.assertEqual(self.good_json("fit", data, "-f", "price ~ area")["D"], 1)

    def test_row_names_are_left_out_and_said(self):
        names = ["house %d" % i for i in range(40)]
        data = self.data(("house", names))
        told = self.good("fit", data, "-y", "price")
        self.assertIn("'house' has 40 different words in 40 rows", told)
        self.assertIn("--categorical house keeps it", told)
        self.assertEqual(self.good_json("fit", data, "-y", "price")["left_out_names"], ["house"])
        self.assertEqual(self.good_json("fit", data, "-y", "price", "--categorical", "house")["D"], 44)
        told = self.run_it("tune", data, "-y", "price", "--folds", "2", "--trials", "2", "--alpha=0.1:1")
        self.assertIn("'house' has 40 different words", told.stdout.decode())
        self.good("fit", data, "-y", "price", "-o", self.path("m"))
        self.good("predict", "--full", self.path("m"), self.data())  # a table without it

    def test_of_names_with_gaps_the_rows_that_have_one_are_counted(self):
        cabins = ["" if i % 2 else "C%d" % i for i in range(40)]
        self.assertIn("'cabin' has 20 different words in 20 rows", self.good("fit", self.data(("cabin", cabins)), "-y", "price", "--missing", "mean"))

    def test_words_that_name_the_rows_are_refused_where_nothing_else_is_left(self):
        days = ["%s" % (datetime.date(2001, 1, 1) + datetime.timedelta(days=31 * i)) for i in range(40)]
        for name, words, says in (("house", ["house %d" % i for i in range(40)], ["--categorical house reads it"]),
                                  ("when", days, ["--dates numbers", "--dates parts", "--categorical when"])):
            lines = ["%s,price" % name] + ["%s,%.3f" % row for row in zip(words, self.price)]
            data = self.write("alone.csv", ("\n".join(lines) + "\n").encode())
            self.bad(1, "fit", data, "-y", "price", "--quiet", says=["'%s' has 40 different words in 40 rows" % name, "no other column", *says])
        self.assertEqual(json.loads(self.run_it("fit", data, "-y", "price", "--dates", "numbers", "--json").stdout)["D"], 1)
        self.assertEqual(json.loads(self.run_it("fit", data, "-y", "price", "--categorical", "when", "--json").stdout)["D"], 40)

    def test_a_first_column_without_a_name_is_an_index(self):
        for column in (["house %d" % i for i in range(40)], range(1, 41)):
            done = self.run_it("fit", self.data(("", column)), "-y", "price", "--json")
            self.assertIn(b"an index, which is left out", done.stderr)
            self.assertEqual(json.loads(done.stdout)["D"], 4)

    def test_numbers_of_rows_are_left_out_or_remarked(self):
        count = range(1, 41)
        self.assertIn("'Id' numbers the rows, and is left out", self.good("fit", self.data(("Id", count)), "-y", "price"))
        told = self.good("fit", self.data(("ticket", count)), "-y", "price")
        self.assertIn("'ticket' looks like a number of the row: --exclude ticket leaves it out if it is one", told)
        self.assertIn("on 5 features", told)
        self.assertNotIn("'year'", self.good("fit", self.data(("year", count)), "-y", "price"))
        self.assertNotIn("'day_of_study'", self.good("fit", self.data(("day_of_study", count[::-1])), "-y", "price"))

    def test_identifiers_are_left_out_in_any_order_and_with_gaps(self):
        r = np.random.default_rng(11)
        some = {"shuffled": r.permutation(40) + 1, "every other": np.arange(1, 81, 2),
                "some": r.permutation(60)[:40], "falling": np.arange(40, 0, -1),
                "far": r.permutation(10 ** 6)[:40] + 15 * 10 ** 6}
        for how, numbers in some.items():
            for name in ("Id", "ID", "customer_id", "CustomerID", "PassengerId", "userid", "id_of_house", "index",
                         "row.number"):
                told = self.good_json("fit", self.data((name, numbers)), "-y", "price")
                self.assertEqual((told["D"], told["left_out_names"]), (4, [name]), (how, name))
            noted = self.good_json("fit", self.data(("ticket", numbers)), "-y", "price")
            self.assertEqual(noted.get("counting_names", []), [] if how == "far" else ["ticket"], how)
        data = self.data(("Id", some["some"]))
        for keep in (("--only", "Id,area,district"), ("-f", "price ~ Id + area + district")):
            self.assertEqual(self.good_json("fit", data, "-y", "price", *keep)["D"], 5)

    def test_an_identifier_whose_rows_have_gaps_elsewhere_is_left_out(self):
        rows = ["Id,area,price"] + ["%d,%s,%.2f" % (i + 1, "" if i % 3 == 0 else "%.2f" % self.area[i], self.price[i])
                                    for i in range(40)]
        data = self.write("gaps.csv", ("\n".join(rows) + "\n").encode())
        for way in ("drop", "mean"):
            told = self.good_json("fit", data, "-y", "price", "--missing", way)
            self.assertEqual((told["D"], told["left_out_names"]), (1, ["Id"]), way)

    def test_numbers_of_other_things_are_not_taken_for_identifiers(self):
        r = np.random.default_rng(12)
        for name, values in (("humid", r.permutation(100)[:40]), ("price_index", r.permutation(100)[:40]),
                             ("id", r.integers(0, 100, 40)),            # numbers come again
                             ("id", r.permutation(100)[:40] + 0.5)):    # not whole
            told = self.good_json("fit", self.data((name, values)), "-y", "price")
            self.assertEqual((told["D"], told.get("left_out_names", [])), (5, []), name)
        for name, values in (("population", np.sort(r.permutation(10 ** 6)[:40])), ("cost", r.permutation(10 ** 5)[:40]),
                             ("count", r.integers(0, 30, 40)), ("width", r.permutation(400)[:40]),
                             ("people", 3000 + 22 * np.arange(40) + r.integers(0, 20, 40)),  # a town that grows
                             ("temperature", np.arange(0, 800, 20)[::-1] * 7)):
            told = self.good_json("fit", self.data((name, values)), "-y", "price")
            self.assertEqual(told.get("counting_names", []), [], name)
        alone = self.write("alone.csv", ("x,y\n" + "".join("%d,%d\n" % (i, i + i * i % 17) for i in range(40))).encode())
        self.assertEqual(self.good_json("fit", alone, "-y", "y").get("counting_names", []), [])  # nothing else is there


class Vectors(Case):
    def test_factors_of_some_columns(self):
        r = np.random.default_rng(5)
        x = r.normal(size=(60, 5)) + r.normal(size=(60, 1))
        names = ["name", "a", "b", "gap", "c1", "c2"]
        gap = ["" if i == 40 else v for i, v in enumerate(x[:, 2])]
        words = ["row %d" % i for i in range(60)]
        data = self.write("d.csv", text([words, x[:, 0], x[:, 1], gap, x[:, 3], x[:, 4]], names))
        few = self.write("few.csv", text([x[:, 0], x[:, 1], x[:, 3], x[:, 4]], ["a", "b", "c1", "c2"]))
        done = self.run_it("fa", data, "-k", "1")
        self.assertIn(b"('gap') is empty: a missing value", done.stderr)
        for args in (("--exclude", "name,gap"), ("--only", "a:b,c*"), ("--only", "1:5", "--exclude", "gap")):
            self.good("fa", data, "-k", "1", *args, "--loadings", self.path("l.csv"), "--scores", self.path("s.csv"),
                      "-o", self.path("m"))
            self.good("fa", few, "-k", "1", "--loadings", self.path("l2.csv"), "--scores", self.path("s2.csv"))
            for a, b in (("l.csv", "l2.csv"), ("s.csv", "s2.csv")):
                with open(self.path(a)) as one, open(self.path(b)) as two:
                    self.assertEqual(one.read(), two.read())
        self.good("update", self.path("m"), data, "--exclude", "gap,name")
        self.bad(1, "update", self.path("m"), data, "--exclude", "a,name", says=["'gap'"][:0])
        self.bad(2, "fa", data, "-k", "1", "--exclude", "names", says=["did you mean 'name'?"])
        self.bad(2, "fa", data, "-k", "1", "--exclude", "*", says=["no column is left"])

    def cars(self, *names):
        """Rows as R writes those of mtcars, with columns in front: (name, values)."""
        r = np.random.default_rng(6)
        rows = r.standard_normal((40, 4)) + 2 * r.standard_normal((40, 1))
        return self.write("cars.csv", text([v for _, v in names] + list(rows.T), [n for n, _ in names] + list("abcd")))

    def test_columns_that_name_the_rows_are_no_coordinates(self):
        r = np.random.default_rng(7)
        for name, values in (("model", ["car %d" % i for i in range(40)]), ("CustomerID", r.permutation(10 ** 6)[:40])):
            done = self.run_it("fa", self.cars((name, values)), "-k", "1", "--json", "-o", self.path("m"))
            self.assertIn("'%s' names the rows, and is left out" % name, done.stderr.decode())
            self.assertEqual(json.loads(done.stdout)["D"], 4)
            done = self.run_it("update", self.path("m"), self.cars((name, values)))
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.good_json("fa", self.cars((name, values)), "-k", "1", "--only", "CustomerID,a,b,c")["D"], 4)
        self.assertEqual(self.good_json("fa", self.cars((name, values)), "-k", "1", "--exclude", "CustomerID,a")["D"], 3)
        self.assertEqual(self.good_json("fa", self.cars(("id", [1, 2] * 20)), "-k", "1")["D"], 5)

    def test_a_column_of_words_is_refused_with_the_remedy(self):
        data = self.cars(("maker", ["fiat", "ford", "volvo", "fiat"] * 10))
        self.bad(1, "fa", data, "-k", "1", says=["line 2, column 1 ('maker'): 'fiat' is not a number", "--exclude maker"])
        self.assertEqual(self.good_json("fa", data, "-k", "1", "--exclude", "maker")["D"], 4)
        data = self.cars(("model", ["car %d" % i for i in range(40)]))
        self.bad(1, "fa", data, "-k", "1", "--only", "model,a,b", says=["'car 0' is not a number", "--exclude model"])


class Every(Case):
    """A line for every row."""

    def setUp(self):
        super().setUp()
        area, age, _, k, price = table()
        self.data = self.write("h.csv", text([area, age, k, price], ["area", "age", "district", "price"]))
        self.new = self.write("new.csv", b"price,area,age,district\nsold,70,10,hill\n,80,,port\nNA,90,30,\n12,100,40,town\n")

    def told(self, *args):
        done = self.run_it("predict", "--full", self.path("m"), self.new, *args)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode().splitlines()[1:], done.stderr.decode()

    def test_a_row_with_a_gap_is_NA_and_counted(self):
        self.good("fit", self.data, "-y", "price", "-o", self.path("m"))
        lines, said = self.told()
        self.assertEqual(lines[1:3], ["NA,NA,NA,NA"] * 2)
        self.assertIn("2 of 4 rows are NA", said)
        whole = self.write("whole.csv", b"area,age,district\n70,10,hill\n100,40,town\n")
        self.assertEqual([lines[0], lines[3]], self.good("predict", "--full", self.path("m"), whole).splitlines()[1:])
        self.assertEqual(self.told("--quiet"), (lines, ""))
        told = self.run_it("predict", "--full", self.path("m"), self.new, "-o", self.path("out.csv"), "--json")
        self.assertIn(b'"missing": 2', told.stdout)

    def test_a_fit_that_fills_gaps_fills_them(self):
        self.good("fit", self.data, "-y", "price", "--missing", "mean", "-o", self.path("m"))
        lines, said = self.told()
        self.assertEqual(said, "")
        self.assertFalse(any("NA" in line for line in lines))

    def test_classes_are_NA_too(self):
        self.good("fit", self.data, "-y", "district", "-o", self.path("m"))
        gaps = self.write("gaps.csv", b"area,age,price\n,1,100\n1,2,\n")
        done = self.run_it("predict", "--full", self.path("m"), gaps)
        self.assertEqual(done.stdout.decode().splitlines()[1:], ["NA,NA,NA,NA"] * 2)

    def test_words_of_no_fit_are_refused_or_left_to_the_prior(self):
        self.good("fit", self.data, "-y", "price", "-o", self.path("m"))
        new = self.write("odd.csv", b"area,age,district\n70,10,moor\n")
        self.bad(1, "predict", self.path("m"), new, says=["row 0", "'moor'", "--unseen prior"])
        done = self.run_it("predict", "--full", self.path("m"), new, "--unseen", "prior")
        self.assertIn(b"1 words were not met", done.stderr)
        c = {x["name"]: x["mean"] for x in self.good_json("info", self.path("m"))["coefficients"]}
        want = c["intercept"] + 70 * c["area"] + 10 * c["age"]
        self.assertAlmostEqual(float(done.stdout.decode().splitlines()[1].split(",")[0]), want, places=8)
        self.bad(2, "predict", self.path("m"), new, "--unseen", "guess", says=["prior"])


if __name__ == "__main__":
    run(Formula, Dates, Columns, Vectors, Every)
