#!/usr/bin/python3
"""test_cli_vfe.py - sparse Gaussian processes from outside: test_cli_vfe.py FABAYES [NAME ..].

Makes its own tables with NumPy and holds what comes out against dense matrices with the parameters that were found.
Exit status: 0 all passed; 1 some failed; 77 NumPy is missing.
"""
# SPDX-License-Identifier: MIT
import json
import math
import shutil

from cli_case import Case, np, run

METHODS = ("vfe", "dtc", "fitc")


def csv(columns):
    names = list(columns)
    lines = [",".join(names)]
    for row in zip(*columns.values()):
        lines.append(",".join(v if isinstance(v, str) else repr(float(v)) for v in row))
    return ("\n".join(lines) + "\n").encode()


def tensor(path, name):
    """A tensor of a file, or one of its strings."""
    with open(path, "rb") as f:
        size = int.from_bytes(f.read(8), "little")
        head = json.loads(f.read(size))
        if name not in head:
            return head["__metadata__"][name]
        begin, end = head[name]["data_offsets"]
        f.seek(8 + size + begin)
        return np.frombuffer(f.read(end - begin), "<f8").reshape(head[name]["shape"])


class Sparse(Case):
    def setUp(self):
        super().setUp()
        r = np.random.RandomState(3)
        self.X = np.column_stack([r.uniform(-3, 3, 200), 100 + 50 * r.randn(200)])
        self.y = 500 + 40 * np.sin(1.3 * self.X[:, 0]) + 5 * r.randn(200)
        self.w = r.uniform(0.5, 2, 200)
        self.table = {"a": self.X[:, 0], "b": self.X[:, 1], "w": self.w, "o": np.linspace(0, 30, 200), "y": self.y}
        self.data = self.write("d.csv", csv(self.table))
        self.new = self.write("new.csv", csv({k: v[:9] + 0.1 for k, v in self.table.items()}))
        self.file = self.path("g.safetensors")

    def fit(self, *args, model="gp:rbf:ard", method="vfe", data=None):
        return self.good_json("fit", data or self.data, "-y", "y", "--model", model, "-m", method, "-o", self.file, *args)

    def rows(self, data, *args):
        lines = self.good("predict", "--full", *args, self.file, data).split("\n")
        return np.array([[float(v) for v in line.split(",")] for line in lines[1:] if line])

    def test_objective_and_predictions_are_those_of_dense_matrices_with_what_the_file_says(self):
        for method in METHODS:
            said = self.fit("--inducing=12", "--weight", "w", "--offset", "o", method=method)
            t = {p["name"]: p["fitted"] for p in said["theta"]}
            l, s2, noise = np.array([t["rbf.l.a"], t["rbf.l.b"]]), t["rbf:ard.s2"], t["noise"]
            head = json.loads(tensor(self.file, "scaling"))
            scale = {n: (m, s) for n, m, s in zip(head["columns"], head["means"], head["scales"])}
            to = lambda A: np.column_stack([(A[:, i] - scale[n][0]) / scale[n][1] for i, n in enumerate("ab")])
            ym, ys = head["target_mean"], head["target_scale"]
            k = lambda A, B: s2 * np.exp(-0.5 * (((A[:, None] - B[None]) / l) ** 2).sum(-1))
            Z, X = tensor(self.file, "X"), to(self.X)
            y = (self.y - self.table["o"] - ym) / ys
            W = np.linalg.solve(k(Z, Z), k(Z, X))
            Q = k(X, Z) @ W
            d = noise / self.w + (s2 - np.diag(Q) if method == "fitc" else 0)
            C = Q + np.diag(d)
            lml = -0.5 * y @ np.linalg.solve(C, y) - 0.5 * np.linalg.slogdet(C)[1] - len(y) / 2 * math.log(2 * math.pi)
            if method == "vfe":
                lml -= ((s2 - np.diag(Q)) * self.w / noise).sum() / 2
            np.testing.assert_allclose(said["bound" if method == "vfe" else "approximate_lml"], lml, rtol=1e-7)
            self.assertNotIn("lml", said)
            q = k(to(self.X[:9] + 0.1), Z) @ W
            got = self.rows(self.new)
            mean = ym + ys * (q @ np.linalg.solve(C, y)) + self.table["o"][:9] + 0.1
            np.testing.assert_allclose(got[:, 0], mean, rtol=1e-7)
            v = s2 - np.diag(q @ np.linalg.solve(C, q.T)) + noise
            np.testing.assert_allclose(got[:, 1], ys * np.sqrt(v), rtol=1e-6)

    def test_all_rows_as_inputs_are_gp(self):
        given = ("--beta=30",)
        exact = self.fit(*given, model="gp:1.5*rbf:l=1", method="gp")
        want = self.rows(self.new)
        for method in METHODS:
            said = self.fit(*given, "--inducing=2000", model="gp:1.5*rbf:l=1", method=method)
            np.testing.assert_allclose(said["log_evidence"], exact["lml"], rtol=1e-6)
            np.testing.assert_allclose(self.rows(self.new), want, rtol=1e-6)

    def test_two_updates_of_a_file_are_one_with_the_rows_of_both(self):
        more = {k: v[:60] + 0.01 for k, v in self.table.items()}
        for method in METHODS:
            self.good("fit", self.data, "-y", "y", "--model", "gp:rbf:ard + linear", "-m", method, "--inducing=20", "-o", self.file, "--quiet")
            files = []
            for parts in ((0, 60), (0, 7, 60)):
                out = self.path("u%d.safetensors" % len(parts))
                shutil.copy(self.file, out)
                for a, b in zip(parts, parts[1:]):
                    said = self.good_json("update", out, self.write("part.csv", csv({k: v[a:b] for k, v in more.items()})), "--threads", len(parts))
                with open(out, "rb") as f:
                    files.append(f.read())
            self.assertEqual(said["n"], 260)
            self.assertEqual(files[0], files[1])

    def test_updated_rows_are_as_if_they_had_been_there(self):
        args = ("--inducing=9", "--beta=40", "--no-scale", "-y", "y", "--model", "gp:900*rbf:col=a:l=1 + 250000*const", "-m", "vfe")
        first = self.write("first.csv", csv({k: v[:150] for k, v in self.table.items()}))
        rest = self.write("rest.csv", csv({k: v[150:] for k, v in self.table.items()}))
        self.good("fit", first, *args, "-o", self.file, "--quiet")
        Z = tensor(self.file, "X")[:, 0]
        more = self.good_json("update", self.file, rest)
        k = lambda a, b: 900 * np.exp(-0.5 * (a[:, None] - b[None]) ** 2) + 250000
        W = np.linalg.solve(k(Z, Z), k(Z, self.X[:, 0]))
        C = k(self.X[:, 0], Z) @ W + np.eye(200) / 40
        np.testing.assert_allclose(self.rows(self.new)[:, 0], k(self.X[:9, 0] + 0.1, Z) @ W @ np.linalg.solve(C, self.y), rtol=1e-5)
        self.assertEqual((more["n"], more["rows"], more["inducing"]), (200, 50, 9))

    def test_info_sample_score_report_tune_and_calibrate_take_it(self):
        self.fit("--inducing=15")
        text = self.good("info", self.file)
        for words in ("15 inputs", "bound of the log evidence", "length-scale", "on 200 rows"):
            self.assertIn(words, text)
        self.assertEqual(self.good_json("score", self.file, self.data)["n"], 200)
        out = self.path("f.npy")
        self.good("sample", self.file, self.new, "-n", 3000, "-o", out, "--quiet")
        f, rows = np.load(out), self.rows(self.new)
        noise = [t["value"] for t in self.good_json("info", self.file)["theta"] if t["name"] == "noise"][0]
        sd = np.sqrt(rows[:, 1] ** 2 - noise)
        np.testing.assert_array_less(abs(f.mean(0) - rows[:, 0]), 5 * sd / np.sqrt(3000))
        np.testing.assert_array_less(abs(f.std(0) / sd - 1), 5 / np.sqrt(6000))
        page = self.path("page.html")
        self.good("report", self.file, self.data, "-o", page, "--quiet")
        said = self.good_json("tune", self.data, "-y", "y", "--model", "gp:rbf", "-m", "vfe", "--inducing=5", "--beta=1:100:log", "--trials", "2", "--folds", "3")
        self.assertEqual(len(said["trials"]), 2)
        self.assertEqual(self.fit("--inducing=8", "--calibrate", "conformal")["calibration"]["way"], "conformal")
        self.bad(1, "compare", self.file, self.file, says=("Gaussian process",))

    def test_words_are_columns_and_every_setting_can_be_given(self):
        words = [["oak", "elm", "ash"][i % 3] for i in range(200)]
        y = self.y + 30 * (np.arange(200) % 3)
        data = self.write("words.csv", csv({"a": self.X[:, 0], "tree": words, "y": y}))
        said = self.fit("--inducing=40", "--search_rows=100", "--starts=2", "--seed", 4, "--tol=1e-6", "--steps=9", "--optimise=1",
                        model="gp:rbf:col=a + rbf:col=tree", data=data)
        self.assertEqual((said["searched"], said["starts"]), (100, 2))
        self.assertGreater(said["r_squared"], 0.9)

    def test_many_rows_take_it_where_no_method_is_named(self):
        r = np.random.RandomState(1)
        x = r.uniform(-3, 3, 10001)
        data = self.write("many.csv", csv({"x": x, "y": np.sin(x) + 0.1 * r.randn(10001)}))
        args = ("fit", data, "-y", "y", "--model", "gp:1*rbf:l=1")
        said = self.good_json(*args, "--beta=100", "--inducing=12")
        self.assertEqual((said["method"], said["n"], said["inducing"]), ("vfe", 10001, 12))
        self.bad(1, *args, "-m", "gp", says=("exact_limit = 10000", "2.4 GB", "-m vfe", "nystrom:1*rbf:l=1:500", "rff:"))

    def test_what_cannot_be_is_refused_in_one_sentence(self):
        words = ["yes" if v > 500 else "no" for v in self.y]
        two = self.write("two.csv", csv({"a": self.X[:, 0], "kind": words}))
        for method in METHODS:
            self.bad(1, "fit", two, "-y", "kind", "--model", "gp:rbf", "-m", method, says=(method, "bernoulli", "nystrom:rbf:500"))
            self.bad(2, "fit", self.data, "-y", "y", "-m", method, says=("a model with a kernel",))
        self.bad(2, "fit", self.data, "-y", "y", "--model", "gp:rbf", "-m", "vfe", "--inducing=0", says=("inducing",))
        flat = self.write("flat.csv", csv({"a": self.X[:, 0], "y": 0 * self.y}))
        self.bad(1, "fit", flat, "-y", "y", "--model", "gp:rbf", "-m", "vfe", says=("constant",))


if __name__ == "__main__":
    run(Sparse)
