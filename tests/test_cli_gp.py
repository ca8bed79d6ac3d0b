#!/usr/bin/python3
"""test_cli_gp.py - Gaussian processes from outside: test_cli_gp.py FABAYES [NAME ..].

Makes its own tables with NumPy and holds what comes out against closed forms with the parameters that were found.
Exit status: 0 all passed; 1 some failed; 77 NumPy is missing.
"""
# SPDX-License-Identifier: MIT
import json
import math
import os
import shutil

from cli_case import Case, np, run


def csv(columns):
    names = list(columns)
    lines = [",".join(names)]
    for row in zip(*columns.values()):
        lines.append(",".join(v if isinstance(v, str) else repr(float(v)) for v in row))
    return ("\n".join(lines) + "\n").encode()


def rbf(X, Z, s2, l):
    d = (X[:, None, :] - Z[None, :, :]) / l
    return s2 * np.exp(-0.5 * (d * d).sum(-1))


def process(K, y, noise):
    """log p(y), (K + noise)^-1 y and the factor."""
    L = np.linalg.cholesky(K + noise * np.eye(len(y)))
    b = np.linalg.solve(L, y)
    return -0.5 * b @ b - np.log(np.diag(L)).sum() - len(y) / 2 * math.log(2 * math.pi), np.linalg.solve(L.T, b), L


class Process(Case):
    def setUp(self):
        super().setUp()
        r = np.random.RandomState(3)
        self.X = np.column_stack([r.uniform(-3, 3, 70), 100 + 50 * r.randn(70)])
        self.y = 500 + 40 * np.sin(1.3 * self.X[:, 0]) + 5 * r.randn(70)
        self.table = {"a": self.X[:, 0], "b": self.X[:, 1], "y": self.y}
        self.data = self.write("d.csv", csv(self.table))
        self.new = self.write("new.csv", csv({k: v[:9] + 0.1 for k, v in self.table.items()}))
        self.file = self.path("g.safetensors")

    def fit(self, *args, model="gp:rbf:ard"):
        return self.good_json("fit", self.data, "-y", "y", "--model", model, "-o", self.file, *args)

    def rows(self, data, *args):
        lines = self.good("predict", "--full", *args, self.file, data).split("\n")
        return np.array([[float(v) for v in line.split(",")] for line in lines[1:] if line])

    def theta(self, said):
        return {t["name"]: t for t in said["theta"]}

    def test_predictions_and_evidence_are_those_of_the_closed_form_with_the_parameters_said(self):
        said = self.fit()
        t = self.theta(said)
        l = np.array([t["rbf.l.a"]["value"], t["rbf.l.b"]["value"]])
        s2, noise = t["rbf:ard.s2"]["value"], t["noise"]["value"]
        mean, sy = self.y.mean(), self.y.std()
        K = rbf(self.X, self.X, s2, l)
        lml, a, L = process(K, self.y - mean, noise)
        np.testing.assert_allclose(said["lml"], lml + len(self.y) * math.log(sy), rtol=1e-9)
        self.assertEqual(said["lml"], said["log_evidence"])
        Z = self.X[:9] + 0.1
        k = rbf(self.X, Z, s2, l)
        v = np.linalg.solve(L, k)
        got = self.rows(self.new)
        np.testing.assert_allclose(got[:, 0], mean + k.T @ a, rtol=1e-9)
        np.testing.assert_allclose(got[:, 1], np.sqrt(s2 - (v * v).sum(0) + noise), rtol=1e-7)
        self.assertLess(abs(math.sqrt(noise) - 5), 2)  # 70 rows: 4 standard errors
        self.assertGreater(t["rbf.l.b"]["value"] / 50, 3 * t["rbf.l.a"]["value"] / 1.7)

    def test_json_names_what_was_found(self):
        said = self.fit("--starts=3")
        for key in ("kernel", "lml", "theta", "jitter", "starts", "optima", "second", "searched"):
            self.assertIn(key, said)
        self.assertEqual((said["method"], said["starts"], said["jitter"], said["searched"]), ("gp", 3, 0, 70))
        self.assertEqual([t["name"] for t in said["theta"]], ["rbf:ard.s2", "rbf.l.a", "rbf.l.b", "noise"])
        self.assertEqual(set(said["theta"][0]), {"name", "kernel", "column", "value", "fitted", "fixed", "at_bound"})
        info = self.good_json("info", self.file)
        for key in ("kernel", "lml", "theta", "jitter", "starts", "optima"):
            self.assertEqual(info[key], said[key], key)

    def test_the_search_ends_where_many_starts_do_on_public_tables(self):
        data = os.environ.get("FAB_DATA", os.path.join(os.path.dirname(__file__), "..", "..", "shared", "data"))
        if not os.path.isdir(os.path.join(data, "uci")):
            self.skipTest("no public data: FAB_DATA; test_evidence holds the search on made tables")
        # The best that searches from random points have found (60 of them on yacht, boston and autompg; some on the others), rows that repeat another left out.
        best = {"uci/yacht/data.txt": 596.77135, "uci/boston-housing/data.txt": -137.63439, "uci/energy/data.txt": 1143.88705,
                "uci/concrete/data.txt": -347.16375, "uci-large/autompg/data.csv.gz": -147.09522}
        for name, known in best.items():
            table = os.path.join(data, name)
            if "concrete" in name:
                with open(table, encoding="utf8") as f:
                    table = self.write("concrete", "".join(dict.fromkeys(line for line in f if line.strip())).encode())
            found = self.good_json("fit", table, "-y", "last", "--model", "gp:rbf:ard", "--threads", 2)["lml"]
            self.assertGreaterEqual(found, known - 1e-6 * abs(known) - 5e-6, name)  # the list has five decimals

    def test_a_sum_is_as_good_as_its_part_on_public_data(self):
        data = os.environ.get("FAB_DATA", os.path.join(os.path.dirname(__file__), "..", "..", "shared", "data"))
        table = os.path.join(data, "uci", "energy", "data.txt")
        if not os.path.isfile(table):
            self.skipTest("no public data: FAB_DATA; test_evidence holds sums on made tables")
        call = ("fit", table, "-y", "last", "--rows", os.path.join(data, "uci", "energy", "index_train_0.txt"), "--threads", 2, "--model")
        part, whole = self.good_json(*call, "gp:rbf:ard"), self.good_json(*call, "gp:rbf:ard+linear")
        # The least variance of the other term, 1e-6, costs up to 1e-6 x'x / (2 s^2) summed over the rows: 691 * 8 * 1e-6 / (2 * 0.002).
        self.assertGreaterEqual(whole["lml"], part["lml"] - 1.4)

    def test_info_lists_the_most_relevant_column_first(self):
        self.fit()
        text = self.good("info", self.file)
        self.assertLess(text.index("\na "), text.index("\nb "))
        self.assertIn("relevance", text)

    def test_what_the_kernel_and_beta_give_stays(self):
        said = self.fit("--beta=100", model="gp:1.5*rbf:l=0.5")
        t = self.theta(said)
        self.assertEqual(said["iterations"], 0)
        self.assertTrue(all(v["fixed"] for v in t.values()))
        np.testing.assert_allclose([t["noise"]["fitted"], t["rbf.l"]["fitted"]], [0.01, 0.5], rtol=1e-12)
        unit = self.y.std()
        Z = (self.X - self.X.mean(0)) / self.X.std(0)
        lml, _, _ = process(rbf(Z, Z, 1.5, 0.5), (self.y - self.y.mean()) / unit, 0.01)
        np.testing.assert_allclose(said["lml"], lml, rtol=1e-9)

    def test_a_file_gives_the_same_bits_as_the_fit_and_rows_alone_as_with_others(self):
        self.fit()
        all_rows = self.good("predict", "--full", self.file, self.data)
        half = self.write("half.csv", csv({k: v[:11] for k, v in self.table.items()}))
        self.assertEqual(all_rows.split("\n")[:12], self.good("predict", "--full", self.file, half).split("\n")[:12])

    def test_rows_that_are_appended_are_as_if_they_had_been_there(self):
        first = self.write("first.csv", csv({k: v[:50] for k, v in self.table.items()}))
        rest = self.write("rest.csv", csv({k: v[50:] for k, v in self.table.items()}))
        said = self.good_json("fit", first, "-y", "y", "--model", "gp:rbf:ard", "-o", self.file)
        t = self.theta(said)
        more = self.good_json("update", self.file, rest)
        self.assertEqual((more["n"], more["rows"]), (70, 20))
        for name, was in t.items():
            np.testing.assert_allclose(self.theta(more)[name]["value"], was["value"], rtol=1e-12)
        l = np.array([t["rbf.l.a"]["value"], t["rbf.l.b"]["value"]])
        s2, noise, mean = t["rbf:ard.s2"]["value"], t["noise"]["value"], self.y[:50].mean()
        lml, a, L = process(rbf(self.X, self.X, s2, l), self.y - mean, noise)
        np.testing.assert_allclose(more["lml"], lml + 70 * math.log(self.y[:50].std()), rtol=1e-9)
        np.testing.assert_allclose(self.rows(self.new)[:, 0], mean + rbf(self.X, self.X[:9] + 0.1, s2, l).T @ a, rtol=1e-9)

    def test_weights_are_rows_that_come_again_and_offsets_are_added(self):
        w = np.where(np.arange(70) % 3 == 0, 2.0, 1.0)
        twice = np.repeat(np.arange(70), w.astype(int))
        heavy = self.write("w.csv", csv({**self.table, "w": w, "o": np.linspace(0, 100, 70)}))
        again = self.write("t.csv", csv({**{k: v[twice] for k, v in self.table.items()}, "o": np.linspace(0, 100, 70)[twice]}))
        args = ("-y", "y", "--model", "gp:2*rbf:l=1", "--beta=50", "--offset", "o", "-o", self.file)
        self.good("fit", heavy, *args, "--weight", "w", "--quiet")
        left = self.rows(heavy)
        self.good("fit", again, *args, "--quiet")
        np.testing.assert_allclose(left, self.rows(heavy), rtol=1e-8)

    def test_two_classes_and_counts_are_fitted_too(self):
        p = 1 / (1 + np.exp(-2 * np.sin(1.3 * self.X[:, 0])))
        r = np.random.RandomState(5)
        words = ["yes" if u < q else "no" for u, q in zip(r.uniform(size=70), p)]
        counts = r.poisson(np.exp(1 + np.sin(1.3 * self.X[:, 0])))
        data = self.write("two.csv", csv({"a": self.X[:, 0], "kind": words, "n": counts}))
        said = self.good_json("fit", data, "-y", "kind", "--exclude", "n", "--model", "gp:rbf", "-o", self.file)
        self.assertEqual((said["likelihood"], [t["name"] for t in said["theta"]]), ("bernoulli", ["rbf.s2", "rbf.l"]))
        lines = self.good("predict", self.file, data).split("\n")
        self.assertEqual(lines[0], "class,p_no,p_yes")
        self.assertLess(self.good_json("score", self.file, data)["nll"], math.log(2))
        before = self.good_json("fit", data, "-y", "n", "--exclude", "kind", "--likelihood", "poisson", "--model", "gp:rbf", "-o", self.file)
        self.assertGreater(before["deviance_explained"], 0.2)
        self.assertEqual(self.good_json("update", self.file, data)["n"], 140)
        self.assertEqual(self.good_json("score", self.file, data)["n"], 70)

    def several(self):
        """Three classes along a; their table."""
        r = np.random.RandomState(8)
        e = np.column_stack([2 * np.sin(1.3 * self.X[:, 0] + 2.1 * c) for c in range(3)])
        p = np.exp(e) / np.exp(e).sum(1)[:, None]
        words = [["elm", "ash", "oak"][(u > np.cumsum(q)[:2]).sum()] for u, q in zip(r.uniform(size=70), p)]
        return {"a": self.X[:, 0], "b": self.X[:, 1], "tree": words}

    def test_several_classes_go_through_every_verb(self):
        table = self.several()
        data = self.write("many.csv", csv(table))
        said = self.good_json("fit", data, "-y", "tree", "--model", "gp:rbf", "-o", self.file)
        self.assertEqual((said["likelihood"], [t["name"] for t in said["theta"]]), ("categorical", ["rbf.s2", "rbf.l"]))
        lines = self.good("predict", self.file, data).strip().split("\n")
        self.assertEqual(lines[0], "class,p_ash,p_elm,p_oak")
        p = np.array([[float(v) for v in line.split(",")[1:]] for line in lines[1:]])
        np.testing.assert_allclose(p.sum(1), 1, atol=2e-3)  # as printed
        scores = self.good_json("score", self.file, data)
        self.assertLess(scores["nll"], 0.9)
        rows = np.array([[float(v) for v in line.split(",")[1:]] for line in
                         self.good("predict", "--samples=20000", self.file, data).strip().split("\n")[1:]])
        np.testing.assert_array_less(abs(rows - p), 5 * 0.5 / math.sqrt(20000) + 1e-3)
        head = self.good("sample", self.file, data, "-n", 2).split("\n")[0].split(",")
        self.assertEqual((len(head), head[:4]), (210, ["row0:ash", "row0:elm", "row0:oak", "row1:ash"]))
        self.assertEqual(self.good_json("update", self.file, data, "-o", self.path("more.safetensors"))["n"], 140)
        page = self.path("page.html")
        self.good("report", self.file, data, "-o", page, "--quiet")
        tuned = self.good_json("tune", data, "-y", "tree", "--model", "gp:rbf", "--starts=1:2", "--trials", 2, "--folds", 3)
        self.assertEqual(len(tuned["trials"]), 2)
        for way in ("temperature", "conformal"):
            fitted = self.good_json("fit", data, "-y", "tree", "--model", "gp:rbf", "--calibrate", way, "-o", self.path("c.safetensors"))
            self.assertEqual(fitted["calibration"]["way"], way)
            self.good("predict", self.path("c.safetensors"), data)

    def test_a_file_of_several_classes_that_was_changed_is_refused(self):
        data = self.write("many.csv", csv(self.several()))
        self.good("fit", data, "-y", "tree", "--model", "gp:2*rbf:l=1", "-o", self.file, "--quiet")
        with open(self.file, "rb") as f:
            good = f.read()
        for wrong in (good.replace(b'"M":', b'"m":'), good.replace(b'classes\\": 3', b'classes\\": 4'),
                      good.replace(b'classes\\": 3', b'classes\\": 0'), good[:-100]):
            self.assertNotEqual(wrong, good)
            bad = self.write("bad.safetensors", wrong)
            done = self.run_it("predict", bad, data)
            self.assertEqual(done.returncode, 1)
            self.assertTrue(done.stderr)

    def test_an_average_is_the_mixture_of_its_places(self):
        few = self.write("few.csv", csv({k: v[:24] for k, v in self.table.items()}))
        X, y, Z = self.X[:24], self.y[:24], self.X[:9] + 0.1
        mean, scale, centre, unit = y.mean(), y.std(), X.mean(0), X.std(0)
        x, z, t = (X - centre) / unit, (Z - centre) / unit, (y - mean) / scale
        said = self.good_json("fit", few, "-y", "y", "--model", "gp:rbf", "--average=laplace", "-o", self.file)
        with open(self.file, "rb") as f:
            size = int.from_bytes(f.read(8), "little")
            head = json.loads(f.read(size))
            data = f.read()
        def tensor(name):
            a, b = head[name]["data_offsets"]
            return np.frombuffer(data[a:b]).reshape(head[name]["shape"])
        theta, base = tensor("places.theta"), tensor("places.base")
        self.assertEqual(said["places"], len(theta))
        lml, m, v = [], [], []
        for s2, l, noise in np.exp(theta):
            value, a, L = process(rbf(x, x, s2, l), t, noise)
            k = rbf(x, z, s2, l)
            u = np.linalg.solve(L, k)
            lml.append(value)
            m.append(mean + scale * k.T @ a)
            v.append(scale**2 * (s2 - (u * u).sum(0) + noise))
        w = np.exp(base + lml - max(base + lml))
        w /= w.sum()
        np.testing.assert_allclose(tensor("places.weight"), w, rtol=1e-6)
        m, v = np.array(m), np.array(v)
        got = self.rows(self.new)
        np.testing.assert_allclose(got[:, 0], w @ m, rtol=1e-8)
        np.testing.assert_allclose(got[:, 1]**2, w @ (v + m * m) - (w @ m)**2, rtol=1e-5)
        score = self.good_json("score", self.file, self.new)["nll"]
        density = (w[:, None] * np.exp(-(self.y[:9] + 0.1 - m)**2 / (2 * v)) / np.sqrt(2 * np.pi * v)).sum(0)
        np.testing.assert_allclose(score, -np.log(density).mean(), rtol=1e-6)
        draws = np.array([[float(c) for c in line.split(",")] for line in
                          self.good("sample", self.file, self.new, "-n", 3000).strip().split("\n")[1:]])
        sd = np.sqrt(w @ (v - scale**2 * np.exp(theta[:, 2:]) + m * m) - (w @ m)**2)
        np.testing.assert_array_less(abs(draws.mean(0) - w @ m), 5 * sd / np.sqrt(3000))
        np.testing.assert_array_less(abs(draws.std(0) / sd - 1), 0.15)
        self.good("update", self.file, self.new, "--quiet")
        self.assertEqual(self.good_json("info", self.file)["places"], len(theta))
        self.bad(2, "fit", few, "-y", "y", "--model", "gp:rbf", "--average=laplace", "--mean_only=true", says=("mean_only keeps one mean",))

    def test_samples_are_functions_with_the_moments_of_the_predictions(self):
        said = self.fit("--beta=20", model="gp:rbf:l=1.5")
        out = self.path("f.npy")
        self.good("sample", self.file, self.new, "-n", 4000, "-o", out, "--quiet")
        f, rows = np.load(out), self.rows(self.new)
        self.assertEqual(f.shape, (4000, 9))
        sd = np.sqrt(rows[:, 1] ** 2 - self.theta(said)["noise"]["value"])
        np.testing.assert_array_less(abs(f.mean(0) - rows[:, 0]), 5 * sd / np.sqrt(4000))
        np.testing.assert_array_less(abs(f.std(0) / sd - 1), 5 / np.sqrt(8000))
        text = self.good("sample", self.file, self.new, "-n", 2).split("\n")
        self.assertEqual(text[0], ",".join("row%d" % i for i in range(9)))
        np.testing.assert_array_equal(np.array([float(v) for v in text[2].split(",")]), f[1])
        self.bad(2, "sample", self.file, self.new, "-n", 2, "--dtype", "f32", says=("f64",))
        self.bad(2, "sample", self.file, "-n", 2, says=("rows",))
        line = self.path("line.safetensors")
        self.good("fit", self.data, "-y", "y", "-o", line, "--quiet")
        self.bad(2, "sample", line, self.new, "-n", 2, says=("is none",))
        self.bad(2, "sample", line, "-n", 2, "--sep", "comma", says=("no DATA",))

    def test_length_scales_of_chosen_columns_are_in_their_units(self):
        t = self.theta(self.fit(model="gp:rbf:col=b:l=2 + periodic:col=a"))
        np.testing.assert_allclose(t["rbf.l"]["value"], 2 * self.X[:, 1].std(), rtol=1e-12)
        np.testing.assert_allclose(t["periodic.p"]["value"] / t["periodic.p"]["fitted"], self.X[:, 0].std(), rtol=1e-12)
        np.testing.assert_allclose(t["periodic.l"]["value"], t["periodic.l"]["fitted"], rtol=1e-12)

    def test_words_are_one_column_to_a_kernel(self):
        words = [["oak", "elm", "ash"][i % 3] for i in range(70)]
        y = self.y + 30 * (np.arange(70) % 3)
        data = self.write("words.csv", csv({"a": self.X[:, 0], "tree": words, "y": y}))
        said = self.good_json("fit", data, "-y", "y", "--model", "gp:rbf:col=a + rbf:col=tree", "-o", self.file)
        self.assertGreater(said["r_squared"], 0.9)
        self.assertEqual(self.good_json("score", self.file, data)["n"], 70)

    def test_tune_report_and_calibrate_take_a_process(self):
        said = self.good_json("tune", self.data, "-y", "y", "--model", "gp:rbf", "--beta=1:100:log", "--trials", "2", "--folds", "3")
        self.assertEqual(len(said["trials"]), 2)
        fitted = self.fit("--calibrate", "conformal")
        self.assertEqual(fitted["calibration"]["way"], "conformal")
        page = self.path("page.html")
        self.good("report", self.file, self.data, "-o", page, "--quiet")
        with open(page) as f:
            self.assertIn("Gaussian process", f.read())

    def test_a_row_whose_density_is_no_number_leaves_the_file_as_it_is(self):
        self.fit()
        with open(self.file, "rb") as f:
            before = f.read()
        for y in ("1e160", "1e308"):
            far = self.write("far.csv", b"a,b,y\n1,100," + y.encode() + b"\n")
            self.bad(1, "update", self.file, far, says=("no finite number",))
            with open(self.file, "rb") as f:
                self.assertEqual(f.read(), before)

    def test_every_setting_can_be_given_on_the_command_line(self):
        said = self.fit("--search_rows=20", "--starts=2", "--seed", 4, "--tol=1e-6", "--exact_limit=70")
        self.assertEqual((said["searched"], said["starts"]), (20, 2))

    def test_two_updates_of_a_file_are_one_with_the_rows_of_both(self):
        for args in (("--model", "gp:rbf:ard"), ("--model", "gp:2*matern52:ard + linear:col=a", "--threads", 1)):
            self.good("fit", self.data, "-y", "y", *args, "-o", self.file, "--quiet")
            files = []
            for parts in ((0, 9), (0, 4, 9)):
                out = self.path("u%d.safetensors" % len(parts))
                shutil.copy(self.file, out)
                for a, b in zip(parts, parts[1:]):
                    more = self.write("part.csv", csv({k: v[a:b] + 0.1 for k, v in self.table.items()}))
                    self.good("update", out, more, "--quiet")
                with open(out, "rb") as f:
                    files.append(f.read())
            self.assertEqual(files[0], files[1])

    def test_compare_names_what_compares_processes(self):
        self.fit()
        self.bad(1, "compare", self.file, self.file, says=("is a Gaussian process", "fabayes score"))
        files = [self.path("f%d.safetensors" % seed) for seed in (1, 2)]
        for seed, file in enumerate(files):
            self.good("fit", self.data, "-y", "y", "--model", "rff:rbf:20:seed=%d" % seed, "-o", file, "--quiet")
        self.bad(1, "compare", *files, says=("features of a kernel have no Gaussian in the user's units",))

    def test_units_far_from_those_that_parameters_are_looked_for_in_are_refused_unless_standardised(self):
        far = {"a": 1e6 * self.X[:, 0], "b": 1e9 * self.X[:, 1], "y": 1e12 * self.y}
        data = self.write("far.csv", csv(far))
        self.bad(1, "fit", data, "-y", "y", "--model", "gp:rbf:ard", "--no-scale",
                 says=["a length-scale is looked for between"])
        data = self.write("tall.csv", csv({**self.table, "y": far["y"]}))
        self.bad(1, "fit", data, "-y", "y", "--model", "gp:rbf:ard", "--no-scale",
                 says=["a variance s2 is looked for between"])
        self.good("fit", self.write("far.csv", csv(far)), "-y", "y", "--model", "gp:rbf:ard")

    def test_what_cannot_be_is_refused_with_a_sentence(self):
        f = ("fit", self.data, "-y", "y")
        self.bad(2, *f, "--model", "gp:rfb", says=("rbf",))
        self.bad(2, *f, "--model", "gp", says=("needs its kernel",))
        self.bad(2, *f, "-m", "gp", says=("a model with a kernel",))
        self.bad(2, *f, "--model", "gp:rbf", "-m", "exact", says=("knows no Gaussian process",))
        self.bad(1, *f, "--model", "gp:rbf", "--exact_limit=50", says=("exact_limit", "nystrom:rbf:500"))
        self.bad(2, *f, "--model", "gp:rbf", "--noise", "learned", says=("--noise is for networks",))
        self.bad(2, *f, "--model", "gp:rbf", "--checkpoint", 5, "-o", self.file, says=("nothing to --checkpoint",))
        flat = self.write("flat.csv", csv({"a": self.X[:, 0], "y": np.ones(70)}))
        self.bad(1, "fit", flat, "-y", "y", "--model", "gp:rbf", says=("constant",))
        again = self.write("again.csv", csv({"a": [1.0, 1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0, 4.0]}))
        self.assertGreater(self.good_json("fit", again, "-y", "y", "--model", "gp:rbf", "--beta=1e30")["jitter"], 0)

    def test_a_file_that_was_cut_or_changed_is_refused(self):
        self.fit()
        with open(self.file, "rb") as f:
            data = f.read()
        for wrong in (data.replace(b'"a":', b'"A":'), data[:-100],
                      data.replace(b"rbf:ard", b"rbf:rad"), data.replace(b'features\\": 2', b'features\\": 3')):
            self.assertNotEqual(wrong, data)
            bad = self.write("bad.safetensors", wrong)
            done = self.run_it("predict", bad, self.data)
            self.assertEqual(done.returncode, 1)
            self.assertTrue(done.stderr)


if __name__ == "__main__":
    run(Process)
