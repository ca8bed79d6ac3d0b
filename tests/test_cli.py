#!/usr/bin/python3
"""test_cli.py - the command line, from outside: test_cli.py FABAYES [NAME ..].

Makes its own files with struct, json and NumPy, runs the program and looks at what comes out.
Exit status: 0 all passed; 1 some failed; 77 NumPy is missing.
"""
# SPDX-License-Identifier: MIT
import math
import os
import resource
import signal
import subprocess

from cli_case import Case, np, run, safetensors


def gauss(D, K, seed=1, dtype=np.float64):
    """The tensors of a Gaussian with numbers of no special form."""
    r = np.random.RandomState(seed)
    return {"mu": 2.385 * r.randn(D), "F": r.randn(D, K).astype(dtype), "psi": 0.3 + r.rand(D)}


def covariance(t, form="covariance"):
    """The dense covariance."""
    F = t["F"].astype(float)
    S = F @ F.T + np.diag(t["psi"])
    return S if form == "covariance" else np.linalg.inv(S)


def chi2_limit(k):
    """A chi-square of k degrees exceeds this with probability 3e-7 (Wilson and Hilferty, 5 sigma)."""
    return k * (1 - 2 / (9 * k) + 5 * math.sqrt(2 / (9 * k))) ** 3


class Calls(Case):
    def test_alone_it_prints_the_usage(self):
        for args in ([], ["--help"], ["-h"], ["help"]):
            text = self.good(*args)
            for verb in ("fa", "fit", "update", "predict", "score", "sample", "compare", "info", "methods", "demo"):
                self.assertRegex(text, r"(?m)^  %s +" % verb)

    def test_it_knows_its_version(self):
        self.assertRegex(self.good("--version"), r"^fabayes \d+\.\d+\.\d+\n$")

    def test_the_instruction_set_can_be_chosen(self):
        r = np.random.RandomState(5)
        X = r.randn(300, 40)
        y = X @ r.randn(40) + r.randn(300)
        data = self.write("x.csv", ("\n".join(",".join("%.6f" % v for v in row) for row in np.c_[X, y]) + "\n").encode())
        found = {}
        for isa in "base", "avx2", "avx512":
            env = {**os.environ, "FABAYES_ISA": isa}
            done = self.run_it("methods", env=env)
            if done.returncode: # not on this machine
                self.assertIn(b"FABAYES_ISA: instruction set %s: this machine runs" % isa.encode(), done.stderr)
                continue
            for name, args in (("exact", []), ("lrvga", ["-m", "lrvga", "-k", 5]),
                               ("map", ["--model", "mlp:5", "-m", "map", "--epochs=3"])):
                out = self.path(name + isa)
                done = self.run_it("fit", data, "-y", "last", *args, "-o", out, "--quiet", env=env)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                mean = [line.split(",")[:2] for line in self.run_it("predict", out, data, env=env).stdout.decode().splitlines()[1:]]
                mean = np.array(mean, float)
                np.testing.assert_allclose(mean, found.setdefault(name, mean), rtol=1e-6, atol=1e-9 * np.abs(y).max())
        self.assertIn("exact", found)
        done = self.run_it("methods", env={**os.environ, "FABAYES_ISA": "sse9"})
        self.assertEqual((done.returncode, done.stdout), (2, b""))
        self.assertIn(b"no instruction set 'sse9'; base, avx2 and avx512 are", done.stderr)

    def test_every_verb_has_help(self):
        for verb in ("fa", "fit", "update", "predict", "score", "sample", "compare", "info", "methods", "demo"):
            text = self.good("help", verb)
            self.assertEqual(text, self.good(verb, "--help"))
            self.assertIn("usage: fabayes %s" % verb, text)
            self.assertIn("--json", text)

    def test_an_unknown_verb_is_answered_with_the_nearest(self):
        self.bad(2, "smaple", says=["'smaple'", "did you mean 'sample'?"])
        self.bad(2, "help", "inf", says=["did you mean 'info'?"])
        self.bad(2, "entirely-different", says=["there is no verb"])

    def test_an_unknown_option_is_answered_with_the_nearest(self):
        self.bad(2, "--versoin", says=["did you mean '--version'?"])
        self.bad(2, "--unheard", says=["there is no option '--unheard' before the verb"])
        self.bad(2, "sample", "x", "-n", 1, "--sed=3", says=["'--sed'", "did you mean '--seed'?"])
        self.bad(2, "sample", "x", "-n", 1, "--thread", 2, says=["did you mean '--threads'?"])
        self.bad(2, "sample", "x", "-z", says=["'-z'"])

    def test_columns_are_chosen_by_only(self):
        for call in (("fit", "a.csv", "-y", "y"), ("fa", "a.csv", "-k", "1"), ("tune", "a.csv", "-y", "y")):
            self.bad(2, *call, "--columns", "a,b", says=["there is no option '--columns'; did you mean '--only'?"])

    def test_an_option_that_a_verb_does_not_use_is_refused(self):
        for verb, option in (("info", "--seed=1"), ("info", "--threads=2"), ("compare", "--seed=1"),
                             ("compare", "--quiet"), ("methods", "--quiet"), ("methods", "-o")):
            self.bad(2, verb, "x", option, says=["there is no option"])

    def test_a_wrong_value_is_refused(self):
        self.bad(2, "sample", "x", "-n", 0, says=["n = 0"])
        self.bad(2, "sample", "x", "-n", "many", says=["'many'"])
        self.bad(2, "sample", "x", "-n", 1.5, says=["whole number"])
        self.bad(2, "sample", "x", "-n", 1, "--seed=-1", says=["seed = -1"])
        self.bad(2, "sample", "x", "-n", 1, "--threads=0", says=["threads = 0"])
        self.bad(2, "sample", "x", "-n", 1, "--dtype", "f16", says=["'f16'", "f64|f32"])
        self.bad(2, "sample", "x", "-n", 1, "--json=yes", says=["--json takes no value"])
        self.bad(2, "sample", "x", "-n", says=["-n needs a value"])
        self.bad(2, "sample", "x", "-n", 1, "-o", "", says=["empty"])

    def test_a_missing_or_spare_argument_is_refused(self):
        self.bad(2, "sample", "x", says=["-n N"])
        self.bad(2, "sample", "-n", 3, says=["usage: fabayes sample"])
        self.bad(2, "compare", "x", says=["usage: fabayes compare A B"])
        self.bad(2, "info", "x", "y", says=["'y'"])
        self.bad(2, "help", "info", "y", says=["'y'"])

    def test_options_may_be_written_in_every_form(self):
        file = self.save("q", gauss(5, 2))
        text = self.good("sample", file, "-n", 3, "--seed", 7, "--dtype", "f32")
        self.assertEqual(text, self.good("sample", "-n3", "--seed=7", "--dtype=f32", "--", file))
        self.assertEqual(text, self.good("sample", "--seed=1", "-n", 3, file, "--dtype=f32", "--seed=7"))

    def test_a_lost_write_to_standard_output_is_an_error(self):
        file = self.save("q", gauss(5, 2))
        for args in (["info", file], ["info", file, "--json"], ["sample", file, "-n", 9], ["methods"], []):
            with open("/dev/full", "wb") as full:
                done = self.run_it(*args, stdout=full)
            self.assertEqual(done.returncode, 1)
            self.assertEqual(done.stderr.decode(),
                             "fabayes: standard output: No space left on device\n")

    def test_a_closed_pipe_ends_quietly(self):
        file = self.save("q", gauss(29, 3))
        for ignore in (False, True):
            handler = signal.SIG_IGN if ignore else signal.SIG_DFL
            p = subprocess.Popen([self.program, "sample", file, "-n", "1000000"], stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, restore_signals=False,
                                 preexec_fn=lambda: signal.signal(signal.SIGPIPE, handler))
            p.stdout.readline()
            p.stdout.close()
            self.assertEqual(p.stderr.read(), b"")
            p.stderr.close()
            self.assertEqual(p.wait(60), 1 if ignore else -signal.SIGPIPE)


class Files(Case):
    """What every verb that reads a posterior refuses: one sentence, status 1."""

    def refused(self, data, *says):
        file = self.write("bad.safetensors", data)
        for args in (["info", file], ["info", file, "--json"], ["sample", file, "-n", 2],
                     ["compare", file, file]):
            self.bad(1, *args, says=[file, *says])

    def refused_tensors(self, tensors, *says, form="covariance"):
        self.refused(safetensors(tensors, {"fabayes": "0.1.0", "form": form}), *says)

    def test_a_missing_file_is_refused(self):
        for args in (["info", "none"], ["sample", "none", "-n", 1], ["compare", "none", "none"]):
            self.bad(1, *args, says=["none", "No such file"])
        self.bad(1, "info", self.folder, says=[self.folder])

    def test_a_truncated_file_is_refused(self):
        whole = safetensors(gauss(29, 3), {"fabayes": "0.1.0", "form": "covariance"})
        for size in (0, 4, 8, 100, len(whole) - 1):
            self.refused(whole[:size])

    def test_a_file_that_is_no_safetensors_is_refused(self):
        self.refused(b"a,b,c\n1,2,3\n4,5,6\n")
        self.refused(b"\xff" * 1000)

    def test_psi_must_be_positive(self):
        for value in (0.0, -1.0, math.nan, math.inf):
            t = gauss(29, 3)
            t["psi"][17] = value
            self.refused_tensors(t, "psi", "17")

    def test_mu_and_F_must_be_finite(self):
        for value in (math.nan, -math.inf):
            t = gauss(29, 3)
            t["mu"][4] = value
            self.refused_tensors(t, "mu", "4")
            t = gauss(29, 3)
            t["F"][5, 1] = value
            self.refused_tensors(t, "F")

    def test_shapes_must_agree(self):
        for change in ({"psi": np.ones(28)}, {"F": np.ones((28, 3))}, {"F": np.ones(29)},
                       {"mu": np.ones((29, 1))}):
            self.refused_tensors({**gauss(29, 3), **change})

    def test_an_unknown_form_is_refused(self):
        self.refused_tensors(gauss(5, 2), "form", "covarience", form="covarience")

    def test_missing_tensors_and_metadata_are_refused(self):
        for name in ("mu", "psi"):
            t = gauss(5, 2)
            del t[name]
            self.refused_tensors(t, name)
        self.refused(safetensors(gauss(5, 2), {"fabayes": "0.1.0"}), "form")


class Info(Case):
    def test_two_metadata_keys_are_enough(self):
        file = self.save("q", gauss(29, 3))
        j = self.good_json("info", file)
        self.assertEqual((j["D"], j["K"], j["form"], j["dtype"]), (29, 3, "covariance", "f64"))
        self.assertEqual(j["fabayes"], "0.1.0")
        self.assertNotIn("method", j)
        self.assertIn("D = 29, K = 3, f64", self.good("info", file))

    def test_json_has_every_metadata_key(self):
        meta = {"method": "online-em", "settings": '{"K": 3, "cut": "em"}', "n": "1000", "seed": "7",
                "scaling": '{"mean": [1, 2.5]}', "note": "caf\u00e9 {not json", "list": "[1, 2]"}
        j = self.good_json("info", self.save("q", gauss(29, 3), **meta))
        self.assertEqual(j["settings"], {"K": 3, "cut": "em"})
        self.assertEqual(j["scaling"], {"mean": [1, 2.5]})
        self.assertEqual(j["list"], [1, 2])
        for key in ("method", "n", "seed", "note"):
            self.assertEqual(str(j[key]), meta[key])

    def test_a_person_is_told_what_was_done(self):
        text = self.good("info", self.save("q", gauss(29, 3), method="online-em", n="1000", seed="7",
                                           settings='{"K": 3}', owner="me"))
        for line in (r"method +online-em", r"settings +\{\"K\": 3\}", r"rows seen +1000", r"seed +7",
                     r"owner +me", r"written by +fabayes 0\.1\.0", r"mean +-?[0-9.]+ \.\. [0-9.]+"):
            self.assertRegex(text, "(?m)^%s" % line)

    def test_ranges_and_shares_are_right(self):
        for form in ("covariance", "precision"):
            t = gauss(29, 3)
            j = self.good_json("info", self.save("q", t, form))
            sd = np.sqrt(np.diag(covariance(t, form)))
            self.assertEqual(j["mean_range"], [t["mu"].min(), t["mu"].max()])
            np.testing.assert_allclose(j["sd_range"], [sd.min(), sd.max()], rtol=1e-12)
            inside = (t["F"] ** 2).sum()
            self.assertAlmostEqual(j["share_in_F"], inside / (inside + t["psi"].sum()), 12)

    def test_a_plain_diagonal_and_a_point_are_shown(self):
        t = gauss(5, 0)
        j = self.good_json("info", self.save("q", t))
        self.assertEqual((j["K"], j["share_in_F"]), (0, 0))
        j = self.good_json("info", self.save("q", {"mu": t["mu"]}, "point"))
        self.assertEqual((j["form"], j["D"], j["sd_range"]), ("point", 5, [0, 0]))
        self.assertNotIn("share_in_F", j)

    def test_single_precision_is_shown(self):
        j = self.good_json("info", self.save("q", gauss(5, 2, dtype=np.float32)))
        self.assertEqual(j["dtype"], "f32")

    def test_the_parts_of_a_mixture_are_shown(self):
        file = self.save("q", mixture([gauss(5, 2, 1), gauss(5, 2, 2)], [0.25, 0.75]))
        j = self.good_json("info", file)
        self.assertEqual([p["weight"] for p in j["parts"]], [0.25, 0.75])
        self.assertEqual([p["K"] for p in j["parts"]], [2, 2])
        self.assertEqual(j["D"], 5)
        text = self.good("info", file)
        self.assertIn("2 parts", text)
        self.assertIn("weight 0.75", text)


def mixture(parts, weights):
    t = {"%d.%s" % (i, k): v for i, p in enumerate(parts) for k, v in p.items()}
    return {**t, "weights": np.array(weights)}


class Sample(Case):
    def check_moments(self, x, mu, S):
        """Whitened draws have mean 0 and covariance I: two chi-squares, false alarm 6e-7 in all."""
        n, D = x.shape
        y = np.linalg.solve(np.linalg.cholesky(S), (x - mu).T)
        self.assertLess(n * (y.mean(axis=1) ** 2).sum(), chi2_limit(D))
        C = y @ y.T / n - np.eye(D)
        z2 = n * (C ** 2).sum() / 2 # the diagonal has variance 2/n, a pair off it 1/n
        self.assertLess(z2, chi2_limit(D * (D + 1) / 2))
        self.assertGreater(z2, D * (D + 1) / 2 / 3)

    def test_draws_have_the_files_covariance(self):
        for form in ("covariance", "precision"):
            for dtype in (np.float64, np.float32):
                t = gauss(7, 2, dtype=dtype)
                x = self.draws(self.save("q", t, form), 20000, "--seed=3")
                self.assertEqual((x.shape, x.dtype), ((20000, 7), np.float64))
                self.check_moments(x, t["mu"], covariance(t, form))

    def test_a_diagonal_is_sampled(self):
        t = gauss(7, 0)
        self.check_moments(self.draws(self.save("q", t), 20000), t["mu"], covariance(t))

    def test_draws_of_single_precision_are_right(self):
        t = gauss(7, 2)
        x = self.draws(self.save("q", t), 20000, "--dtype=f32")
        self.assertEqual(x.dtype, np.float32)
        self.check_moments(x.astype(float), t["mu"], covariance(t))

    def test_a_draw_of_a_point_is_the_point(self):
        mu = gauss(5, 0)["mu"]
        x = self.draws(self.save("q", {"mu": mu}, "point"), 3)
        np.testing.assert_array_equal(x, np.tile(mu, (3, 1)))

    def test_the_rest_of_theta_stays(self):
        t = {**gauss(3, 1), "theta": np.arange(7) + 0.5, "index": np.array([1, 2, 5])}
        x = self.draws(self.save("q", t), 20000)
        np.testing.assert_array_equal(x[:, [0, 3, 4, 6]], np.tile(t["theta"][[0, 3, 4, 6]], (20000, 1)))
        self.check_moments(x[:, [1, 2, 5]], t["mu"], covariance(t))

    def test_a_mixture_draws_from_its_parts_by_weight(self):
        parts, n = [gauss(5, 2, 1), gauss(5, 2, 2)], 20000
        parts[1]["mu"] += 1000 # so far apart that every draw tells its part
        x = self.draws(self.save("q", mixture(parts, [0.25, 0.75])), n)
        second = x[:, 0] > 500
        z = (second.sum() - 0.75 * n) / math.sqrt(n * 0.75 * 0.25)
        self.assertLess(abs(z), 5) # false alarm 6e-7
        for part, rows in zip(parts, (x[~second], x[second])):
            self.check_moments(rows, part["mu"], covariance(part))

    def test_the_same_seed_gives_the_same_bytes(self):
        file = self.save("q", gauss(29, 3))
        text = self.good("sample", file, "-n", 50, "--seed=9")
        self.assertEqual(text, self.good("sample", file, "-n", 50, "--seed=9"))
        self.assertNotEqual(text, self.good("sample", file, "-n", 50, "--seed=8"))
        self.assertTrue(text.startswith(self.good("sample", file, "-n", 20, "--seed=9")))

    def test_pieces_continue_one_another(self):
        two = mixture([gauss(5003, 2, 1), gauss(5003, 2, 2)], [0.5, 0.5])
        for name, t in (("one", gauss(5003, 3)), ("two", two)):
            file = self.save(name, t)
            x = self.draws(file, 300) # 224 rows are a piece
            self.assertEqual(len(np.unique(x[:, 0])), 300)
            np.testing.assert_array_equal(x[:250], self.draws(file, 250))

    def test_threads_do_not_change_a_byte(self):
        two = mixture([gauss(5003, 2, 1), gauss(5003, 2, 2)], [0.5, 0.5])
        for name, t in (("one", gauss(5003, 3)), ("two", two)):
            file = self.save(name, t)
            one = self.draws(file, 300, "--threads=1")
            np.testing.assert_array_equal(one, self.draws(file, 300, "--threads=2"))

    def test_the_text_reads_back_to_the_same_numbers(self):
        file = self.save("q", gauss(29, 3))
        for dtype in ("f64", "f32"):
            x = self.draws(file, 200, "--dtype", dtype)
            lines = self.good("sample", file, "-n", 200, "--dtype", dtype).splitlines()
            read = np.array([[float(v) for v in line.split(",")] for line in lines]).astype(x.dtype)
            np.testing.assert_array_equal(x, read)

    def test_json_says_what_was_written(self):
        file, out = self.save("q", gauss(5, 2)), self.path("x.npy")
        j = self.good_json("sample", file, "-n", 4, "-o", out, "--seed=6", "--dtype=f32")
        self.assertGreaterEqual(j.pop("seconds"), 0)
        self.assertEqual(j, {"file": file, "output": out, "n": 4, "D": 5, "columns": 5, "dtype": "f32",
                             "seed": 6})
        self.bad(2, "sample", file, "-n", 4, "--json", says=["--json needs -o"])

    def test_quiet_says_nothing(self):
        file, out = self.save("q", gauss(5, 2)), self.path("x.npy")
        self.assertEqual(self.good("sample", file, "-n", 4, "-o", out, "--quiet"), "")
        self.assertIn("4 draws of 5 numbers", self.good("sample", file, "-n", 4, "-o", out))

    def test_an_output_that_cannot_be_replaced_is_refused(self):
        file = self.save("q", gauss(5, 2))
        self.bad(1, "sample", file, "-n", 4, "-o", self.folder, says=["folder"])
        self.bad(1, "sample", file, "-n", 4, "-o", "/dev/null", says=["regular file"])
        self.bad(1, "sample", file, "-n", 4, "-o", file, says=["input"])
        self.bad(1, "sample", file, "-n", 4, "-o", self.path("none/x.npy"), says=["none/x.npy"])
        self.assertEqual(os.listdir(self.folder), ["q"])
        self.assertEqual(self.good_json("info", file)["D"], 5)

    def test_a_failed_write_leaves_the_old_file(self):
        file, out = self.save("q", gauss(29, 3)), self.write("x.npy", b"the old bytes")

        def small_disk():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100000, 100000))
        done = self.run_it("sample", file, "-n", 10000, "-o", out, preexec_fn=small_disk)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"x.npy", done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["q", "x.npy"])
        with open(out, "rb") as f:
            self.assertEqual(f.read(), b"the old bytes")

    def test_an_interrupt_leaves_nothing_behind(self):
        file = self.save("q", gauss(2003, 30))
        p = subprocess.Popen([self.program, "sample", file, "-n", "10000000", "-o", self.path("x.npy")],
                             stderr=subprocess.PIPE)
        while len(os.listdir(self.folder)) == 1 and p.poll() is None: # until the draws have begun
            pass
        p.send_signal(signal.SIGINT)
        said = p.communicate(timeout=60)[1]
        self.assertEqual((p.returncode, said), (1, b"fabayes: sample: stopped\n"))
        self.assertEqual(os.listdir(self.folder), ["q"])

    def test_memory_does_not_grow_with_the_draws(self):
        file, used = self.save("q", gauss(1000, 3)), []
        for n in (10, 20000): # 160 MB of draws
            p = subprocess.Popen([self.program, "sample", file, "-n", str(n), "-o", self.path("x.npy"),
                                  "--quiet"])
            status, usage = os.wait4(p.pid, 0)[1:]
            p.returncode = status
            self.assertEqual(status, 0)
            used.append(usage.ru_maxrss)
        self.assertLess(used[1] - used[0], 60000) # KB


class Compare(Case):
    KEYS = ["mean_distance", "covariance_distance", "kl_ab", "kl_ba", "w2", "w2_per_dim"]

    def dense(self, a, A, b, B):
        """The six numbers from dense matrices."""
        def kl(m, S, mu, T):
            P = np.linalg.inv(T)
            return 0.5 * (np.trace(P @ S) - len(m) + (m - mu) @ P @ (m - mu) +
                          np.linalg.slogdet(T)[1] - np.linalg.slogdet(S)[1])

        def root(S):
            w, V = np.linalg.eigh(S)
            return V * np.sqrt(np.maximum(w, 0)) @ V.T
        w2 = math.sqrt(((a - b) ** 2).sum() + np.trace(A + B - 2 * root(root(B) @ A @ root(B))))
        return [np.linalg.norm(a - b) / np.linalg.norm(b), np.linalg.norm(A - B) / np.linalg.norm(B),
                kl(a, A, b, B), kl(b, B, a, A), w2, w2 / len(a)]

    def test_the_numbers_are_those_of_dense_matrices(self):
        for fa, fb in (("covariance", "covariance"), ("covariance", "precision"),
                       ("precision", "precision")):
            a, b = gauss(29, 3, 1), gauss(29, 5, 2)
            j = self.good_json("compare", self.save("a", a, fa), self.save("b", b, fb))
            self.assertEqual(list(j), self.KEYS + ["reasons"])
            self.assertEqual(j["reasons"], {})
            want = self.dense(a["mu"], covariance(a, fa), b["mu"], covariance(b, fb))
            np.testing.assert_allclose([j[k] for k in self.KEYS], want, rtol=1e-9)

    def test_a_file_is_at_no_distance_from_itself(self):
        file = self.save("q", gauss(29, 3))
        j = self.good_json("compare", file, file)
        self.assertEqual(j["mean_distance"], 0)
        for key in self.KEYS[:4]:
            self.assertLess(abs(j[key]), 1e-12, key)
        self.assertLess(j["w2"], 1e-5) # a root of a difference of traces: sqrt(eps) of their size

    def test_a_person_sees_the_same_keys(self):
        text = self.good("compare", self.save("a", gauss(29, 3)), self.save("b", gauss(29, 2, 2)))
        for key in self.KEYS:
            self.assertRegex(text, r"(?m)^%s +[0-9.e+-]+ " % key)

    def test_what_is_not_available_is_null_with_the_reason(self):
        t = gauss(5, 2)
        point, zero = self.save("p", {"mu": t["mu"]}, "point"), self.save("z", {**t, "mu": np.zeros(5)})
        j = self.good_json("compare", point, zero)
        for key in ("mean_distance", "kl_ab", "kl_ba"):
            self.assertIsNone(j[key])
            self.assertGreater(len(j["reasons"][key]), 10)
        self.assertRegex(self.good("compare", point, zero), r"(?m)^kl_ab +not available: \w")

    def test_w2_is_not_available_above_the_dense_limit(self):
        a, b = self.save("a", gauss(6007, 2)), self.save("b", gauss(6007, 2, 2))
        j = self.good_json("compare", a, b)
        self.assertEqual((j["w2"], j["w2_per_dim"]), (None, None))
        self.assertEqual(set(j["reasons"]), {"w2", "w2_per_dim"})
        self.assertGreater(j["kl_ab"], 0)

    def test_different_D_is_refused_naming_both(self):
        a, b = self.save("a", gauss(5, 2)), self.save("b", gauss(6, 2))
        self.bad(1, "compare", a, b, says=["D = 5", "D = 6", a, b])

    def test_different_coordinates_are_refused(self):
        t = {**gauss(3, 1), "theta": np.zeros(7)}
        a = self.save("a", {**t, "index": np.array([1, 2, 5])})
        b = self.save("b", {**t, "index": np.array([1, 2, 6])})
        self.bad(1, "compare", a, b, says=["different coordinates"])
        self.bad(1, "compare", a, self.save("c", gauss(3, 1)), says=["part of 7"])
        self.good("compare", a, a)

    def test_a_mixture_is_refused(self):
        one = self.save("a", gauss(5, 2))
        two = self.save("b", mixture([gauss(5, 2, 1), gauss(5, 2, 2)], [0.5, 0.5]))
        self.bad(1, "compare", one, two, says=[two, "mixture"])
        self.bad(1, "compare", two, one, says=[two, "mixture"])

    def test_threads_do_not_change_a_byte(self):
        a, b = self.save("a", gauss(5003, 3)), self.save("b", gauss(5003, 2, 2))
        one = self.good("compare", a, b, "--json", "--threads=1")
        self.assertEqual(one, self.good("compare", a, b, "--json", "--threads=2"))


class Methods(Case):
    def test_the_list_and_each_table_agree(self):
        methods = self.good_json("methods")["methods"]
        text = self.good("methods")
        for m in methods:
            self.assertRegex(text, r"(?m)^%s +(stream|batch) " % m["name"])
            self.assertEqual(self.good_json("methods", m["name"]), m)
            table = self.good("methods", m["name"])
            for s in m["settings"]:
                self.assertEqual([k for k in s if not k.startswith("tune")],
                                 ["name", "type", "default", "range", "help"])
                self.assertRegex(table, r"(?m)^%s +" % s["name"])
        if not methods:
            self.assertIn("no method", text)

    def test_what_a_method_takes_and_asks_for_is_told(self):
        methods = {m["name"]: m for m in self.good_json("methods")["methods"]}
        text = self.good("methods")
        self.assertEqual(methods["recursive-em"]["takes"], ["vectors", "weights", "sparse rows"])
        self.assertEqual(methods["online-sga"]["takes"], ["vectors", "sparse rows"])
        self.assertEqual(methods["swag"]["vector_takes"], ["vectors", "sparse rows"])
        asks = {"sgd": ["gradient"], "vogn": ["examples"], "lrvga": ["gradient", "examples", "outputs"], "ml": []}
        for name, words in asks.items():
            self.assertEqual(methods[name]["asks"], words)
        self.assertRegex(text, r"(?m)^recursive-em +stream +fa +vectors, weights, sparse ")
        self.assertRegex(text, r"(?m)^online-sga +stream +fa +vectors, sparse ")
        self.assertRegex(text, r"(?m)^swag +stream +fa +vectors, sparse ")
        self.assertIn("asks, driven from outside, for gradient, examples, outputs", self.good("methods", "lrvga"))

    def test_an_unknown_method_is_answered_with_the_nearest(self):
        self.bad(2, "methods", "entirely-different", says=["there is no method 'entirely-different'"])
        for m in self.good_json("methods")["methods"]:
            self.bad(2, "methods", m["name"] + "x", says=["did you mean '%s'?" % m["name"]])


class Refusals(Case):
    """Options and files that have nothing to do with one another, each with a sentence that names both."""

    def setUp(self):
        super().setUp()
        self.rng = np.random.RandomState(2385)
        self.table = self.rows("t.csv", 0)

    def rows(self, name, shift):
        x = np.round(self.rng.randn(40, 2) + shift, 3)
        y = np.round(x[:, 0] - x[:, 1] + 0.1 * self.rng.randn(40), 3)
        return self.write(name, ("a,b,y\n" + "".join("%g,%g,%g\n" % (*r, v) for r, v in zip(x, y))).encode())

    def fit(self, name, *more, table=None):
        out = self.path(name)
        self.good("fit", table or self.table, "-y", "y", "-o", out, "--quiet", "--threads", 1, *more)
        return out

    def test_units_are_those_of_a_fit(self):
        self.good("fa", self.table, "-k", 1, "-o", self.path("f.st"), "--quiet")
        self.bad(1, "fit", self.table, "-y", "y", "--units", self.path("f.st"), says=["has no units", "a file of `fabayes fit`"])
        self.bad(1, "fit", self.table, "-y", "y", "--units", self.table, says=["t.csv"])

    def test_a_column_has_one_use(self):
        self.bad(2, "fit", self.table, "-y", "y", "--exclude", "y", says=["column 'y' is excluded, and is target"])
        self.bad(2, "fit", self.table, "-y", "y", "--weight", "a", "--exclude", "b,a", says=["column 'a' is excluded"])

    def test_draws_and_functions_are_told_apart(self):
        linear, process = self.fit("m.st", "-m", "kalman"), self.fit("gp.st", "--model", "gp:rbf", "--starts=1")
        self.bad(2, "sample", linear, self.table, "-n", 2, says=["DATA is for the functions of a Gaussian process", "m.st is none"])
        self.bad(2, "sample", process, "-n", 2, says=["gp.st is a Gaussian process, whose functions are drawn at rows"])
        self.bad(2, "sample", process, self.table, "-n", 2, "--dtype", "f32", says=["functions are f64"])
        self.bad(2, "sample", linear, "-n", 2, "--sep", ",", says=["says how DATA is read, and there is no DATA"])

    def test_a_model_knows_its_columns(self):
        linear = self.fit("m.st", "-m", "kalman")
        for option in ("--only", "--exclude"):
            self.bad(2, "update", linear, self.table, option, "a", says=["are for files of `fa`: ", "m.st knows its columns"])
        self.bad(2, "predict", linear, self.table, "--keep", "c", says=["DATA has no column 'c'"])

    def test_rows_of_a_sparse_file_have_no_columns_to_keep(self):
        sparse = self.write("s.svm", b"".join(b"%d 1:%.3f 2:%.3f\n" % (i % 7, *self.rng.randn(2)) for i in range(30)))
        out = self.path("sv.st")
        self.good("fit", sparse, "-y", "label", "-m", "lrvga", "-k", 1, "-o", out, "--quiet")
        self.bad(2, "predict", out, sparse, "--keep", "a", says=["--keep is for tables, and DATA is a libsvm file"])
        self.bad(2, "predict", out, sparse, "--all", says=["--all is for tables"])

    def test_weights_of_networks_are_compared_in_one_scaling(self):
        words = ["--model", "mlp:2", "-m", "laplace", "--epochs=2"]
        one, other = self.fit("n1.st", *words), self.fit("n2.st", *words, table=self.rows("u.csv", 5))
        self.bad(1, "compare", one, other, says=["were scaled differently: their weights cannot be compared"])
        words = ["--model", "rff:rbf:10", "-m", "kalman"]
        one, other = self.fit("r1.st", *words), self.fit("r2.st", *words, table=self.path("u.csv"))
        self.bad(1, "compare", one, other, says=["cannot be brought to the same units", "features of a kernel"])

    def test_what_cannot_be_merged_is_refused(self):
        network, point = self.fit("n.st", "--model", "mlp:2", "-m", "laplace", "--epochs=2"), self.fit("p.st", "-m", "ridge")
        for option in (["-k", 2], ["--alpha", 2]):
            self.bad(2, "merge", network, network, *option, "-o", self.path("o.st"), says=["a mixture, which has neither K nor alpha"])
        self.bad(1, "merge", point, point, "-o", self.path("o.st"), says=["p.st: is a point"])
        for name, columns in (("f1.st", "a,b,y"), ("f2.st", "a,b")):
            self.good("fa", self.table, "-k", 1, "--only", columns, "-o", self.path(name), "--quiet")
        self.bad(1, "merge", self.path("f1.st"), self.path("f2.st"), "-o", self.path("o.st"), says=["f1.st has D = 3", "f2.st has D = 2"])
        self.assertFalse(os.path.exists(self.path("o.st")))

    def test_names_numbers_and_rows_have_their_limits(self):
        few = self.write("few.csv", b"a,b,y\n1,2,3\n2,1,1\n3,5,2\n")
        self.bad(1, "report", "x" * 5000, says=["the name of FILE is too long"])
        self.bad(2, "propose", self.table, "-y", "y", *(w for i in range(65) for w in ("--range", "a%d=0:1" % i)),
                 says=["--range is given more than 64 times"])
        self.bad(1, "fit", few, "-y", "y", "--model", "mlp:2", "-m", "laplace", "--noise-floor", "auto",
                 says=["--noise-floor auto needs at least 5 rows, and here are 3"])

    def test_a_file_that_no_fit_made_is_not_continued(self):
        self.bad(1, "update", self.save("q", gauss(3, 1)), self.table, says=["is not a file of `fabayes fa` or `fit`"])

    def test_a_search_in_which_nothing_can_be_fitted_says_why(self):
        self.bad(1, "tune", self.table, "-y", "y", "-m", "lrvga", "-k", 1, "--alpha=1e-300:2e-300", "--trials", 2, "--quiet",
                 says=["no trial could be fitted", "digits run out"])


if __name__ == "__main__":
    run(Calls, Files, Info, Sample, Compare, Methods, Refusals)
