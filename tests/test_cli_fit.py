#!/usr/bin/python3
"""test_cli_fit.py - `fabayes fit`, `predict`, `score` and `info`, from outside: test_cli_fit.py FABAYES [NAME ..].

Makes its own tables with NumPy and holds what comes out against closed forms.
Exit status: 0 all passed; 1 some failed; 77 NumPy is missing.
"""
# SPDX-License-Identifier: MIT
import json
import math
import os
import subprocess

from cli_case import Case, np, run

FIT_KEYS = ["method", "settings", "likelihood", "guessed", "target", "D", "K", "n", "rows", "dropped", "order", "alpha",
            "beta", "log_evidence", "log_score", "loglik_mean", "dispersion", "noise_sd", "r_squared", "floored", "iterations", "converged", "gain", "constant_names", "output",
            "bytes", "seconds", "rows_per_s"]


def csv(X, names):
    lines = [",".join(names)] + [",".join(repr(float(v)) for v in row) for row in X]
    return ("\n".join(lines) + "\n").encode()


def linear_rows(n=60, D=4, seed=1):
    """Columns of different units, and a target of its own."""
    r = np.random.RandomState(seed)
    X = r.randn(n, D) * 10.0 ** np.arange(-1, D - 1) + r.randn(D)
    y = 20 + X @ (r.randn(D) / 10.0 ** np.arange(-1, D - 1)) + 0.5 * r.randn(n)
    return X, y


def ridge(X, y, alpha, beta):
    """Mean and covariance of (coefficients, intercept) in the user's units; alpha, beta in fitting units."""
    m, s, my, sy = X.mean(0), X.std(0), y.mean(), y.std()
    Z, t = (X - m) / s, (y - my) / sy
    S = np.linalg.inv(alpha * np.eye(X.shape[1]) + beta * Z.T @ Z)
    b = beta * S @ Z.T @ t
    A = np.vstack([np.hstack([np.diag(sy / s), np.zeros((len(s), 1))]), np.append(-sy * m / s, sy)])
    full = np.zeros((len(s) + 1, len(s) + 1))
    full[:-1, :-1], full[-1, -1] = S, 1 / (beta * len(y))
    mean = A @ np.append(b, 0)
    mean[-1] += my
    return mean, A @ full @ A.T, sy * sy / beta


class Linear(Case):
    names = ["a", "b", "c", "d", "y"]

    def setUp(self):
        super().setUp()
        self.X, self.y = linear_rows()
        self.data = self.write("d.csv", csv(np.column_stack([self.X, self.y]), self.names))
        self.file = self.path("q.safetensors")

    def fit(self, *args):
        return self.good_json("fit", self.data, "-y", "y", "-o", self.file, *args)

    def predictions(self, data):
        lines = self.good("predict", "--full", self.file, data).split("\n")
        return lines[0], np.array([[float(v) for v in l.split(",")] for l in lines[1:-1]])

    def test_coefficients_are_ridge_in_closed_form(self):
        said = self.fit("--alpha=0.7", "--beta=3.1")
        self.assertEqual(list(said), FIT_KEYS)
        self.assertEqual((said["method"], said["likelihood"], said["guessed"]), ("exact", "gaussian", True))
        mean, S, _ = ridge(self.X, self.y, 0.7, 3.1)
        info = self.good_json("info", self.file)
        self.assertEqual([c["name"] for c in info["coefficients"]], ["a", "b", "c", "d", "intercept"])
        np.testing.assert_allclose([c["mean"] for c in info["coefficients"]], mean, rtol=1e-9)
        np.testing.assert_allclose([c["sd"] for c in info["coefficients"]], np.sqrt(np.diag(S)), rtol=1e-9)
        self.assertEqual((info["settings"]["alpha"], info["settings"]["beta"]), (0.7, 3.1))
        self.assertEqual(info["scaling"]["columns"], ["a", "b", "c", "d"])
        np.testing.assert_allclose(info["scaling"]["scales"], self.X.std(0), rtol=1e-12)
        self.assertIn("intercept", self.good("info", self.file))

    def test_predictions_and_scores_are_their_formulas(self):
        self.fit("--alpha=0.7", "--beta=3.1")
        mean, S, noise = ridge(self.X, self.y, 0.7, 3.1)
        X, y = linear_rows(37, seed=1)
        X = X + 0.1
        data = self.write("t.csv", csv(np.column_stack([y, X[:, ::-1]]), ["y", "d", "c", "b", "a"]))
        head, p = self.predictions(data)
        Z = np.column_stack([X, np.ones(len(X))])
        m, sd = Z @ mean, np.sqrt(noise + np.einsum("ij,jk,ik->i", Z, S, Z))
        self.assertEqual(head, "mean,sd,lower,upper")
        z90 = 1.6448536269514722
        np.testing.assert_allclose(p, np.column_stack([m, sd, m - z90 * sd, m + z90 * sd]), rtol=1e-9)
        s = self.good_json("score", self.file, data)
        self.assertEqual(list(s), ["n", "nll", "rmse", "mae", "crps", "coverage50", "coverage90", "coverage95"])
        z = (y - m) / sd
        erf = np.array([math.erf(v / math.sqrt(2)) for v in z])
        crps = sd * (z * erf + 2 * np.exp(-z * z / 2) / math.sqrt(2 * math.pi) - 1 / math.sqrt(math.pi))
        want = [37, np.mean(0.5 * np.log(2 * np.pi * sd ** 2) + z * z / 2), np.sqrt(np.mean((y - m) ** 2)),
                np.mean(abs(y - m)), crps.mean()] + [np.mean(abs(z) <= t) for t in
                                                     (0.6744897501960817, z90, 1.959963984540054)]
        np.testing.assert_allclose(list(s.values()), want, rtol=1e-9)

    def test_alpha_and_beta_are_found_and_stored(self):
        said = self.fit()
        info = self.good_json("info", self.file)
        for name in ("alpha", "beta"):
            self.assertGreater(said[name], 0)
            self.assertEqual(info["settings"][name], said[name])
            self.assertEqual(said["settings"][name], said[name])
        mean, S, _ = ridge(self.X, self.y, said["alpha"], said["beta"])
        np.testing.assert_allclose([c["mean"] for c in info["coefficients"]], mean, rtol=1e-8)

    def test_raw_units_without_intercept(self):
        self.fit("--no-scale", "--no-intercept", "--alpha=2", "--beta=3")
        info = self.good_json("info", self.file)
        S = np.linalg.inv(2 * np.eye(4) + 3 * self.X.T @ self.X)
        self.assertEqual([c["name"] for c in info["coefficients"]], ["a", "b", "c", "d"])
        np.testing.assert_allclose([c["mean"] for c in info["coefficients"]], 3 * S @ self.X.T @ self.y, rtol=1e-9)
        np.testing.assert_allclose([c["sd"] for c in info["coefficients"]], np.sqrt(np.diag(S)), rtol=1e-9)

    def test_a_weight_of_two_is_a_row_twice(self):
        w = 1.0 + (np.arange(60) % 2)
        twice = np.repeat(np.column_stack([self.X, self.y]), w.astype(int), 0)
        a = self.write("w.csv", csv(np.column_stack([self.X, self.y, w]), self.names + ["w"]))
        b = self.write("t.csv", csv(twice, self.names))
        means, said = [], []
        for args in ([a, "--weight", "w"], [b]):
            fitted = self.good_json("fit", *args, "-y", "y", "-o", self.file, "--alpha=1", "--beta=2")
            said.append([fitted["log_evidence"], fitted["loglik_mean"]])
            means.append([(c["mean"], c["sd"]) for c in self.good_json("info", self.file)["coefficients"]])
        np.testing.assert_allclose(means[0], means[1], rtol=1e-9)
        np.testing.assert_allclose(said[0], said[1], rtol=1e-9)

    def test_heavy_tails_move_a_line_less(self):
        r = np.random.RandomState(3)
        X = r.randn(200, 2)
        y = 5 + X @ [1, -2] + 0.3 * r.standard_t(3, 200)
        y[:10] += 30 # rows that no normal noise has
        data = self.write("t.csv", csv(np.column_stack([X, y]), ["a", "b", "y"]))
        off, nll = [], []
        for args in ([], ["--nu", "3"], ["--nu", "3", "-m", "map"]):
            said = self.good_json("fit", data, "-y", "y", "-o", self.file, *args)
            means = [c["mean"] for c in self.good_json("info", self.file)["coefficients"]]
            off.append(np.abs(np.array(means) - [1, -2, 5]).max())
            nll.append(self.good_json("score", self.file, data)["nll"])
        self.assertEqual(said["method"], "map")
        self.assertTrue(off[0] > 0.5 and off[1] < 0.1 and off[2] < 0.1, off)
        self.assertTrue(nll[1] < nll[0] - 1, nll)
        self.assertAlmostEqual(nll[1], nll[2], 1)
        beta = said["beta"] / y.var() # the scale of t, of which the outliers widen some
        self.assertTrue(0.25 < beta ** -0.5 < 0.5, beta)
        for method in ("exact", "kalman", "lrvga"):
            self.bad(2, "fit", data, "-y", "y", "--nu", "3", "-m", method, says=("nu", "laplace and map"))

    def test_columns_of_one_name_are_told_apart(self):
        rows = np.column_stack([self.X, self.y])
        a = self.write("a.csv", csv(rows, ["u", "v", "u", "u.1", "y"]))
        b = self.write("b.csv", csv(rows, ["u", "v", "u.2", "u.1", "y"]))
        said, scores, names = [], [], []
        for data in (a, b):
            done = self.run_it("fit", data, "-y", "y", "-o", self.file)
            self.assertEqual(done.returncode, 0)
            said.append(done.stderr.decode())
            names.append([c["name"] for c in self.good_json("info", self.file)["coefficients"]])
            scores += [json.loads(self.run_it("score", self.file, d, "--json").stdout) for d in (a, b)]
        self.assertIn("columns 0 and 2 are both named 'u': the second is read as 'u.2'", said[0])
        self.assertEqual(said[1], "")
        self.assertEqual(names[0], ["u", "v", "u.2", "u.1", "intercept"])
        self.assertEqual(names[0], names[1])
        self.assertTrue(all(s == scores[0] for s in scores), scores)
        self.assertTrue(scores[0]["rmse"] < 1)

    def test_point_methods_have_no_width(self):
        self.fit("-m", "ridge", "--alpha=0.7", "--beta=3.1")
        mean, _, noise = ridge(self.X, self.y, 0.7, 3.1)
        info = self.good_json("info", self.file)
        np.testing.assert_allclose([c["mean"] for c in info["coefficients"]], mean, rtol=1e-9)
        self.assertEqual([c["sd"] for c in info["coefficients"]], [0] * 5)
        np.testing.assert_allclose(self.predictions(self.data)[1][:, 1], math.sqrt(noise), rtol=1e-9)

    def test_rows_keep_some_rows(self):
        rows = self.write("rows.txt", b"\n".join(b"%d" % i for i in range(0, 60, 2)) + b"\n")
        self.fit("--rows", rows, "--alpha=0.7", "--beta=3.1")
        mean, _, _ = ridge(self.X[::2], self.y[::2], 0.7, 3.1)
        info = self.good_json("info", self.file)
        np.testing.assert_allclose([c["mean"] for c in info["coefficients"]], mean, rtol=1e-9)

    def test_a_column_that_hardly_varies_is_left_to_the_prior(self):
        X = self.X.copy()
        X[:, 1] = 1e12
        data = self.write("c.csv", csv(np.column_stack([X, self.y]), self.names))
        said = self.good_json("fit", data, "-y", "y", "-o", self.file, "--alpha=4", "--beta=1")
        self.assertEqual(said["constant_names"], ["b"])
        b = self.good_json("info", self.file)["coefficients"][1]
        self.assertLess(abs(b["mean"]), 1e-9)
        self.assertAlmostEqual(b["sd"], self.y.std() / 2, delta=1e-9)

    def test_a_sparse_prior_says_which_columns_are_in(self):
        r = np.random.RandomState(5)
        X = r.randn(60, 80)
        y = 3 * X[:, 7] - 2 * X[:, 41] + 0.3 * r.randn(60) + 5
        names = ["c%d" % j for j in range(80)] + ["y"]
        data = self.write("w.csv", csv(np.column_stack([X, y]), names))
        said = self.good_json("fit", data, "-y", "y", "-m", "spike-slab", "-o", self.file)
        self.assertEqual([k["name"] for k in said["kept"]], ["c7", "c41"])
        self.assertTrue(all(0.5 < k["inclusion"] <= 1 for k in said["kept"]))
        self.assertTrue(said["converged"])
        c = {v["name"]: v for v in self.good_json("info", self.file)["coefficients"]}
        for name, effect in (("c7", 3), ("c41", -2)): # 5 standard deviations: wrong once in a million
            self.assertLess(abs(c[name]["mean"] - effect), 5 * c[name]["sd"])
        self.assertIn("2 of 80 features are more likely in than out: 'c7'", self.good("fit", data, "-y", "y", "-m", "spike-slab"))
        self.assertIn("-m spike-slab predicts better", self.good("fit", data, "-y", "y"))
        self.assertNotIn("spike-slab", self.good("fit", data, "-y", "y", "-m", "exact"))
        self.assertNotIn("spike-slab", self.good("fit", self.data, "-y", "y"))

    def test_the_order_of_the_rows_says_nothing_where_levels_of_columns_are_dependent(self):
        """The levels of each column of words add up to the same 1: directions that are rounding alone, in which the evidence saw
        a signal when the rows stood in the order of the target (alpha = 5e-28, and noise 22 % too small, of one of these)."""
        for seed in range(1, 7):
            r = np.random.default_rng(seed)
            c, k = r.exponential(size=4000) ** .5, [r.integers(0, m, 4000) for m in (5, 7, 8)]
            y = c ** 3 * 1000 + 200 * k[0] + r.normal(size=4000) * 100
            told = []
            for order in (np.argsort(np.abs(y - 2500)), r.permutation(4000)):
                rows = "".join("%.4f,a%d,b%d,c%d,%.4f\n" % (c[i], k[0][i], k[1][i], k[2][i], y[i]) for i in order)
                told.append(self.good_json("fit", self.write("w.csv", ("c,k0,k1,k2,y\n" + rows).encode()), "-y", "y"))
            for key in ("alpha", "beta", "noise_sd", "log_evidence"):
                np.testing.assert_allclose(told[0][key], told[1][key], rtol=1e-6)

    def test_wrong_calls_are_answered(self):
        self.bad(2, "fit", self.data, says=["-y TARGET"])
        self.bad(2, "fit", self.data, "-y", "yy", says=["'yy'", "did you mean 'y'?"])
        self.bad(2, "fit", self.data, "-y", "9", says=["no column 9"])
        self.bad(2, "fit", self.data, "-y", "y", "--likelihood", "gausian", says=["did you mean 'gaussian'?"])
        self.bad(2, "fit", self.data, "-y", "y", "-m", "ml", says=["fabayes fa"])
        self.bad(2, "fit", self.data, "-y", "y", "-m", "exakt", says=["did you mean 'exact'?"])
        self.bad(2, "fit", self.data, "-y", "y", "-k", "3", says=["exact has no setting K"])
        self.bad(2, "fit", self.data, "-y", "y", "--intercept=false", says=["--no-intercept"])
        self.bad(2, "fit", self.data, "-y", "y", "--alpha=-1", says=["alpha"])
        self.bad(2, "fit", self.data, "-y", "y", "--alfa=1", says=["did you mean"])
        self.bad(2, "fa", self.data, "-k", "1", "-m", "exact", says=["fabayes fit"])

    def test_bad_data_is_refused(self):
        flat = self.write("f.csv", csv(np.column_stack([self.X, 0 * self.y + 3]), self.names))
        self.bad(1, "fit", flat, "-y", "y", says=["'y'", "constant"])
        huge = self.write("huge.csv", b"a,y\n1,1e300\n2,-1e300\n3,0\n")
        self.bad(1, "fit", huge, "-y", "y", "--likelihood", "gaussian", says=["'y'", "standard deviation", "unit"])
        self.bad(1, "fit", flat, "-y", "y", "--likelihood", "bernoulli", says=["one class"])
        self.bad(1, "fit", self.data, "-y", "y", "--likelihood", "bernoulli", says=["more than two levels"])
        latin = self.write("l.csv", b"b\xe9,y\n1,2\n2,3\n3,5\n")
        done = self.run_it("fit", latin, "-y", "y", "-o", self.file)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"is not UTF-8", done.stderr)
        self.assertIn("b\u00e9 ", self.good("info", self.file))
        self.fit()
        short = self.write("s.csv", csv(self.X[:, :3], ["a", "b", "dd"]))
        self.bad(1, "predict", self.file, short, says=["s.csv", "'c'"])
        self.bad(1, "score", self.file, self.write("n.csv", csv(self.X, self.names[:4])), says=["'y'"])
        self.bad(1, "predict", self.save("g.safetensors", {"mu": np.zeros(2), "psi": np.ones(2), "F": np.zeros((2, 0))}),
                 self.data, says=["not a file of `fabayes fit`"])

    def test_files_of_different_scalings_are_compared_in_the_users_units(self):
        other = self.path("o.safetensors")
        rows = self.write("rows.txt", b"\n".join(b"%d" % i for i in range(40)) + b"\n")
        self.fit("--alpha=0.7", "--beta=3.1")
        self.good("fit", self.data, "-y", "y", "--rows", rows, "-o", other, "--alpha=0.9", "--beta=2")
        (m, S, _), (n, T, _) = ridge(self.X, self.y, 0.7, 3.1), ridge(self.X[:40], self.y[:40], 0.9, 2)
        got = self.good_json("compare", self.file, other)
        norm, Ti = np.linalg.norm, np.linalg.inv(T)
        kl = 0.5 * (np.trace(Ti @ S) - 5 + (n - m) @ Ti @ (n - m) + np.linalg.slogdet(T)[1] - np.linalg.slogdet(S)[1])
        np.testing.assert_allclose([got["mean_distance"], got["covariance_distance"], got["kl_ab"]],
                                   [norm(m - n) / norm(n), norm(S - T) / norm(T), kl], rtol=1e-6)
        plain = self.save("p.safetensors", {"mu": np.zeros(5), "psi": np.ones(5), "F": np.zeros((5, 0))})
        self.bad(1, "compare", self.file, plain, says=["different units"])

    def test_methods_say_which_verb_runs_them(self):
        verbs = {m["name"]: m["verb"] for m in self.good_json("methods")["methods"]}
        self.assertEqual((verbs["exact"], verbs["ml"]), ("fit", "fa"))

    def test_rows_out_of_reach_are_refused_by_row_and_column(self):
        """Two and three classes, a number and a count, with every method's way to predict."""
        r = np.random.RandomState(3)
        X = r.randn(60, 2)
        targets = {"bernoulli": (X[:, 0] + r.randn(60) > 0) * 1.0, "categorical": r.randint(3, size=60) * 1.0,
                   "gaussian": X[:, 0] + r.randn(60), "poisson": r.poisson(2, 60) * 1.0}
        for likelihood, y in targets.items():
            data = self.write("t.csv", csv(np.column_stack([X, y]), ["a", "b", "y"]))
            self.good("fit", data, "-y", "y", "--likelihood", likelihood, "-o", self.file)
            for size in (1e10, 1e100, 1e153, 1e154, 1e160, 1e200, 1e300):
                new = self.write("n.csv", csv(np.array([[0.5, 1, 1], [0.5, -size, 1]]), ["a", "b", "y"]))
                for verb in ("predict", "score"):
                    done = self.run_it(verb, self.file, new)
                    said = "\n".join(l for l in done.stdout.decode().split("\n") if "auc" not in l)  # classes are missing
                    if done.returncode == 0:
                        self.assertFalse("nan" in said or "inf" in said, (likelihood, verb, size, said))
                        continue
                    self.assertEqual(done.returncode, 1, (likelihood, verb, size))
                    if verb == "predict":
                        self.assertRegex(done.stderr.decode(), r"row 1 \(from 0\), column 'b': -1e.[0-9]+ is too large")

    def test_predict_writes_a_file(self):
        self.fit()
        out = self.path("p.csv")
        self.assertEqual(self.good("predict", "--full", self.file, self.data, "-o", out), "")
        with open(out) as f:
            self.assertEqual(f.read(), self.good("predict", "--full", self.file, self.data))
        self.assertEqual(self.good_json("predict", self.file, self.data, "-o", out),
                         {"file": self.file, "output": out, "n": 60})
        self.bad(2, "predict", self.file, self.data, "--json", says=["-o FILE"])
        self.bad(2, "predict", self.file, self.data, "--samples", "9", says=["needs no draws"])
        self.bad(2, "fit", self.data, "-y", "y", "--scale-rows", "9", says=["exact", "streams"])
        self.bad(1, "predict", self.file, self.data, "-o", self.data, says=["is the input"])


class Classes(Case):
    def setUp(self):
        super().setUp()
        r = np.random.RandomState(3)
        self.X = r.randn(200, 3) * [1, 10, 0.1] + [0, 5, 0]
        eta = self.X @ [1.0, -0.2, 4.0] + 1
        self.t = (r.rand(200) < 1 / (1 + np.exp(-eta))).astype(float)
        self.data = self.write("b.csv", csv(np.column_stack([self.X, 2 * self.t - 1]), ["a", "b", "c", "y"]))
        self.file = self.path("q.safetensors")

    def test_two_levels_are_classes(self):
        said = self.good_json("fit", self.data, "-y", "last", "-o", self.file, "--alpha=1")
        self.assertEqual((said["method"], said["likelihood"], said["guessed"]), ("vga", "bernoulli", True))
        lines = self.good("predict", "--full", self.file, self.data).split("\n")
        self.assertEqual(lines[0], "class,p_-1,p_1")
        p = np.array([[float(v) for v in l.split(",")[1:]] for l in lines[1:-1]])
        self.assertEqual([l.split(",")[0] for l in lines[1:-1]], ["1" if q > 0.5 else "-1" for q in p[:, 1]])
        np.testing.assert_allclose(p.sum(1), 1, rtol=1e-14)
        s = self.good_json("score", self.file, self.data)
        self.assertEqual(list(s), ["n", "nll", "accuracy", "brier", "ece", "auc"])
        q = p[:, 1]
        pairs = np.subtract.outer(q[self.t == 1], q[self.t == 0])
        conf, right, ece = np.maximum(q, 1 - q), (q >= 0.5) == (self.t == 1), 0
        for b in range(15):
            here = np.minimum((conf * 15).astype(int), 14) == b
            ece += abs(np.sum(right[here] - conf[here])) / len(q)
        want = [200, -np.mean(np.log(np.where(self.t == 1, q, 1 - q))), right.mean(), np.mean((q - self.t) ** 2), ece,
                np.mean((pairs > 0) + 0.5 * (pairs == 0))]
        np.testing.assert_allclose(list(s.values()), want, rtol=1e-9)
        self.bad(2, "fit", self.data, "-y", "y", "--beta=2", says=["gaussian"])

    def test_a_score_that_is_not_defined_is_said_to_be_so(self):
        self.good("fit", self.data, "-y", "last", "-o", self.file)
        one = "\n".join(str(i) for i in np.flatnonzero(self.t == 1)[:5])
        rows = self.write("one.txt", (one + "\n").encode())
        said = self.good("score", self.file, self.data, "--rows", rows)
        self.assertIn("auc          not defined", said)
        self.assertNotIn("nan", said)
        self.assertIsNone(self.good_json("score", self.file, self.data, "--rows", rows)["auc"])

    def test_the_mode_is_that_of_newton(self):
        self.good("fit", self.data, "-y", "y", "-m", "laplace", "--alpha=1", "-o", self.file)
        Z = np.column_stack([(self.X - self.X.mean(0)) / self.X.std(0), np.ones(200)])
        A, w = np.diag([1, 1, 1, 1e-4]), np.zeros(4)
        for _ in range(50):
            p = 1 / (1 + np.exp(-Z @ w))
            H = A + Z.T * (p * (1 - p)) @ Z
            w = w + np.linalg.solve(H, Z.T @ (self.t - p) - A @ w)
        coefficients = self.good_json("info", self.file)["coefficients"]
        np.testing.assert_allclose([c["mean"] for c in coefficients[:3]], w[:3] / self.X.std(0), rtol=1e-7)
        np.testing.assert_allclose([c["sd"] for c in coefficients[:3]],
                                   np.sqrt(np.diag(np.linalg.inv(H))[:3]) / self.X.std(0), rtol=1e-6)

    def test_libsvm_labels_need_no_target(self):
        text = "".join("%+d %s\n" % (2 * t - 1, " ".join("%d:%r" % (i + 1, float(v)) for i, v in enumerate(x)))
                       for x, t in zip(self.X, self.t))
        data = self.write("b.svm", text.encode())
        said = self.good_json("fit", data, "-o", self.file, "--alpha=1")
        self.assertEqual((said["target"], said["likelihood"]), ("label", "bernoulli"))
        short = self.write("s.svm", b"+1 1:0.5\n-1 1:1 2:3\n")
        self.assertEqual(self.good_json("score", self.file, short)["n"], 2)

    def test_counts_that_are_all_zero_are_refused(self):
        r = np.random.RandomState(5)
        data = self.write("z.csv", csv(np.column_stack([r.randn(50, 2), np.zeros(50)]), ["a", "b", "y"]))
        for method in ("laplace", "map"):
            self.bad(1, "fit", data, "-y", "y", "--likelihood", "poisson", "-m", method, says=("'y'", "all 50 counts are 0"))

    def test_few_whole_numbers_may_be_classes(self):
        r = np.random.RandomState(2)
        for lowest, words in ((0, ("categorical", "poisson")), (-1, ("categorical",))):
            y = r.randint(lowest, lowest + 4, len(self.X))
            data = self.write("f.csv", csv(np.column_stack([self.X, y]), ["a", "b", "c", "y"]))
            said = [line for line in self.good("fit", data, "-y", "y", "--alpha=1").split("\n") if "whole numbers" in line]
            self.assertEqual(len(said), 1)
            self.assertTrue(said[0].startswith("4 whole numbers: if 'y' has classes, say --likelihood categorical"), said)
            self.assertEqual([w for w in ("categorical", "poisson") if w in said[0]], list(words))

    def test_small_whole_numbers_may_be_counts_and_prices_are_none(self):
        r = np.random.RandomState(3)
        rate = np.exp(1.5 + 0.8 * self.X[:, 0])
        hint = "\nwhole numbers: if 'y' counts, say --likelihood poisson\n"
        targets = [(r.poisson(rate), True), (r.poisson(rate * r.gamma(0.5, 2, len(rate))), True),  # counts, also of a rate that varies
                   (r.poisson(rate) - 1, False), (np.round(100 * np.exp(7 + r.randn(len(rate)))), False), (r.randint(18, 90, len(rate)), False),
                   (np.round(np.exp(3 * r.randn(len(rate)))), False)]
        for y, counts in targets:
            data = self.write("f.csv", csv(np.column_stack([self.X, y]), ["a", "b", "c", "y"]))
            self.assertEqual(hint in self.good("fit", data, "-y", "y", "--alpha=1"), counts, y)

    def test_an_exposure_is_an_offset_of_logarithms(self):
        r = np.random.RandomState(7)
        n = len(self.X)
        time = r.uniform(0.5, 20, n)
        y = r.poisson(time * np.exp(0.3 * self.X[:, 0] - 1))
        means = []
        for name, column, offset in (("e", time, "log:e"), ("e", np.log(time), "e"), ("log:e", np.log(time), "log:e")):
            data = self.write("e.csv", csv(np.column_stack([self.X, column, y]), ["a", "b", "c", name, "y"]))
            self.good("fit", data, "-y", "y", "--likelihood", "poisson", "--offset", offset, "-o", self.file, "--alpha=1")
            coefficients = self.good_json("info", self.file)["coefficients"]
            self.assertEqual([c["name"] for c in coefficients], ["a", "b", "c", "intercept"])
            means.append([c["mean"] for c in coefficients] + [self.good_json("score", self.file, data)["nll"]])
        np.testing.assert_allclose(means[0], means[1], rtol=1e-12)
        np.testing.assert_allclose(means[0], means[2], rtol=1e-12)
        data = self.write("e.csv", csv(np.column_stack([self.X, 0 * time, y]), ["a", "b", "c", "e", "y"]))
        self.bad(1, "fit", data, "-y", "y", "--likelihood", "poisson", "--offset", "log:e", says=("'log:e'", "row 0", "more than 0"))

    def test_counts_that_are_spread_have_a_size(self):
        r = np.random.RandomState(8)
        mean = np.exp(0.4 * self.X[:, 0] + 1)
        y = r.negative_binomial(1.5, 1.5 / (1.5 + mean))
        data = self.write("n.csv", csv(np.column_stack([self.X, y]), ["a", "b", "c", "y"]))
        args = ("fit", data, "-y", "y", "-o", self.file, "--likelihood")
        self.assertIn("say --likelihood negative-binomial", self.good(*args, "poisson", "--alpha=1"))
        poisson = self.good_json("score", self.file, data)
        said = self.good_json(*args, "negative-binomial", "--alpha=1")
        self.assertTrue(0.7 < said["beta"] < 3 and 0.6 < said["dispersion"] < 1.4, said)
        self.assertEqual(said["settings"]["beta"], said["beta"])
        score = self.good_json("score", self.file, data)
        self.assertEqual(list(score), ["n", "nll", "rmse", "dispersion"])
        self.assertTrue(score["nll"] < poisson["nll"] - 0.1 and 0.6 < score["dispersion"] < 1.4)
        self.bad(1, "fit", data, "-y", "y", "--likelihood", "negative-binomial", "-m", "lrvga", says=("laplace and map",))

    def test_counts_are_not_guessed(self):
        y = np.random.RandomState(1).poisson(np.exp(0.3 * self.X[:, 0] + 1))
        data = self.write("c.csv", csv(np.column_stack([self.X, y]), ["a", "b", "c", "y"]))
        self.assertIn("--likelihood poisson", self.good("fit", data, "-y", "y"))
        said = self.good_json("fit", data, "-y", "y", "--likelihood", "poisson", "-o", self.file, "--alpha=1")
        self.assertEqual((said["likelihood"], said["guessed"]), ("poisson", False))
        s = self.good_json("score", self.file, data)
        self.assertEqual(list(s), ["n", "nll", "rmse", "dispersion"])
        self.assertTrue(0.7 < s["dispersion"] < 1.3, s)
        self.assertEqual(self.good("predict", "--full", self.file, data).split("\n")[0], "mean,sd,lower,upper")


class Calibrated(Case):
    """A fifth of the rows is left out; intervals, sets and temperatures come from them."""

    def setUp(self):
        super().setUp()
        r = np.random.RandomState(11)
        X = r.randn(1300, 3)
        y = X[:, 0] + 2 * X[:, 1] ** 2 + (0.2 + np.abs(X[:, 2])) * r.standard_t(2, 1300)
        kind = np.where(y > 4, "castle,big", np.where(y > 1.5, 'say "flat"', "hut"))
        self.y, self.kind = y[1000:], kind[1000:]
        self.file = self.path("q.safetensors")
        for name, rows in (("old", slice(0, 1000)), ("new", slice(1000, None))):
            lines = ['%r,%r,%r,%r,"%s"' % (*map(float, x), float(t), k.replace('"', '""'))
                     for x, t, k in zip(X[rows], y[rows], kind[rows])]
            self.write(name + "_y.csv", ("a,b,c,y\n" + "\n".join(l[:l.index(',"')] for l in lines) + "\n").encode())
            lines = [",".join(l.split(",", 4)[:3] + [l.split(",", 4)[4]]) for l in lines]
            self.write(name + "_k.csv", ("a,b,c,kind\n" + "\n".join(lines) + "\n").encode())

    def predicted(self, data):
        import csv as reader
        rows = list(reader.reader(self.good("predict", "--full", self.file, data).splitlines()))
        return rows[0], rows[1:]

    def test_intervals_are_so_many_sd_and_cover(self):
        said = self.good_json("fit", self.path("old_y.csv"), "-y", "y", "--calibrate", "conformal", "-o", self.file)
        c = said["calibration"]
        self.assertEqual(list(c), ["way", "rows", "quantile50", "quantile90", "quantile95"])
        self.assertEqual((c["way"], c["rows"], said["n"], said["rows"]), ("conformal", 200, 800, 1000))
        names, rows = self.predicted(self.path("new_y.csv"))
        mean, sd, lower, upper = np.array(rows, float).T
        np.testing.assert_allclose(upper - mean, c["quantile90"] * sd, rtol=1e-12)
        np.testing.assert_allclose(mean - lower, c["quantile90"] * sd, rtol=1e-12)
        s = self.good_json("score", self.file, self.path("new_y.csv"))
        self.assertEqual(s["calibration"], c)
        self.assertAlmostEqual(s["coverage90"], np.mean((self.y >= lower) & (self.y <= upper)), 12)
        self.assertAlmostEqual(s["coverage50"], np.mean(abs(self.y - mean) <= c["quantile50"] * sd), 12)
        self.assertIn("200 rows left out", self.good("score", self.file, self.path("new_y.csv")))

    def test_sets_are_a_column(self):
        c = self.good_json("fit", self.path("old_k.csv"), "-y", "kind", "--calibrate", "conformal", "-o", self.file)["calibration"]
        names, rows = self.predicted(self.path("new_k.csv"))
        self.assertEqual(names, ["class", "p_castle,big", "p_hut", 'p_say "flat"', "set"])
        self.assertEqual([r[0] for r in rows], [names[1 + int(np.argmax([float(v) for v in r[1:4]]))][2:] for r in rows])
        names, rows = names[1:], [r[1:] for r in rows]
        labels, p = [n[2:] for n in names[:3]], np.array([r[:3] for r in rows], float)
        sets = [r[3].split("|") for r in rows]
        for q, chosen in zip(p, sets):
            self.assertEqual(chosen, [l for l, v in zip(labels, q) if -math.log(v) <= c["quantile90"] or v == max(q)])
        s = self.good_json("score", self.file, self.path("new_k.csv"))
        self.assertEqual(list(s), ["n", "nll", "accuracy", "brier", "ece", "auc", "coverage90", "set_size90", "calibration"])
        self.assertAlmostEqual(s["coverage90"], np.mean([k in chosen for k, chosen in zip(self.kind, sets)]), 12)
        self.assertAlmostEqual(s["set_size90"], np.mean([len(chosen) for chosen in sets]), 12)

    def test_a_temperature_is_said_and_used(self):
        said = self.good_json("fit", self.path("old_k.csv"), "-y", "kind", "--calibrate", "temperature", "-o", self.file)
        c = said["calibration"]
        self.assertEqual(list(c), ["way", "rows", "temperature", "temperature_sd"])
        names, rows = self.predicted(self.path("new_k.csv"))
        p = np.array([r[1:] for r in rows], float)
        labels = [n[2:] for n in names[1:]]
        nll = -np.mean([math.log(q[labels.index(k)]) for q, k in zip(p, self.kind)])
        s = self.good_json("score", self.file, self.path("new_k.csv"), "--samples", "100")
        self.assertEqual(s["calibration"], c)
        self.assertAlmostEqual(self.good_json("score", self.file, self.path("new_k.csv"))["nll"], nll, 12)
        self.assertIn("temperature %.4g +- %.2g" % (c["temperature"], c["temperature_sd"]),
                      self.good("fit", self.path("old_k.csv"), "-y", "kind", "--calibrate", "temperature"))

    def test_selective_is_the_error_of_the_surest(self):
        self.good("fit", self.path("old_y.csv"), "-y", "y", "-o", self.file, "--quiet")
        mean, sd, _, _ = np.array(self.predicted(self.path("new_y.csv"))[1], float).T
        order = np.argsort(sd)
        s = self.good_json("score", self.file, self.path("new_y.csv"), "--selective")["selective"]
        self.assertEqual([one["left"] for one in s], [0.1, 0.2, 0.5])
        for one in s:
            kept = order[:round(300 * (1 - one["left"]))]
            self.assertAlmostEqual(one["rmse"], np.sqrt(np.mean((self.y[kept] - mean[kept]) ** 2)), 10)
        self.assertIn("most uncertain 50 %", self.good("score", self.file, self.path("new_y.csv"), "--selective"))

    def test_what_cannot_be_is_refused(self):
        fit = ["fit", self.path("old_y.csv"), "-y", "y", "--calibrate"]
        self.bad(2, *fit, "luck", says=["'luck'"])
        self.bad(2, *fit, "temperature", says=["gaussian", "conformal"])
        self.bad(2, *fit, "conformal", "-m", "lrvga", says=["stream"])
        self.good(*fit, "conformal", "-o", self.file, "--quiet")
        self.bad(2, "predict", self.file, self.path("new_y.csv"), "--seed", "3", says=["rows left out"])
        self.bad(1, "update", self.file, self.path("new_y.csv"), says=["batch method"])


class Words(Case):
    """Columns of words, missing values, and targets with several classes."""

    def setUp(self):
        super().setUp()
        r = np.random.RandomState(5)
        self.colour, self.size = r.randint(0, 3, 80), r.randn(80)
        self.y = np.array([1.0, 3.0, -2.0])[self.colour] + 2 * self.size + 0.3 * r.randn(80)
        self.words = ["red", "green", "blue, dark"]
        self.file = self.path("q.safetensors")

    def table(self, name, colour, size, y):
        lines = ["colour,size,y"] + ['"%s",%s,%r' % (c, s, v) for c, s, v in zip(colour, size, y.tolist())]
        return self.write(name, ("\n".join(lines) + "\n").encode())

    def data(self):
        return self.table("d.csv", [self.words[c] for c in self.colour], self.size.tolist(), self.y)

    def hot(self):
        """One column per level, the levels sorted, and the size."""
        order = sorted(self.words)
        H = np.array([[float(self.words[c] == w) for w in order] for c in self.colour])
        return np.column_stack([H, self.size])

    def coefficients(self):
        return np.array([[c["mean"], c["sd"]] for c in self.good_json("info", self.file)["coefficients"]])

    def test_levels_are_columns_of_zeros_and_ones(self):
        self.good("fit", self.data(), "-y", "y", "-o", self.file, "--alpha=0.7", "--beta=3")
        mean, S, _ = ridge(self.hot(), self.y, 0.7, 3)
        names = [c["name"] for c in self.good_json("info", self.file)["coefficients"]]
        self.assertEqual(names, ["colour=blue, dark", "colour=green", "colour=red", "size", "intercept"])
        np.testing.assert_allclose(self.coefficients(), np.column_stack([mean, np.sqrt(np.diag(S))]), rtol=1e-9)
        lines = self.good("predict", "--full", self.file, self.data()).split("\n")[1:-1]
        np.testing.assert_allclose([float(l.split(",")[0]) for l in lines],
                                   np.column_stack([self.hot(), np.ones(80)]) @ mean, rtol=1e-9)

    def test_a_level_of_no_fit_is_refused(self):
        self.good("fit", self.data(), "-y", "y", "-o", self.file)
        pink = self.table("p.csv", ["red", "pink"], [1, 2], np.zeros(2))
        self.bad(1, "predict", self.file, pink, says=["p.csv", "'colour'", "row 1", "'pink'", "3 levels"])

    def test_numbers_are_read_as_words_when_asked(self):
        text = self.table("n.csv", ["%d" % (7 * c) for c in self.colour], self.size.tolist(), self.y)
        self.good("fit", text, "-y", "y", "-o", self.file, "--categorical", "colour", "--alpha=0.7", "--beta=3")
        names = [c["name"] for c in self.good_json("info", self.file)["coefficients"]]
        self.assertEqual(names[:3], ["colour=0", "colour=14", "colour=7"])
        self.assertEqual(self.good_json("score", self.file, text)["n"], 80)
        self.bad(2, "fit", text, "-y", "y", "--categorical", "color", says=["did you mean 'colour'?"])

    def test_missing_values_are_refused_dropped_or_the_mean(self):
        size, y = ["%r" % v for v in self.size], self.y.copy()
        size[3], size[5], y[7] = "NA", "", np.nan
        data = self.table("m.csv", [self.words[c] for c in self.colour], size, y)
        self.bad(1, "fit", data, "-y", "y", says=["m.csv", "line 5", "'size'", "'NA' is a missing value", "--missing mean"])
        gap = self.table("gap.csv", [self.words[c] for c in self.colour], ["%r" % v for v in self.size], y)
        done = self.bad(1, "fit", gap, "-y", "y", says=["line 9", "'y'", "of the target; --missing drop leaves the row out"])
        self.assertNotIn("mean", done)  # fills features alone
        self.assertEqual(done.count("gap.csv"), 1, done)
        self.good("fit", self.data(), "-y", "y", "-m", "lrvga", "-k", "2", "-o", self.file)
        for rows, says in ((data, "fit with --missing mean"), (gap, "of the target: such a row can only be left out")):
            self.assertNotIn("--missing drop", self.bad(1, "update", self.file, rows, says=[says]))
        said = self.good_json("fit", data, "-y", "y", "--missing", "drop", "-o", self.file, "--alpha=0.7", "--beta=3")
        keep = np.setdiff1d(np.arange(80), [3, 5, 7])
        self.assertEqual((said["n"], said["dropped"]), (77, 3))
        np.testing.assert_allclose(self.coefficients()[:, 0], ridge(self.hot()[keep], self.y[keep], 0.7, 3)[0], rtol=1e-9)
        done = self.run_it("predict", "--full", self.file, data)
        self.assertEqual([i for i, line in enumerate(done.stdout.split()[1:]) if b"NA" in line], [3, 5])
        self.assertIn(b"2 of 80 rows are NA", done.stderr)
        said = self.good_json("fit", data, "-y", "y", "--missing", "mean", "-o", self.file, "--alpha=0.7", "--beta=3")
        self.assertEqual((said["n"], said["dropped"]), (79, 1))
        mean = np.mean(np.delete(self.size, [3, 5, 7]))
        lines = self.good("predict", "--full", self.file, data).split("\n")[1:-1]
        b, at = self.coefficients()[:, 0], sorted(self.words).index(self.words[self.colour[3]])
        self.assertAlmostEqual(float(lines[3].split(",")[0]), b[at] + b[3] * mean + b[4], places=9)

    def test_words_are_classes(self):
        r = np.random.RandomState(2)
        X = r.randn(300, 2)
        kind = np.argmax(X @ r.randn(2, 3) * 3 + r.gumbel(size=(300, 3)), 1)
        names = ["setosa", "virginica", "versicolor"]
        lines = ["a,b,kind"] + ["%r,%r,%s" % (a, b, names[k]) for (a, b), k in zip(X.tolist(), kind)]
        data = self.write("k.csv", ("\n".join(lines) + "\n").encode())
        said = self.good_json("fit", data, "-y", "kind", "-o", self.file)
        self.assertEqual((said["likelihood"], said["method"]), ("categorical", "vga"))
        out = self.good("predict", "--full", self.file, data).split("\n")
        self.assertEqual(out[0], "class,p_setosa,p_versicolor,p_virginica")
        p = np.array([[float(v) for v in l.split(",")[1:]] for l in out[1:-1]])
        np.testing.assert_allclose(p.sum(1), 1, rtol=1e-12)
        right = np.array([sorted(names).index(names[k]) for k in kind])
        s = self.good_json("score", self.file, data)
        self.assertEqual(list(s), ["n", "nll", "accuracy", "brier", "ece", "auc"])
        np.testing.assert_allclose([s["nll"], s["accuracy"]],
                                   [-np.mean(np.log(p[np.arange(300), right])), np.mean(p.argmax(1) == right)], rtol=1e-9)
        first = self.good_json("info", self.file)["coefficients"]
        self.assertEqual([(c["class"], c["name"]) for c in first[:4]],
                         [("setosa", "a"), ("setosa", "b"), ("setosa", "intercept"), ("versicolor", "a")])
        drawn = self.good_json("score", self.file, data, "--samples", "2000", "--seed", "3")
        self.assertLess(abs(drawn["nll"] - s["nll"]), 0.01)

    def test_draws_are_in_the_users_units(self):
        self.good("fit", self.data(), "-y", "y", "-o", self.file)
        want, draws = self.coefficients(), self.draws(self.file, 20000)
        se = want[:, 1] / math.sqrt(20000)  # five means within 5 se: false alarm 3e-6
        self.assertTrue(np.all(abs(draws.mean(0) - want[:, 0]) < 5 * se))
        np.testing.assert_allclose(draws.std(0), want[:, 1], rtol=5 / math.sqrt(40000))
        np.testing.assert_allclose(self.draws(self.file, 50, "--dtype", "f32"), draws[:50], rtol=1e-6, atol=1e-6)

    def test_the_example_in_C_predicts_with_words(self):
        example = os.path.join(os.path.dirname(self.program), "example_table")
        if not os.path.exists(example):
            self.skipTest("the examples are not built")
        done = subprocess.run([example], stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0)
        said = [line.replace(",", "").replace(":", "").split() for line in done.stdout.decode().splitlines()]
        table = self.write("example.csv", b"area,street,price\n52,elm,171\n75,oak,268\n110,oak,394\n64,elm,196\n"
                           b"88,oak,312\n131,elm,418\n45,elm,152\n97,oak,345\n70,elm,226\n120,oak,431\n83,elm,264\n"
                           b"58,oak,205\n")
        new = self.write("new.csv", b"area,street\n60,elm\n100,elm\n100,oak\n")
        self.good("fit", table, "-y", "price", "-o", self.path("e"))
        want = [line.split(",") for line in self.good("predict", "--full", self.path("e"), new).splitlines()[1:]]
        self.assertEqual([[w[3], w[-3], w[-1]] for w in said],
                         [["%.0f" % float(v[i]) for i in (0, 2, 3)] for v in want])


if __name__ == "__main__":
    run(Linear, Classes, Calibrated, Words)
