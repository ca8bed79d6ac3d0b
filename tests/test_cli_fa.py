#!/usr/bin/python3
"""test_cli_fa.py - `fabayes fa` and `update`, from outside: test_cli_fa.py FABAYES [NAME ..].

Makes its own tables with NumPy, runs the program and holds what comes out against dense algebra.
With the word Study behind the program: the long versions alone.
Exit status: 0 all passed; 1 some failed; 77 NumPy is missing.
"""
# SPDX-License-Identifier: MIT
import gzip
import json
import math
import os
import signal
import struct
import subprocess
import sys
import time

from cli_case import Case, np, run

KEYS = ["correlations", "dropped", "rotation", "test", "method", "settings", "D", "K", "n", "rows", "loglik_mean", "loglik_rows", "loglik_se", "factors", "floored",
        "floored_names",
        "constant_names", "iterations", "converged", "gain", "stream", "bytes", "seconds", "rows_per_s"]


def model_rows(n, D=29, K=3, seed=1):
    """Rows of a factor model with strong factors and a mean that is not 0."""
    r = np.random.RandomState(seed)
    F, psi = r.randn(D, K), 0.2 + r.rand(D)
    return 2.385 * r.randn(D) + r.randn(n, K) @ F.T + r.randn(n, D) * np.sqrt(psi)


def thesis_rows(D, K, lo, hi, n, seed):
    """[T] Alg. 4, rows scaled as its author's program does."""
    r = np.random.RandomState(seed)
    A = r.randn(D, D)
    V = np.linalg.eigh(A @ A.T)[1][:, ::-1][:, :K]
    s2 = r.uniform(lo, hi, D)
    mu, F, psi = r.randn(D), V * np.sqrt(s2)[:, None], r.uniform(0, s2.max(), D)
    return mu + r.randn(n, K) @ F.T + r.randn(n, D) * np.sqrt(psi)


def csv(X, names=None, comma=","):
    lines = [comma.join(names)] if names else []
    return ("\n".join(lines + [comma.join(repr(float(v)) for v in row) for row in X]) + "\n").encode()


def read_tensors(path):
    """(tensors, metadata) of a safetensors file."""
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    header, body = json.loads(data[8:8 + size]), data[8 + size:]
    meta = header.pop("__metadata__")
    types = {"F64": np.float64, "F32": np.float32, "I64": np.int64}
    return {k: np.frombuffer(body[v["data_offsets"][0]:v["data_offsets"][1]], types[v["dtype"]])
            .reshape(v["shape"]) for k, v in header.items()}, meta


def dense(t):
    return t["F"].astype(float) @ t["F"].astype(float).T + np.diag(t["psi"])


def loglik(X, mu, S):
    y = np.linalg.solve(np.linalg.cholesky(S), (X - mu).T)
    return -0.5 * (len(mu) * math.log(2 * math.pi) + np.linalg.slogdet(S)[1] + (y * y).sum(0).mean())


class FaCase(Case):
    def table(self, X, name="x.csv", names=None):
        return self.write(name, csv(X, names))

    def npy(self, X, name="x.npy"):
        np.save(self.path(name), X)
        return self.path(name)

    def bytes_of(self, path):
        with open(path, "rb") as f:
            return f.read()

    def fit(self, data, k, *args, out="q"):
        """The file of a fit, quietly."""
        self.assertEqual(self.good("fa", data, "-k", k, "-o", self.path(out), "--quiet", *args), "")
        return self.path(out)

    def refused(self, data, k, *args, says=(), status=1):
        """A refusal that leaves the old output as it was, and nothing beside it."""
        out = self.write("old", b"the old bytes")
        before = sorted(os.listdir(self.folder))
        self.bad(status, "fa", data, "-k", k, "-o", out, "--quiet", *args, says=says)
        self.assertEqual(self.bytes_of(out), b"the old bytes")
        self.assertEqual(sorted(os.listdir(self.folder)), before)


class Fa(FaCase):
    def test_a_stream_is_learned_as_well_as_by_batch(self):
        X = model_rows(5000)
        data = self.npy(X)
        q, m = self.fit(data, 3), self.fit(data, 3, "-m", "ml", out="m")
        j = self.good_json("compare", q, m)
        self.assertLess(j["mean_distance"], 1e-12)
        self.assertLess(j["covariance_distance"], 0.01)
        S = np.cov(X.T, bias=True)
        for file in (q, m):
            self.assertLess(np.linalg.norm(dense(read_tensors(file)[0]) - S) / np.linalg.norm(S), 0.05)

    def test_json_says_what_was_found(self):
        X = model_rows(3000)
        j = self.good_json("fa", self.npy(X), "-k", 3, "-o", self.path("q"))
        self.assertEqual(sorted(j), sorted(KEYS + ["output"]))
        self.assertEqual((j["method"], j["D"], j["K"], j["n"], j["rows"]), ("online-ml", 29, 3, 3000, 3000))
        self.assertEqual((j["floored"], j["floored_names"], j["constant_names"]), (0, [], []))
        t = read_tensors(self.path("q"))[0]
        self.assertLess(abs(j["loglik_mean"] - loglik(X, t["mu"], dense(t))), 0.01)
        shares = np.linalg.eigvalsh(t["F"].T @ t["F"])[::-1] / np.trace(dense(t))
        np.testing.assert_allclose(j["factors"], shares, rtol=1e-9)
        self.assertGreater(j["rows_per_s"], 0)

    def test_a_person_sees_the_same(self):
        text = self.good("fa", self.npy(model_rows(3000)), "-k", 3)
        for line in ("method .*online-ml, D = 29, K = 3", "rows .*3000 of ", "log-likelihood .*per row",
                     r"variance +[\d.]+ % in the factors", "each factor", "time .*rows/s"):
            self.assertRegex(text, "(?m)^" + line)
        self.assertNotIn("saved", text)

    def test_every_method_fits(self):
        X = model_rows(400, D=7, K=2)
        data = self.npy(X)
        for m in self.good_json("methods")["methods"]:
            if m["verb"] != "fa":
                continue
            done = self.run_it("fa", data, "-k", 2, "-m", m["name"], "--json", "-o", self.path(m["name"]))
            self.assertEqual(done.returncode, 0, done.stderr)
            j = json.loads(done.stdout)
            self.assertEqual((j["method"], j["n"], j["K"]), (m["name"], 400, 2))
            self.assertIn(j["converged"], (None, True, False))
            t = read_tensors(self.path(m["name"]))[0]
            np.testing.assert_allclose(t["mu"], X.mean(0), atol=0.2)

    def test_a_fit_that_still_improves_says_so(self):
        data = self.table(model_rows(300), "d.csv")
        for method in ("em", "ml"):
            for most, end in ((3, False), (5000, True)):
                j = json.loads(self.run_it("fa", data, "-k", 3, "-m", method, "--max_iter=%d" % most, "--json").stdout)
                self.assertIs(j["converged"], end, (method, most))
                if method == "em":
                    self.assertEqual(j["gain"] > 1e-3, not end)
            text = self.run_it("fa", data, "-k", 3, "-m", method, "--max_iter=3").stdout.decode()
            self.assertIn("stopped at max_iter: raise --max_iter", text)

    def test_rows_are_scored_before_they_are_learned(self):
        X = model_rows(3000)
        j = self.good_json("fa", self.table(X, "d.csv"), "-k", 3, "-o", self.path("q"))
        s = j["stream"]
        self.assertEqual((s["of"], s["all"]["rows"]), ("vectors", 3000 - 256))  # 8 D = 232
        self.assertLess(s["all"]["scored"], 3000 - 256)
        # the rows themselves have a log-likelihood that is higher by what one learns of them: (parameters) / rows
        self.assertLess(abs(s["recent"]["log_density"] - j["loglik_mean"]), 4 * s["recent"]["log_density_se"] + 0.2)
        self.assertEqual(self.good_json("info", self.path("q"))["stream"]["all"], s["all"])
        self.assertNotIn("stream", self.good_json("fa", self.path("d.csv"), "-k", "auto"))

    def test_every_format_gives_the_same_bytes(self):
        X = model_rows(300, D=5, K=2)
        whole = self.bytes_of(self.fit(self.npy(X), 2))
        files = [self.table(X), self.write("x.tsv", csv(X, None, "\t")), self.write("x.txt", csv(X, None, " ")),
                 self.write("x.csv.gz", gzip.compress(csv(X)))]
        for file in files:
            self.assertEqual(self.bytes_of(self.fit(file, 2, out="p")), whole, file)
        with open(files[0], "rb") as f:
            done = self.run_it("fa", "-", "-k", 2, "-o", self.path("p"), "--quiet", stdin=f)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.bytes_of(self.path("p")), whole)

    def test_the_label_of_libsvm_is_no_coordinate(self):
        X = model_rows(300, D=5, K=2)
        lines = ["%d %s" % (i % 2, " ".join("%d:%r" % (d + 1, float(v)) for d, v in enumerate(row)))
                 for i, row in enumerate(X)]
        data = self.write("x.svm", ("\n".join(lines) + "\n").encode())
        whole = self.bytes_of(self.fit(self.npy(X), 2))
        self.assertEqual(self.bytes_of(self.fit(data, 2, "--format=libsvm", "--features=5", out="p")), whole)
        self.bad(2, "fa", self.npy(X), "-k", 2, "--features=5", says=["--features is for libsvm"])

    def test_a_libsvm_file_gives_the_bytes_of_its_dense_table(self):
        X = np.where(np.random.RandomState(2).rand(120, 9) < 0.4, model_rows(120, D=9, K=2), 0)
        X[:, 8] = 0.25 # the last feature is there in every row
        lines = ["1 " + " ".join("%d:%r" % (d + 1, float(v)) for d, v in enumerate(row) if v) for row in X]
        sparse = self.write("x.svm", ("\n".join(lines) + "\n").encode())
        dense = self.table(X)
        for m in ("recursive-em", "online-em", "stochastic-em", "online-sga", "ppca", "swag"):
            whole = self.bytes_of(self.fit(dense, 2, "-m", m, "--scores", self.path("z.csv")))
            self.assertEqual(self.bytes_of(self.fit(sparse, 2, "-m", m, "--scores", self.path("s.csv"), out="p")), whole)
            self.assertEqual(self.bytes_of(self.path("s.csv")), self.bytes_of(self.path("z.csv")))
        self.assertEqual(self.good_json("fa", sparse, "-k", 2)["constant_names"], ["x9"])

    def test_a_row_of_weight_w_counts_as_w_rows(self):
        X, w = model_rows(200, D=5, K=2), 1 + np.arange(200) % 3
        data = self.table(np.insert(X, 2, w, axis=1), names=["a", "b", "w", "c", "d", "e"])
        repeated = self.table(np.repeat(X, w, axis=0), "r.csv", ["a", "b", "c", "d", "e"])
        for m in ("recursive-em", "ml", "pca"): # sums in another order: rounding, and where `ml` stops
            args = ("-m", m) if m != "ml" else ("-m", m, "--tol=1e-12")
            a = read_tensors(self.fit(data, 2, *args, "--weight", "w", "--scores", self.path("z.npy"),
                                      "--loadings", self.path("l.csv")))[0]
            b = read_tensors(self.fit(repeated, 2, *args, out="p"))[0]
            np.testing.assert_allclose(a["mu"], b["mu"], rtol=1e-12)
            np.testing.assert_allclose(dense(a), dense(b), rtol=1e-5, atol=1e-5)
            self.assertEqual(np.load(self.path("z.npy")).shape, (200, 2))
            with open(self.path("l.csv")) as f:
                self.assertEqual([line.split(",")[0] for line in f], ["name", "a", "b", "c", "d", "e"])
        for m in ("recursive-em", "em"):
            bic = []
            for args in ((data, "--weight", "w"), (repeated,)):
                done = self.run_it("fa", *args, "-k", "auto", "-m", m, "--json")
                bic.append([c["bic"] for c in json.loads(done.stdout)["candidates"]])
            np.testing.assert_allclose(bic[0], bic[1], rtol=1e-6)
        for m in ("online-sga", "swag"):
            self.bad(2, "fa", data, "-k", 2, "-m", m, "--weight", "w", says=["have no weights", "recursive-em"])
        self.bad(2, "fa", data, "-k", 2, "--weight", "v", says=["there is no column 'v'"])
        self.bad(1, "fa", data, "-k", 2, "--weight", "a", says=["row ", "expected a number >= 0"])

    def test_a_column_too_many_is_refused_with_its_remedy(self):
        cells = "".join("%.4f,%.4f,%.4f,%d\n" % (*row[:3], i) for i, row in enumerate(model_rows(60)))
        data = self.write("t.csv", ("a,b,c,when\n" + cells).encode())
        q = self.fit(data, 1, "--exclude", "when")
        says = ["D = 3 coordinates and", "D = 4; --exclude leaves columns out"]
        self.bad(1, "update", q, data, says=says)
        self.bad(1, "report", q, data, "-o", self.path("page.html"), says=says)
        self.good("update", q, data, "--exclude", "when", "--quiet")
        self.good("report", q, data, "-o", self.path("page.html"), "--exclude", "when")

    def test_weights_go_on_in_update_and_resume(self):
        X, w = model_rows(200, D=5, K=2), 0.5 + np.arange(200) % 3
        names, T = ["a", "b", "w", "c", "d", "e"], np.insert(X, 2, w, axis=1)
        data, first = self.table(T, names=names), self.table(T[:90], "first.csv", names)
        rest = self.table(T[90:], "rest.csv", names)
        whole = self.bytes_of(self.fit(data, 2, "--weight", "w"))
        half = self.fit(first, 2, "--weight", "w", out="half")
        self.good("update", half, rest, "--quiet")
        self.assertEqual(self.bytes_of(half), whole)
        self.fit(first, 2, "--weight", "w", out="half")
        self.bad(1, "fa", data, "-k", 2, "-o", half, "--resume", says=["made with weights in column 'w'"])
        self.fit(data, 2, "--weight", "w", "--resume", out="half")
        self.assertEqual(self.bytes_of(half), whole)

    def test_swag_takes_each_row_for_an_iterate(self):
        X, K = np.random.RandomState(5).randn(40, 6), 3
        mean, V, last = np.zeros(6), np.zeros(6), []
        for n, x in enumerate(X, 1): # the deviation from the mean before it moves
            d = x - mean
            last.append(d)
            mean = mean + d / n
            V += d * (x - mean)
        t = read_tensors(self.fit(self.npy(X), K, "-m", "swag"))[0]
        L = np.array(last[-K:]).T
        np.testing.assert_allclose(t["mu"], mean, rtol=1e-12)
        np.testing.assert_allclose(t["psi"], V / 80, rtol=1e-12)
        np.testing.assert_allclose(t["F"] @ t["F"].T, L @ L.T / (2 * (K - 1)), rtol=1e-11, atol=1e-12)
        first = self.fit(self.npy(X[:25], "first.npy"), K, "-m", "swag", out="u")
        self.good("update", first, self.npy(X[25:], "rest.npy"), "--quiet")
        self.assertEqual(self.bytes_of(first), self.bytes_of(self.path("q")))
        diagonal = read_tensors(self.fit(self.npy(X), 0, "-m", "swag", out="d"))[0]
        np.testing.assert_allclose(diagonal["psi"], V / 40, rtol=1e-12)
        text = self.good("fa", self.npy(X), "-k", 2, "-m", "swag")
        self.assertNotIn("nan", text)
        self.assertNotIn("log-likelihood", text) # not known
        self.bad(2, "fa", self.npy(X), "-k", "auto", "-m", "swag", says=["swag learns one rank"])
        self.bad(2, "fa", self.npy(X), "-k", 2, "-m", "swag", "--K=4", says=["K from -k"])

    def test_rows_keeps_the_rows_listed(self):
        X = model_rows(300, D=5, K=2)
        keep = np.arange(0, 300, 3)
        rows = self.write("rows", "".join("%d\n" % i for i in keep).encode())
        part = self.bytes_of(self.fit(self.npy(X[keep]), 2))
        for method in ("recursive-em", "ml"):
            part = self.bytes_of(self.fit(self.npy(X[keep], "p.npy"), 2, "-m", method))
            self.assertEqual(self.bytes_of(self.fit(self.npy(X), 2, "-m", method, "--rows", rows, out="p")), part)

    def test_the_example_in_C_learns_the_same(self):
        example = os.path.join(os.path.dirname(self.program), "example_stream")
        if not os.path.exists(example):
            self.skipTest("the examples are not built")
        data = self.table(model_rows(3000, D=5))
        done = subprocess.run([example, data, "2", self.path("p")], stdout=subprocess.PIPE)
        self.assertRegex(done.stdout.decode(), "^3000 rows, D = 5, ")
        self.assertEqual(self.bytes_of(self.path("p")), self.bytes_of(self.fit(data, 2)))

    def test_threads_do_not_change_a_byte(self):
        data = self.npy(model_rows(3000, D=300))
        for method in ("recursive-em", "ml"):
            one = self.bytes_of(self.fit(data, 3, "-m", method, "--threads=1"))
            self.assertEqual(self.bytes_of(self.fit(data, 3, "-m", method, "--threads=2", out="p")), one)

    def test_the_type_is_that_of_F(self):
        data = self.npy(model_rows(3000))
        wide, narrow = self.fit(data, 3), self.fit(data, 3, "--dtype=f32", out="p")
        self.assertEqual(read_tensors(narrow)[0]["F"].dtype, np.float32)
        self.assertLess(self.good_json("compare", narrow, wide)["covariance_distance"], 1e-3)

    def test_settings_go_to_the_method(self):
        data = self.npy(model_rows(300, D=5))
        j = self.good_json("fa", data, "-k", 2, "--block=50", "--inner=3", "--start=random", "--seed", 5,
                           "--memory=2.5")
        for name, value in (("block", 50), ("inner", 3), ("start", "random"), ("seed", 5), ("memory", 2.5)):
            self.assertEqual(j["settings"][name], value)
        self.bad(2, "fa", data, "-k", 2, "--blok=50", says=["there is no option '--blok'"])
        self.bad(2, "fa", data, "-k", 2, "-m", "recursive-em", "--blok=50", says=["did you mean '--block'?"])
        self.bad(2, "fa", data, "-k", 2, "--inner=0", says=["inner = 0"])
        self.bad(2, "fa", data, "-k", 2, "--K=3", says=["K from -k"])
        self.bad(2, "fa", data, "-k", 2, "-m", "recursive-me", says=["did you mean 'recursive-em'?"])

    def test_a_call_that_makes_no_sense_is_refused(self):
        data = self.npy(model_rows(300, D=5))
        self.bad(2, "fa", data, says=["-k K"])
        self.bad(2, "fa", data, "-k", "many", says=["'many'"])
        self.bad(2, "fa", data, "-k", 0, says=["K = 0"])
        self.bad(2, "fa", data, "-k", 2, "--rotation", "quartimax", says=["varimax, promax"])
        self.bad(2, "fa", data, "-k", 2, "--max-factors=3", says=["-k auto"])
        self.bad(2, "fa", data, "-k", 2, "--checkpoint=3", says=["-o FILE"])
        self.bad(2, "fa", data, "-k", 2, "--resume", "-o", self.path("q"), "-m", "ml", says=["batch"])
        self.bad(2, "fa", data, "-k", 2, "-o", self.path("q.csv"), "--loadings", self.path("q.csv"),
                 says=["named twice"])
        self.bad(1, "fa", data, "-k", 2, "-o", data, says=["is the input"])

    def test_the_file_has_the_names(self):
        X = model_rows(300, D=3, K=1)
        named = self.fit(self.table(X, names=["alpha", "be ta", "g"]), 1)
        self.assertEqual(json.loads(read_tensors(named)[1]["features"]), {"names": ["alpha", "be ta", "g"]})
        self.assertNotIn("features", read_tensors(self.fit(self.npy(X), 1))[1])


class Memory(FaCase):
    def test_a_batch_method_says_what_it_needs(self):
        done = self.run_it("fa", self.npy(model_rows(3000)), "-k", 2, "-m", "ml")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr.decode(), r"note: ml works on the whole table: [\d.]+[kM]B for 3000 rows")

    def test_a_table_that_does_not_fit_is_refused_with_the_number(self):
        X = model_rows(20000)
        for data in (self.npy(X), self.table(X)):
            self.refused(data, 2, "-m", "ml", "--memory=1", says=[data, "ml needs", "MB", "--memory"])
        self.assertRegex(self.run_it("fa", self.npy(X), "-k", 2, "-m", "ml", "--memory=1").stderr.decode(),
                         r"needs [5-9]\.\d+MB for 20000 rows of D = 29, and 1MB are allowed")

    def test_a_stream_takes_bounded_memory(self):
        used, piece = [], np.random.RandomState(1).randn(1000, 500) # small: a child is charged with its parent
        for pieces in (2, 60): # 240 MB of rows in the longer one
            data = self.path("x.npy")
            with open(data, "wb") as f:
                np.lib.format.write_array_header_1_0(f, {"descr": "<f8", "fortran_order": False,
                                                         "shape": (1000 * pieces, 500)})
                for _ in range(pieces):
                    f.write(piece.tobytes())
            p = subprocess.Popen([self.program, "fa", data, "-k", "2", "-o", self.path("q"), "--quiet",
                                  "--block=100"])
            status, usage = os.wait4(p.pid, 0)[1:]
            p.returncode = status
            self.assertEqual(status, 0)
            used.append(usage.ru_maxrss)
        self.assertLess(used[1] - used[0], 30000) # KB


class OddData(FaCase):
    def test_bad_values_are_refused_with_their_place(self):
        X = model_rows(30, D=3, K=1)
        for value, word in ((b"nan", "NaN"), (b"inf", "Inf"), (b"", "column 2"), (b"abc", "abc")):
            lines = csv(X, ["a", "b", "c"]).split(b"\n")
            row = lines[20].split(b",")
            lines[20] = b",".join([row[0], value, row[2]])
            data = self.write("bad.csv", b"\n".join(lines))
            for method in ("recursive-em", "ml"):
                self.refused(data, 1, "-m", method, says=[data, "line 21", "column 2", word])

    def test_a_ragged_row_is_refused(self):
        data = self.write("bad.csv", csv(model_rows(30, D=3, K=1)) + b"1,2\n")
        for method in ("recursive-em", "ml"):
            self.refused(data, 1, "-m", method, says=[data, "line 31", "2 values, expected 3"])

    def test_a_file_without_rows_is_refused(self):
        for data in (b"", b"a,b,c\n"):
            for method in ("recursive-em", "ml"):
                self.refused(self.write("bad.csv", data), 1, "-m", method, says=["bad.csv"])
        self.refused(self.path("absent.csv"), 1, says=["absent.csv"])

    def test_one_row_is_refused(self):
        for method in ("recursive-em", "online-em", "ml"):
            for k in (1, "auto"):
                if (k, method) != ("auto", "online-em"):
                    self.refused(self.npy(model_rows(1)), k, "-m", method, says=["1 row", "at least 2"])

    def test_fewer_rows_than_factors_are_refused(self):
        for method in ("recursive-em", "ml"):
            self.refused(self.npy(model_rows(5)), 5, "-m", method, says=["5 rows", "K = 5"])
            self.fit(self.npy(model_rows(6)), 5, "-m", method)

    def test_more_factors_than_coordinates_are_refused(self):
        data = self.npy(model_rows(300, D=5))
        for method in ("recursive-em", "ml"):
            self.refused(data, 6, "-m", method, status=2, says=["K = 6", "D = 5"])
            self.assertEqual(self.good_json("info", self.fit(data, 5, "-m", method))["K"], 5)

    def test_one_coordinate_is_fitted(self):
        x = model_rows(3000, D=1, K=1)
        for method in ("recursive-em", "ml", "em"):
            t = read_tensors(self.fit(self.npy(x), 1, "-m", method))[0]
            self.assertLess(abs(dense(t)[0, 0] / x.var() - 1), 1e-3)

    def test_a_constant_column_is_named(self):
        X = model_rows(3000, D=6)
        X[:, 3] = 2.385
        for method in ("recursive-em", "ml", "em"):
            done = self.run_it("fa", self.table(X, names=list("abcdef")), "-k", 2, "-m", method)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout.decode(), "(?m)^constant +d$")
            file = self.fit(self.path("x.csv"), 2, "-m", method)
            t = read_tensors(file)[0]
            self.assertLess(dense(t)[3, 3], 1e-5 * np.trace(dense(t)))
            self.assertGreater(t["psi"][3], 0)
            np.testing.assert_allclose(np.delete(np.diag(dense(t)), 3), np.delete(X.var(0), 3), rtol=0.02)

    def test_duplicate_columns_stand_at_the_floor_by_name(self):
        X = model_rows(3000, D=6)
        X = np.hstack([X, X[:, :1]])
        data = self.table(X, names=list("abcdefg"))
        for method in ("ml", "em"):
            j = json.loads(self.run_it("fa", data, "-k", 4, "-m", method, "--json", "--quiet").stdout)
            self.assertEqual((j["floored"], j["floored_names"]), (2, ["a", "g"]))
            text = self.run_it("fa", data, "-k", 4, "-m", method, "--quiet").stdout.decode()
            self.assertRegex(text, "(?m)^floored .* 2 of 7 coordinates: a, g$")

    def test_long_lists_of_names_are_cut(self):
        text = self.good("fa", self.npy(model_rows(300)), "-k", 3, "-m", "pca", "--quiet")
        self.assertRegex(text, r"(?m)^floored .* 29 of 29 coordinates: x0, x1, .*x9 and 19 more$")


class Tables(FaCase):
    """Public tables on which streams once ended below maximum likelihood, or said what is not that of the rows."""

    def public(self, name):
        try:
            from sklearn import datasets
        except ImportError:
            self.skipTest("scikit-learn is not installed")
        return getattr(datasets, "load_" + name)().data

    def loglik(self, X, file):
        q = read_tensors(file)[0]
        root = np.sqrt(q["psi"])
        u, s, _ = np.linalg.svd(q["F"] / root[:, None], full_matrices=False)
        z = (X - q["mu"]) / root
        quad = (z * z).sum(1) - (s ** 2 / (1 + s ** 2) * (z @ u) ** 2).sum(1)
        return -0.5 * (X.shape[1] * np.log(2 * np.pi) + 2 * np.log(root).sum() + np.log1p(s ** 2).sum() + quad.mean())

    def test_streams_reach_maximum_likelihood(self):
        X = self.public("breast_cancer")
        data = self.npy(X)
        for k in (2, 3, 4):
            best = self.loglik(X, self.fit(data, k, "-m", "ml", "--starts=10"))
            for args in ((), ("-m", "recursive-em"), ("-m", "em")):
                self.assertGreater(self.loglik(X, self.fit(data, k, *args, out="p")), best - 0.02)

    def test_ml_finds_what_ten_starts_find(self):
        X = self.public("breast_cancer")
        best = self.loglik(X, self.fit(self.npy(X), 5, "-m", "ml", "--starts=10"))
        self.assertGreater(self.loglik(X, self.fit(self.npy(X), 5, "-m", "ml", out="p")), best - 1e-4)

    def test_the_likelihood_said_is_that_of_the_rows(self):
        X = self.public("diabetes")
        data = self.npy(X)
        for method in ("online-ml", "recursive-em", "online-em", "stochastic-em", "online-sga"):
            j = self.good_json("fa", data, "-k", 1, "-m", method, "-o", self.path("q"))
            self.assertAlmostEqual(j["loglik_mean"], self.loglik(X, self.path("q")), delta=1e-8)
            self.assertEqual((j["loglik_rows"], j["loglik_se"]), (len(X), 0))

    def test_auto_compares_the_likelihoods_of_ml(self):
        X = self.public("diabetes")
        data = self.npy(X)
        for args in ((), ("-m", "recursive-em")):
            j = self.good_json("fa", data, "-k", "auto", *args)
            for c in j["candidates"][1:4]:
                ml = self.good_json("fa", data, "-k", c["k"], "-m", "ml", "--quiet")["loglik_mean"]
                self.assertAlmostEqual(c["loglik_mean"], ml, delta=1e-3)


class Rank(FaCase):
    def check_rank(self, data, K, *args):
        j = self.good_json("fa", data, "-k", "auto", *args)
        self.assertEqual(j["K"], K)
        c = j["candidates"]
        self.assertEqual([x["k"] for x in c], list(range(len(c))))
        self.assertEqual(min(c[1:], key=lambda x: x["bic"])["k"], K)
        n, D = j["n"], j["D"]
        for x in c:
            p = D * x["k"] - x["k"] * (x["k"] - 1) / 2 + 2 * D
            self.assertAlmostEqual(x["bic"] / (-2 * n * x["loglik_mean"] + p * math.log(n)), 1, places=12)
        return j

    def test_auto_finds_the_rank_of_the_thesis_generator(self):
        for hi in (10, 1000):
            self.check_rank(self.npy(thesis_rows(40, 4, 1, hi, 20000, 2)), 4)

    def test_a_batch_method_finds_the_same_rank(self):
        data = self.npy(model_rows(2000))
        a = self.check_rank(data, 3)["candidates"]
        b = self.check_rank(data, 3, "-m", "ml", "--quiet")["candidates"]
        for k in (0, 3): # with fewer factors than there are the likelihood has several tops
            self.assertLess(abs(a[k]["loglik_mean"] - b[k]["loglik_mean"]), 0.02)

    def test_the_diagonal_is_the_first_candidate(self):
        X = model_rows(2000)
        want = loglik(X, X.mean(0), np.diag(X.var(0)))
        for method in ("recursive-em", "ml"):
            j = self.good_json("fa", self.npy(X), "-k", "auto", "-m", method, "--quiet")
            self.assertLess(abs(j["candidates"][0]["loglik_mean"] - want), 1e-3)

    def test_a_person_sees_the_table(self):
        text = self.good("fa", self.npy(model_rows(2000)), "-k", "auto")
        self.assertRegex(text, r"(?m)^ +k +log-likelihood +BIC$")
        self.assertRegex(text, r"(?m)^ +3 .* chosen$")
        self.assertEqual(text.count("chosen"), 1)

    def test_the_search_ends_when_bic_has_risen_five_times(self):
        j = self.good_json("fa", self.npy(model_rows(2000)), "-k", "auto")
        self.assertEqual(len(j["candidates"]), 9)
        j = self.good_json("fa", self.npy(model_rows(2000)), "-k", "auto", "--max-factors=2")
        self.assertEqual((j["K"], len(j["candidates"])), (2, 3))

    def test_the_chosen_fit_goes_on(self):
        X = model_rows(3000)
        whole = self.fit(self.npy(X), "auto")
        part = self.fit(self.npy(X[:1700]), "auto", out="p")
        self.good("update", part, self.npy(X[1700:]), "--quiet")
        self.assertEqual(self.bytes_of(part), self.bytes_of(whole))

    def test_methods_without_a_rank_to_choose_are_refused(self):
        data = self.npy(model_rows(300, D=5))
        self.bad(2, "fa", data, "-k", "auto", "-m", "online-em", says=["recursive-em"])
        self.bad(2, "fa", data, "-k", "auto", "-m", "pca", says=["pca has no psi"])


class Study(Rank):
    """The same at the length of the thesis; each case takes some seconds."""

    def test_auto_finds_the_rank_of_the_thesis_generator(self):
        for hi, seed in ((10, 1), (1000, 2)):
            self.check_rank(self.npy(thesis_rows(100, 10, 1, hi, 100000, seed)), 10)


class Factors(FaCase):
    def loadings(self, *args, k=3, X=None):
        """(names, F, psi) of a fit, and its file's tensors."""
        data = self.table(model_rows(1000, D=7, K=3) if X is None else X)
        out = self.path("load.csv")
        q = self.fit(data, k, "--loadings", out, *args)
        lines = self.bytes_of(out).decode().splitlines()
        self.assertEqual(lines[0], ",".join(["name"] + ["factor%d" % (i + 1) for i in range(k)] +
                                            ["uniqueness" if "--standardise" in args else "psi"]))
        cells = [line.split(",") for line in lines[1:]]
        numbers = np.array([[float(v) for v in c[1:]] for c in cells])
        return [c[0] for c in cells], numbers[:, :-1], numbers[:, -1], read_tensors(q)[0]

    def check_turned(self, F, psi, t, scale=1):
        np.testing.assert_allclose(F @ F.T, t["F"] @ t["F"].T, atol=1e-12 * np.abs(F).max() ** 2 * 100)
        np.testing.assert_array_equal(psi, t["psi"])
        L = F / np.reshape(scale, (-1, 1))
        self.assertTrue((np.diff((L * L).sum(0)) <= 0).all())
        F = L
        self.assertTrue((F[np.abs(F).argmax(0), range(F.shape[1])] > 0).all())

    def test_loadings_stand_on_the_principal_axes(self):
        names, F, psi, t = self.loadings()
        self.assertEqual(names, ["x%d" % i for i in range(7)])
        self.check_turned(F, psi, t)
        G = F.T @ F
        self.assertLess(np.abs(G - np.diag(np.diag(G))).max(), 1e-10 * G.max())

    def test_varimax_is_at_its_optimum(self):
        _, F, psi, t = self.loadings("--rotation", "varimax")
        self.check_turned(F, psi, t, np.sqrt((F * F).sum(1) + psi))
        L = F / np.sqrt((F * F).sum(1))[:, None]
        B = L.T @ (L ** 3 - L * (L * L).mean(0)) # symmetric where the criterion is stationary
        self.assertLess(np.abs(B - B.T).max(), 1e-7)

        def criterion(A):
            return (A * A).var(0).sum()
        r = np.random.RandomState(5)
        for _ in range(200):
            Q = np.linalg.qr(r.randn(3, 3))[0]
            self.assertLessEqual(criterion(L @ Q), criterion(L) + 1e-12)

    def test_varimax_finds_a_simple_structure(self):
        r = np.random.RandomState(2)
        F = np.zeros((9, 3))
        for k in range(3):
            F[3 * k:3 * k + 3, k] = [2, 1.7, 1.4 - 0.3 * k]
        X = r.randn(20000, 3) @ F.T + r.randn(20000, 9) * 0.5
        _, A, _, _ = self.loadings("--rotation", "varimax", X=X)
        order = [int(np.abs(F[:, k] @ A).argmax()) for k in range(3)]
        self.assertEqual(sorted(order), [0, 1, 2])
        np.testing.assert_allclose(A[:, order], F, atol=0.08)

    def test_names_that_break_a_line_are_quoted(self):
        X = model_rows(300, D=2, K=1)
        data = self.write("x.csv", b'"a,b",c\n' + csv(X))
        self.fit(data, 1, "--loadings", self.path("l.csv"))
        lines = self.bytes_of(self.path("l.csv")).decode().splitlines()
        self.assertTrue(lines[1].startswith('"a,b",'), lines[1])

    def test_scores_are_the_means_of_the_factors(self):
        X = model_rows(700, D=7, K=3)
        for args in ([], ["--rotation", "varimax"]):
            _, F, psi, t = self.loadings("--scores", self.path("z.npy"), *args, X=X)
            P = F / psi[:, None]
            want = (X - t["mu"]) @ P @ np.linalg.inv(np.eye(3) + F.T @ P)
            np.testing.assert_allclose(np.load(self.path("z.npy")), want, atol=1e-9)
        self.loadings("--scores", self.path("z.csv"), "--rotation", "varimax", X=X)
        text = self.bytes_of(self.path("z.csv")).decode().splitlines()
        self.assertEqual(text[0], "factor1,factor2,factor3")
        np.testing.assert_allclose([[float(v) for v in line.split(",")] for line in text[1:]], want, atol=1e-9)

    def test_correlated_factors_explain_the_same_covariance(self):
        r = np.random.RandomState(4)
        F = np.kron(np.eye(2), np.array([[1.0], [0.8], [0.6], [0.9]]))
        X = r.randn(4000, 2) @ np.linalg.cholesky([[1, 0.5], [0.5, 1]]).T @ F.T + 0.5 * r.randn(4000, 8)
        X *= np.exp(r.randn(8)) # in units of their own
        for name in "promax", "oblimin":
            args = ["--rotation", name, "--standardise", "--scores", self.path("z.npy")]
            _, L, _, t = self.loadings(*args, X=X, k=2)
            phi = np.array(self.good_json("fa", self.npy(X), "-k", 2, *args)["correlations"])
            sd = np.sqrt((t["F"] ** 2).sum(1) + t["psi"])
            np.testing.assert_allclose(L @ phi @ L.T * sd[:, None] * sd, t["F"] @ t["F"].T, atol=1e-9 * sd.max() ** 2)
            self.assertLess(abs(abs(phi[0, 1]) - 0.5), 0.08)
            self.assertLess(np.abs(np.sort(np.abs(L), axis=1)[:, 0]).max(), 0.08) # one factor each
            z = np.load(self.path("z.npy"))
            self.assertLess(abs(np.corrcoef(z.T)[0, 1] - np.sign(phi[0, 1]) * 0.6), 0.15)

    def test_the_test_of_the_number_of_factors_is_the_likelihood_ratio(self):
        n, D, k = 500, 7, 2
        X = model_rows(n, D=D, K=3)
        for method in "ml", "em", "online-ml":
            j = self.good_json("fa", self.npy(X), "-k", k, "-m", method, "--quiet")
            S = np.cov(X.T, bias=True)
            full = -0.5 * (D * np.log(2 * np.pi) + np.linalg.slogdet(S)[1] + D)
            ratio = 2 * (full - j["loglik_mean"])
            self.assertAlmostEqual(j["test"]["chi_square"], ratio * (n - 1 - (2 * D + 5) / 6 - 2 * k / 3), 5)
            self.assertEqual(j["test"]["dof"], ((D - k) ** 2 - D - k) // 2)
            dof = j["test"]["dof"]
            self.assertAlmostEqual(j["test"]["rmsea"], np.sqrt(max(0, ratio / dof - 1 / (n - 1))), 6)
            self.assertLess(j["test"]["p_value"], 1e-3) # of three factors two are too few
            self.assertLess(j["test"]["rmsea_low"], j["test"]["rmsea"])
            self.assertGreater(j["test"]["rmsea_high"], j["test"]["rmsea"])
        self.assertIsNone(self.good_json("fa", self.npy(X), "-k", 4)["test"]) # no degree of freedom is left
        self.assertIsNone(self.good_json("fa", self.npy(X), "-k", k, "-m", "ppca", "--quiet")["test"])

    def test_pca_of_correlations_sees_no_units(self):
        X = model_rows(400, D=6, K=2)
        u = np.array([1, 100, 1e-3, 5, 1e4, 7.0])
        for method in "pca", "ppca":
            _, A, _, _ = self.loadings("-m", method, "--standardise", X=X, k=2)
            _, B, _, _ = self.loadings("-m", method, "--standardise", X=X * u, k=2)
            np.testing.assert_allclose(A, B, atol=1e-7)

    def test_scores_of_a_pipe_are_refused(self):
        self.bad(2, "fa", "-", "-k", 2, "--scores", self.path("z.npy"), says=["standard input", "only once"])
        self.bad(2, "fa", self.npy(model_rows(30)), "-k", 2, "--scores", self.path("z.txt"), says=[".npy or .csv"])


class Missing(FaCase):
    """Rows with values missing at random."""

    def holes(self, n=300, D=6, share=0.15):
        X = model_rows(n, D=D, K=2) * np.exp(np.arange(D) - 2)
        X[np.random.RandomState(8).rand(n, D) < share] = np.nan
        lines = [",".join("NA" if np.isnan(v) else repr(float(v)) for v in row) for row in X]
        return X, self.write("holes.csv", ("\n".join(lines) + "\n").encode())

    @staticmethod
    def loglik(X, mu, F, psi, w=None):
        """Mean log density of the values that are there."""
        S = F @ F.T + np.diag(psi)
        each = []
        for x in X:
            o = ~np.isnan(x)
            e, C = x[o] - mu[o], S[np.ix_(o, o)]
            each.append(-0.5 * (o.sum() * np.log(2 * np.pi) + np.linalg.slogdet(C)[1] + e @ np.linalg.solve(C, e)))
        return np.average(each, weights=w)

    def test_em_maximises_the_likelihood_of_what_is_there(self):
        X, data = self.holes()
        j = self.good_json("fa", data, "-k", 2, "--missing", "em", "-o", self.path("q"), "--quiet")
        t = read_tensors(self.path("q"))[0]
        mu, F, psi = t["mu"], t["F"], t["psi"]
        self.assertEqual((j["method"], j["rows"], j["dropped"]), ("em", 300, 0))
        best = self.loglik(X, mu, F, psi)
        self.assertAlmostEqual(j["loglik_mean"], best, 10)
        sd = np.nanstd(X, axis=0)
        r = np.random.RandomState(1)
        for size in 1e-2, 1e-4:
            for _ in range(20):
                there = self.loglik(X, mu + size * sd * r.randn(6), F + size * sd[:, None] * r.randn(6, 2),
                                    psi * np.exp(size * r.randn(6)))
                self.assertLess(there, best)

    def test_rows_weigh_what_they_say(self):
        X, _ = self.holes()
        w = np.random.RandomState(3).randint(1, 4, len(X))
        text = lambda rows: ("\n".join(",".join("NA" if np.isnan(v) else repr(float(v)) for v in row)
                                       for row in rows) + "\n").encode()
        one = self.write("w.csv", text(np.column_stack([X, w])))
        many = self.write("many.csv", text(np.repeat(X, w, axis=0)))
        a = self.good_json("fa", one, "-k", 2, "--missing", "em", "--weight", "last", "--quiet", "-o", self.path("a"))
        b = self.good_json("fa", many, "-k", 2, "--missing", "em", "--quiet", "-o", self.path("b"))
        self.assertAlmostEqual(a["loglik_mean"], b["loglik_mean"], 6)
        A, B = (read_tensors(self.path(n))[0] for n in "ab")
        np.testing.assert_allclose(A["mu"], B["mu"], rtol=1e-3)

    def test_whole_rows_are_fitted_as_ever(self):
        data = self.table(model_rows(200, D=5, K=2))
        self.fit(data, 2, "-m", "em", out="a")
        self.fit(data, 2, "--missing", "em", out="b")
        A, B = (read_tensors(self.path(n))[0] for n in "ab")
        for name in A:
            np.testing.assert_array_equal(A[name], B[name])

    def test_scores_of_a_row_with_holes_are_those_of_what_is_there(self):
        X, data = self.holes(100)
        self.good("fa", data, "-k", 2, "--missing", "em", "-o", self.path("q"), "--scores", self.path("z.npy"),
                  "--loadings", self.path("l.csv"), "--quiet")
        F = np.array([[float(v) for v in line.split(",")[1:3]]
                      for line in self.bytes_of(self.path("l.csv")).decode().splitlines()[1:]])
        t = read_tensors(self.path("q"))[0]
        for x, z in zip(X, np.load(self.path("z.npy"))):
            o = ~np.isnan(x)
            P = F[o] / t["psi"][o, None]
            want = np.linalg.solve(np.eye(2) + F[o].T @ P, P.T @ (x - t["mu"])[o])
            np.testing.assert_allclose(z, want, atol=1e-9)

    def test_dropped_rows_are_counted(self):
        X, data = self.holes()
        whole = X[~np.isnan(X).any(1)]
        for method in "ml", "online-ml", "recursive-em":
            j = self.good_json("fa", data, "-k", 2, "-m", method, "--missing", "drop", "--quiet", "-o", self.path("a"))
            self.assertEqual((j["rows"], j["dropped"]), (len(whole), len(X) - len(whole)))
            self.fit(self.table(whole), 2, "-m", method, out="b")
            np.testing.assert_allclose(read_tensors(self.path("a"))[0]["psi"], read_tensors(self.path("b"))[0]["psi"],
                                       rtol=1e-9)

    def test_why_there_is_no_test_of_the_factors_is_said(self):
        x = model_rows(200, D=6, K=1)
        for args, why in ((("-k", "3", "-m", "ml"), None), (("-k", "4", "-m", "ml"), "4 factors of 6 columns leave no degree of"),
                          (("-k", "1", "--missing", "em"), "--missing drop tests the whole rows")):
            cells = [["%.6f" % v for v in row] for row in x]
            if "em" in args: cells[7][2] = ""
            data = self.write("t.csv", ("a,b,c,d,e,f\n" + "".join(",".join(row) + "\n" for row in cells)).encode())
            told = self.run_it("fa", data, *args).stdout.decode()
            self.assertIn("enough factors? not tested: " if why else "enough factors? ", told)
            self.assertIn(why or "degrees of freedom" if why else "rows", told)

    def test_what_cannot_be_is_refused(self):
        _, data = self.holes()
        self.bad(1, "fa", data, "-k", 2, says=["missing value", "--missing drop", "--missing em"])
        self.bad(2, "fa", data, "-k", 2, "--missing", "em", "-m", "ml", says=["ml", "em fits those"])
        self.bad(2, "fa", data, "-k", 2, "--missing", "drop", "-o", self.path("q"), "--checkpoint", 10, says=["counts rows"])
        empty = self.write("e.csv", b"1,NA,2\n2,NA,4\n5,NA,1\n2,NA,3\n")
        self.bad(1, "fa", empty, "-k", 1, "--missing", "em", "--quiet", says=["column 1 (from 0) has no value"])


class Checkpoint(FaCase):
    ARGS = ["-k", "3", "--block=20"]

    def start(self, *args):
        return subprocess.Popen([self.program, "fa", "-", *self.ARGS, *args], stdin=subprocess.PIPE,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def wait_for(self, path, rows):
        """Until the file at `path` has seen that many rows."""
        for _ in range(600):
            if os.path.exists(path) and int(read_tensors(path)[1]["n"]) >= rows:
                return
            time.sleep(0.05)
        self.fail("no checkpoint came")

    def test_a_killed_run_resumes_to_the_same_bytes(self):
        X, out = model_rows(3000), self.path("q")
        for k in ("3", "auto"):
            self.ARGS = ["-k", k, "--block=20"]
            whole = self.bytes_of(self.fit(self.npy(X), k, "--block=20", out="whole"))
            p = self.start("-o", out, "--checkpoint=530", "--quiet")
            p.stdin.write(csv(X[:1900]))
            p.stdin.flush()
            self.wait_for(out, 530)
            p.kill()
            p.communicate()
            self.assertEqual(int(read_tensors(out)[1]["n"]) % 530, 0)
            self.assertLess(int(read_tensors(out)[1]["n"]), 1900)
            self.good("fa", self.npy(X), *self.ARGS, "-o", out, "--checkpoint=530", "--resume", "--quiet")
            self.assertEqual(self.bytes_of(out), whole)
            self.good("fa", self.npy(X), *self.ARGS, "-o", out, "--resume", "--quiet") # nothing left to do
            self.assertEqual(self.bytes_of(out), whole)
            os.remove(out)

    def test_checkpoints_do_not_change_the_result(self):
        X = model_rows(1000)
        whole = self.bytes_of(self.fit(self.npy(X), 3))
        for n in (1, 333, 1000, 5000):
            self.assertEqual(self.bytes_of(self.fit(self.npy(X), 3, "--checkpoint", n, out="p")), whole)

    def test_without_a_file_resume_begins(self):
        X = model_rows(1000)
        whole = self.bytes_of(self.fit(self.npy(X), 3))
        self.assertEqual(self.bytes_of(self.fit(self.npy(X), 3, "--resume", out="p")), whole)

    def test_another_call_does_not_resume(self):
        X = model_rows(1000)
        data, q = self.npy(X), self.fit(self.npy(X), 3)
        before = self.bytes_of(q)
        for args, says in ((["-k", 4], ["K = 3", "says 4"]), (["-k", 3, "--forget=0.9"], ["forget", "says 0.9"]),
                           (["-k", 3, "--block=7"], ["online-ml", "says recursive-em"]),
                           (["-k", 3, "-m", "online-em"], ["online-ml"]), (["-k", 3, "--dtype=f32"], ["f64"])):
            self.bad(1, "fa", data, *args, "-o", q, "--resume", "--quiet", says=[q, *says])
        self.bad(1, "fa", self.npy(X[:500], "short.npy"), "-k", 3, "-o", q, "--resume", "--quiet",
                 says=["short.npy", "1000 rows"])
        self.bad(1, "fa", data, "-k", 3, "-o", self.write("t", b"text"), "--resume", says=["t"])
        self.assertEqual(self.bytes_of(q), before)

    def test_an_interrupt_saves_nothing(self):
        X, out = model_rows(20000), self.write("q", b"the old bytes")
        p = self.start("-o", out)
        p.stdin.write(csv(X[:5000]))
        p.stdin.flush()
        time.sleep(0.3)
        p.send_signal(signal.SIGINT)
        try:
            p.stdin.write(csv(X))
            p.stdin.close()
        except BrokenPipeError:
            pass
        p.stdin = None
        said = p.communicate(timeout=60)
        self.assertEqual((p.returncode, said), (1, (b"", b"fabayes: fa: stopped\n")))
        self.assertEqual(self.bytes_of(out), b"the old bytes")
        self.assertEqual(os.listdir(self.folder), ["q"])


class Update(FaCase):
    def test_two_halves_are_the_whole(self):
        X = model_rows(3000)
        for method in ("recursive-em", "online-em"):
            for dtype in ("f64", "f32"):
                args = ["-m", method, "--dtype", dtype]
                whole = self.bytes_of(self.fit(self.npy(X), 3, *args))
                part = self.fit(self.npy(X[:1234]), 3, *args, out="p")
                j = self.good_json("update", part, self.npy(X[1234:]))
                self.assertEqual((j["n"], j["rows"], j["method"]), (3000, 1766, method))
                self.assertEqual(self.bytes_of(part), whole)

    def test_with_an_output_the_file_stays(self):
        X = model_rows(3000)
        part = self.fit(self.npy(X[:1234]), 3)
        before = self.bytes_of(part)
        text = self.good("update", part, self.npy(X[1234:]), "-o", self.path("new"))
        self.assertIn("1766 of", text)
        self.assertIn("and 1234 before", text)
        self.assertEqual(self.bytes_of(part), before)
        self.assertEqual(int(read_tensors(self.path("new"))[1]["n"]), 3000)

    def test_a_batch_file_is_refused(self):
        data = self.npy(model_rows(300))
        q = self.fit(data, 3, "-m", "ml")
        self.bad(1, "update", q, data, says=[q, "ml, a batch method", "fit again"])
        self.bad(1, "update", self.write("t", b"text"), data, says=["t"])

    def test_vectors_have_no_labels(self):
        data = self.npy(model_rows(300))
        q = self.fit(data, 3)
        before = self.bytes_of(q)
        self.bad(2, "update", q, data, "--labels", data, says=["update", q, "vectors, which have no labels"])
        self.assertEqual(self.bytes_of(q), before)

    def test_another_D_is_refused_naming_both(self):
        q = self.fit(self.npy(model_rows(300)), 3)
        self.bad(1, "update", q, self.npy(model_rows(300, D=28)), says=[q, "D = 29", "D = 28"])

    def test_other_names_are_refused_by_name(self):
        X = model_rows(300, D=3, K=1)
        q = self.fit(self.table(X, names=["a", "b", "c"]), 1)
        before = self.bytes_of(q)
        self.bad(1, "update", q, self.table(X, "y.csv", ["a", "c", "b"]), says=["column 1", "'c'", "'b'", q])
        self.assertEqual(self.bytes_of(q), before)
        self.good("update", q, self.npy(X), "--quiet") # rows without names fit
        self.good("update", q, self.table(X, "y.csv", ["a", "b", "c"]), "--quiet")
        self.assertEqual(json.loads(read_tensors(q)[1]["features"]), {"names": ["a", "b", "c"]})

    def test_after_a_bad_row_the_file_is_as_it_was(self):
        X = model_rows(300, D=3, K=1)
        q = self.fit(self.npy(X), 1)
        before = self.bytes_of(q)
        data = self.write("bad.csv", csv(X) + b"1,nan,3\n")
        self.bad(1, "update", q, data, "--quiet", says=[data, "line 301", "column 2", "NaN"])
        self.assertEqual(self.bytes_of(q), before)


if __name__ == "__main__":
    if "Study" in sys.argv:
        run(Study)
    run(Fa, Memory, OddData, Tables, Rank, Factors, Missing, Checkpoint, Update)
