#!/usr/bin/python3
"""test_cli_stream.py - `fabayes fit` and `update` of rows that come as a stream: test_cli_stream.py FABAYES [NAME ..].

Exit status: 0 all passed; 1 some failed; 77 NumPy is missing.
"""
# SPDX-License-Identifier: MIT
import os
import signal
import subprocess
import time

from cli_case import Case, np, run


def rows(n, D=8, seed=1, classes=0):
    r = np.random.RandomState(seed)
    X = r.randn(n, D) * 10.0 ** (np.arange(D) % 3)
    eta = X @ (r.randn(D) / 10.0 ** (np.arange(D) % 3))
    if not classes:
        return X, 3 + eta + 0.5 * r.randn(n)
    return X, (r.rand(n) < 1 / (1 + np.exp(-eta))).astype(float)


def csv(X, y):
    names = ["c%d" % i for i in range(X.shape[1])] + ["y"]
    table = np.column_stack([X, y])
    return (",".join(names) + "\n" + "\n".join(",".join("%.9g" % v for v in row) for row in table) + "\n").encode()


def content(path):
    with open(path, "rb") as f:
        return f.read()


class Stream(Case):
    def setUp(self):
        super().setUp()
        self.X, self.y = rows(4000)
        self.data = self.write("d.csv", csv(self.X, self.y))
        self.file = self.path("q.safetensors")

    def fit(self, data, file, *args):
        return self.good_json("fit", data, "-y", "y", "-m", "lrvga", "-k", "3", "-o", file, *args)

    def coefficients(self, file):
        return np.array([[c["mean"], c["sd"]] for c in self.good_json("info", file)["coefficients"]])

    def test_counts_that_are_all_0_are_remarked(self):
        rows = "".join("%d,%d\n" % (i % 7, 0) for i in range(100))
        data = self.write("zeros.csv", ("a,n\n" + rows).encode())
        call = ("fit", data, "-y", "n", "--likelihood", "poisson", "-m", "lrvga")
        self.assertIn("all 100 counts are 0 so far", self.good(*call))
        more = self.write("more.csv", ("a,n\n" + rows + "3,1\n").encode())
        self.assertNotIn("counts are 0", self.good("fit", more, *call[2:]))

    def test_full_rank_in_one_pass_is_the_closed_form(self):
        data = self.write("u.csv", csv(self.X / 10.0 ** (np.arange(8) % 3), self.y))
        self.good("fit", data, "-y", "y", "-m", "lrvga", "-k", "9", "-o", self.file, "--alpha=0.7", "--beta=4",
                  "--no-scale")
        T = np.genfromtxt(data, delimiter=",", skip_header=1)
        Z = np.column_stack([T[:, :-1], np.ones(len(T))])
        S = np.linalg.inv(4 * Z.T @ Z + np.diag([0.7] * 8 + [1e-4]))
        got, sd = self.coefficients(self.file), np.sqrt(np.diag(S))
        # 1/psi - .. of the intercept: 1e4 less all but 6e-5 of it, so eps * 1.6e8
        np.testing.assert_allclose(got[:, 1], sd, rtol=1e-7)
        np.testing.assert_allclose((got[:, 0] - 4 * S @ Z.T @ T[:, -1]) / sd, 0, atol=1e-7)

    def test_units_come_from_the_first_rows(self):
        said = self.fit(self.data, self.file, "--scale-rows", "500")
        scales = self.good_json("info", self.file)["scaling"]["scales"]
        np.testing.assert_allclose(scales, np.array(self.X[:500]).std(0), rtol=1e-7)
        self.assertEqual((said["n"], said["rows"], said["order"]), (4000, 4000, None))

    def test_update_is_the_longer_stream(self):
        head, tail = self.write("h.csv", csv(self.X[:2500], self.y[:2500])), self.write("t.csv", csv(self.X[2500:], self.y[2500:]))
        self.fit(self.data, self.file)
        part = self.path("part")
        self.fit(head, part)
        said = self.good_json("update", part, tail)
        self.assertEqual((said["n"], said["rows"]), (4000, 1500))
        np.testing.assert_array_equal(self.coefficients(part), self.coefficients(self.file))
        other = self.write("o.csv", b"a,b\n1,2\n")
        before = content(part)
        self.bad(1, "update", part, other, says=["o.csv", "'c0'"])
        self.assertEqual(content(part), before)

    def test_rows_are_predicted_before_they_are_learned(self):
        said = self.fit(self.data, self.file)["stream"]
        self.assertEqual((said["of"], said["worse"]), ("numbers", False))
        self.assertEqual((said["all"]["rows"], said["all"]["scored"]), (4000 - 64, 4000 - 64))
        self.assertEqual([p["seen"] for p in said["curve"]], [64, 128, 256, 512, 1024, 2048])
        # noise of 0.5; rank 3 of 9, so somewhat more.  Coverage: 4 standard errors of 3936 rows are .02
        self.assertTrue(0.48 < said["recent"]["rmse"] < 0.6, said)
        self.assertTrue(0.87 < said["all"]["coverage90"] < 0.93, said)
        self.assertGreater(said["curve"][-1]["log_density"], said["curve"][0]["log_density"])
        told = self.good_json("info", self.file)
        self.assertNotIn("scores", told)
        self.assertEqual({k: v for k, v in said.items() if k != "call"}, told["stream"])
        text = self.good("info", self.file)
        self.assertIn("each row before it was learned; 3936 of 3936 rows scored", text)
        by_hand = self.good_json("score", self.file, self.data)
        self.assertLess(by_hand["rmse"], said["all"]["rmse"])  # rows it has learned

    def test_update_says_how_well_the_file_knew_the_rows(self):
        head, tail = self.write("h.csv", csv(self.X[:2500], self.y[:2500])), self.write("t.csv", csv(self.X[2500:2600], self.y[2500:2600]))
        self.fit(head, self.file)
        known = self.good_json("score", self.file, tail)
        said = self.good_json("update", self.file, tail)["stream"]
        self.assertEqual((said["call"]["rows"], said["call"]["scored"]), (100, 100))
        np.testing.assert_allclose([-said["call"]["log_density"], said["call"]["rmse"], said["call"]["coverage90"]],
                                   [known["nll"], known["rmse"], known["coverage90"]], rtol=1e-4)  # on the way psi is cut to 1e-2 of itself, and that enters squared
        self.assertEqual(said["all"]["rows"], 2600 - 64)

    def test_few_rows_are_not_scored_and_nothing_is_nan(self):
        few = self.write("few.csv", csv(self.X[:60], self.y[:60]))
        said = self.fit(few, self.file)["stream"]
        self.assertEqual((said["all"]["scored"], said["all"]["log_density"], said["curve"]), (0, None, []))
        text = self.good("fit", few, "-y", "y", "-m", "lrvga", "-k", "3")
        self.assertIn("not defined, rows are scored behind the first 64", text)
        self.assertNotIn("nan", text)
        self.assertNotIn("stream", self.good_json("fit", few, "-y", "y", "-m", "exact"))

    def test_rows_that_change_are_told(self):
        y = np.where(np.arange(4000) < 2100, self.y, -self.y)
        said = self.good("fit", self.write("turn.csv", csv(self.X, y)), "-y", "y", "-m", "lrvga", "-k", "3")
        self.assertIn("the last rows are predicted worse than the first half", said)

    def test_a_killed_fit_goes_on_to_the_same_bytes(self):
        big = self.write("big.csv", csv(*rows(60000)))
        call = ["fit", big, "-y", "y", "-m", "lrvga", "-k", "3", "--checkpoint", "2000"]
        self.good(*call, "-o", self.file)
        part = self.path("part")
        going = subprocess.Popen([self.program, *call, "-o", part], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(3000):
            if os.path.exists(part) or going.poll() is not None:
                break
            time.sleep(0.002)
        going.send_signal(signal.SIGKILL)
        going.wait()
        self.assertTrue(os.path.exists(part))
        self.assertLess(int(self.good_json("info", part)["n"]), 60000, "killed too late to mean something")
        said = self.good_json(*call, "-o", part, "--resume")
        self.assertEqual(said["n"], 60000)
        self.assertLess(said["rows"], 60000)
        self.assertEqual(content(part), content(self.file))

    def test_resume_needs_the_same_call(self):
        self.fit(self.data, self.file)
        call = ["fit", self.data, "-y", "y", "-m", "lrvga", "-o", self.file, "--resume"]
        self.bad(1, *call, "-k", "4", says=["K = 3", "says 4"])
        self.bad(2, "fit", self.data, "-y", "y", "--resume", "-o", self.file, says=["batch method"])
        self.bad(2, "fit", self.data, "-y", "y", "-m", "lrvga", "--checkpoint", "9", says=["-o FILE"])

    def test_memory_does_not_grow_with_the_rows(self):
        text = csv(*rows(3000, 40))
        head, body = text.split(b"\n", 1)
        child = subprocess.Popen([self.program, "fit", "-", "-y", "y", "-m", "lrvga", "--quiet", "--threads", "1"],
                                 stdin=subprocess.PIPE)
        child.stdin.write(head + b"\n")
        used = []
        for _ in range(20):
            child.stdin.write(body)
            child.stdin.flush()
            with open("/proc/%d/status" % child.pid) as f:
                used += [int(line.split()[1]) for line in f if line.startswith("VmHWM")]
        child.stdin.close()
        self.assertEqual(child.wait(), 0)
        self.assertLess(used[-1] - used[2], 2000, "kB more for seven times the rows: %s" % used)

    def test_sorted_rows_are_noticed(self):
        X, t = rows(2000, classes=2)
        order = np.argsort(t, kind="stable")
        data = self.write("s.csv", csv(X[order], t[order]))
        said = self.fit(data, self.file)
        self.assertIn("long runs", said["order"])
        self.assertEqual(said["likelihood"], "bernoulli")
        self.assertIn("shuffled", self.good("fit", data, "-y", "y", "-m", "lrvga", "--likelihood", "bernoulli"))
        order = np.argsort(self.y)
        data = self.write("s.csv", csv(self.X[order], self.y[order]))
        self.assertIn("sorted", self.fit(data, self.file)["order"])

    def test_a_pipe_is_a_stream(self):
        with open(self.data, "rb") as f:
            done = self.run_it("fit", "-", "-y", "y", "-m", "lrvga", "-k", "3", "-o", self.file, stdin=f)
        self.assertEqual(done.returncode, 0, done.stderr)
        other = self.path("other")
        self.fit(self.data, other)
        self.assertEqual(content(self.file), content(other))

    def test_a_bad_row_leaves_the_last_save(self):
        bad = self.write("b.csv", csv(self.X, self.y) + b"1,2,3,4,5,nan,7,8,9\n")
        self.bad(1, "fit", bad, "-y", "y", "-m", "lrvga", "-o", self.file, "--checkpoint", "1500",
                 says=["b.csv", "line 4002", "column 6"])
        self.assertEqual(self.good_json("info", self.file)["read"], 3000)


class Prior(Case):
    def setUp(self):
        super().setUp()
        self.X, self.y = rows(300)
        self.data = self.write("d.csv", csv(self.X, self.y))
        self.parts = [self.write("%d.csv" % i, csv(self.X[i::2], self.y[i::2])) for i in range(2)]

    def coefficients(self, file):
        return np.array([[c["mean"], c["sd"]] for c in self.good_json("info", file)["coefficients"]])

    def test_two_halves_one_after_the_other_are_the_whole(self):
        whole, half, both = self.path("w"), self.path("h"), self.path("b")
        args = ["-y", "y", "--beta=4", "--no-scale", "--no-intercept"]
        self.good("fit", self.data, "--alpha=0.7", "-o", whole, *args)
        self.good("fit", self.parts[0], "--alpha=0.7", "-o", half, *args)
        self.good("fit", self.parts[1], "--prior", half, "-o", both, *args)
        np.testing.assert_allclose(self.coefficients(both), self.coefficients(whole), rtol=1e-8)

    def test_the_units_of_the_prior_are_kept(self):
        half, both = self.path("h"), self.path("b")
        self.good("fit", self.parts[0], "-y", "y", "-o", half)
        self.good("fit", self.parts[1], "-y", "y", "--prior", half, "-o", both)
        a, b = (self.good_json("info", f)["scaling"] for f in (half, both))
        self.assertEqual(a, b)
        self.assertTrue(np.all(self.coefficients(both)[:, 1] < self.coefficients(half)[:, 1] * 1.2))

    def test_a_prior_of_other_columns_is_refused(self):
        half = self.path("h")
        self.good("fit", self.parts[0], "-y", "y", "-o", half)
        fewer = self.write("f.csv", csv(self.X[:, :5], self.y))
        self.bad(1, "fit", fewer, "-y", "y", "--prior", half, says=["f.csv", "5 columns", "8"])
        named = self.write("n.csv", csv(self.X, self.y).replace(b"c3", b"z"))
        self.bad(1, "fit", named, "-y", "y", "--prior", half, says=["'z'", "'c3'"])
        self.bad(1, "fit", self.data, "-y", "y", "--prior", self.data, says=["d.csv"])


if __name__ == "__main__":
    run(Stream, Prior)
