#!/usr/bin/python3
"""test_cli_net.py - networks from the command line: test_cli_net.py FABAYES [NAME ..].

Exit status: 0 all passed; 1 some failed; 77 NumPy is missing.
"""
# SPDX-License-Identifier: MIT
import math
import os
import subprocess

from cli_case import Case, np, run


def csv(X, y, names=None):
    names = names or ["c%d" % i for i in range(X.shape[1])] + ["y"]
    lines = [",".join(names)] + [",".join("%.9g" % v for v in row) + ",%s" % t for row, t in zip(X, y)]
    return ("\n".join(lines) + "\n").encode()


class Net(Case):
    def setUp(self):
        super().setUp()
        r = np.random.RandomState(0)
        self.X = r.randn(400, 3)
        self.y = 5 + 10 * (np.sin(2 * self.X[:, 0]) + self.X[:, 1] ** 2) + r.randn(400)
        self.data = self.write("d.csv", csv(self.X[:300], self.y[:300]))
        self.test = self.write("t.csv", csv(self.X[300:], self.y[300:]))
        self.file = self.path("n.safetensors")

    def fit(self, *args, **more):
        return self.good_json("fit", more.get("data", self.data), "-y", "y", "--model", more.get("model", "mlp:40"), "-o",
                              more.get("file", self.file), *args)

    def test_a_network_learns_what_a_line_cannot(self):
        said = self.fit("-m", "map")
        self.assertEqual((said["method"], said["model"], said["parameters"]), ("sgd", "dense:40,relu,dense:1", 202))
        net = self.good_json("score", self.file, self.test)
        self.assertEqual(list(net), ["n", "nll", "rmse", "mae", "crps", "coverage50", "coverage90", "coverage95"])
        self.good("fit", self.data, "-y", "y", "-o", self.file)
        line = self.good_json("score", self.file, self.test)
        self.assertLess(net["rmse"], 0.4 * line["rmse"])
        self.assertEqual(self.good_json("info", self.path("n.safetensors"))["form"], "covariance")

    def test_the_default_is_a_mixture_of_modes_with_the_noise_of_rows_left_out(self):
        said = self.fit()
        self.assertEqual((said["method"], said["settings"]["runs"]), ("ensemble", 5))
        self.assertGreater(said["noise_floor"], 0)
        s = self.good_json("score", self.file, self.test)
        self.fit("-m", "map")
        self.assertLess(s["nll"], self.good_json("score", self.file, self.test)["nll"])
        self.assertTrue(0.8 < s["coverage90"] <= 1)

    def test_predictions_are_in_the_users_units(self):
        self.fit("-m", "map", "--beta=25")
        lines = self.good("predict", "--full", self.file, self.test).split("\n")
        p = np.array([[float(v) for v in l.split(",")] for l in lines[1:-1]])
        self.assertEqual(lines[0], "mean,sd,lower,upper")
        sd = np.std(np.genfromtxt(self.data, delimiter=",", skip_header=1)[:, -1]) / 5
        np.testing.assert_allclose(p[:, 1], sd, rtol=1e-7)
        np.testing.assert_allclose(p[:, 3] - p[:, 0], 1.6448536269514722 * sd, rtol=1e-6)
        y = np.genfromtxt(self.test, delimiter=",", skip_header=1)[:, -1]
        s = self.good_json("score", self.file, self.test)
        z = (y - p[:, 0]) / sd
        np.testing.assert_allclose([s["rmse"], s["nll"], s["coverage90"]],
                                   [np.sqrt(np.mean((y - p[:, 0]) ** 2)), np.mean(z * z / 2) + math.log(sd * math.sqrt(2 * math.pi)),
                                    np.mean(abs(z) <= 1.6448536269514722)], rtol=1e-6)

    def test_a_few_wrong_rows_hardly_move_noise_with_heavy_tails(self):
        wrong = self.y[:300].copy()
        wrong[::20] += 200
        data = self.write("wrong.csv", csv(self.X[:300], wrong))
        clean = self.write("clean.csv", csv(self.X[300:], self.y[300:]))
        scores = []
        for tails in ([], ["--nu", "3"]):
            self.fit("-m", "vifa", "--noise", "learned", *tails, data=data)
            scores.append(self.good_json("score", self.file, clean))
        self.assertLess(scores[1]["rmse"], 0.4 * scores[0]["rmse"])
        self.assertLess(scores[1]["nll"], scores[0]["nll"] - 0.5)
        self.assertEqual(self.good_json("info", self.file)["model"]["nu"], 3)

    def test_learned_noise_stays_above_its_floor(self):
        self.assertAlmostEqual(self.fit("--noise-floor", "3")["beta"] ** -0.5 * np.std(self.y[:300]), 3, delta=0.01)
        self.bad(2, "fit", self.data, "-y", "y", "--model", "mlp:4", "--noise-floor", "3", "--beta=2", says=["floor", "fixed"])
        self.bad(2, "fit", self.data, "-y", "y", "--nu", "3", "-m", "exact", says=["nu", "laplace and map"])
        self.bad(2, "fit", self.data, "-y", "y", "--model", "mlp:4", "--noise-floor", "low", says=["'low'", "auto"])
        self.bad(2, "fit", self.data, "-y", "y", "--model", "mlp:x", "--noise-floor", "auto", says=["mlp:x"])
        four = self.write("four.csv", csv(self.X[:4], self.y[:4]))
        self.bad(1, "fit", four, "-y", "y", "--model", "mlp:4", "--noise-floor", "auto", says=["four.csv", "at least 5 rows", "4"])
        self.bad(2, "fit", self.data, "-y", "y", "--model", "mlp:4", "--nu", "1", says=["nu = 1"])

    def test_rows_left_out_say_how_large_the_noise_is(self):
        few = self.write("few.csv", csv(self.X[:60], self.y[:60]))  # 60 rows, 202 weights: learned noise is far too small
        alone = self.fit("-m", "map", "--epochs=400", data=few)
        found = self.fit("-m", "map", "--epochs=400", "--noise-floor", "auto", "--seed", "9", "--threads", "1", data=few, file=self.path("f.safetensors"))
        again = self.fit("-m", "map", "--epochs=400", "--noise-floor", "auto", "--seed", "9", "--threads", "2", data=few, file=self.path("g.safetensors"))
        self.assertIsNone(alone["noise_floor"])
        self.assertEqual(found["noise_floor"], again["noise_floor"])
        floor = self.good_json("score", self.path("f.safetensors"), self.test)
        self.assertLess(floor["nll"], self.good_json("score", self.file, self.test)["nll"] - 1)
        self.assertGreater(found["noise_density"], -self.good_json("score", self.file, self.test)["nll"])
        self.assertEqual(*[open(self.path(f), "rb").read() for f in ("f.safetensors", "g.safetensors")])
        # What is automatic in vifa is sgd's own in the folds: the floor is that of the mode at its defaults, to the bit.
        said = self.fit("-m", "vifa", "--map_part=0.5", "--noise-floor", "auto", "--seed", "9", data=few)
        mode = self.fit("-m", "map", "--batch=%d" % said["settings"]["batch"], "--noise-floor", "auto", "--seed", "9", data=few)
        self.assertEqual(said["noise_floor"], mode["noise_floor"])

    def test_lrvga_of_a_network_goes_on_with_new_rows(self):
        said = self.fit("-m", "lrvga", "-k", "5")
        self.assertEqual((said["method"], said["n"], said["K"], said["iterations"]), ("lrvga", 300, 5, 200))
        drawn = self.good_json("score", self.file, self.test)
        flat = self.good_json("score", self.file, self.test, "--linearised")
        self.assertGreater(drawn["coverage90"], 0.75)
        self.assertLess(abs(drawn["nll"] - flat["nll"]), 0.3)
        more = self.good_json("update", self.file, self.test)
        self.assertEqual((more["n"], more["rows"]), (400, 100))
        self.assertLess(self.good_json("score", self.file, self.test)["nll"], drawn["nll"])

    def test_lrvga_of_a_network_refuses_what_it_cannot_do(self):
        call = ["fit", self.data, "-y", "y", "--model", "mlp:5", "-m", "lrvga", "-o", self.file]
        self.bad(2, *call, "--checkpoint", "9", says=["update"])
        self.bad(2, *call, "--scale-rows", "9", says=["all rows"])
        self.bad(1, *call, "--noise", "output", says=["noise"])

    def test_classes_have_probabilities(self):
        kind = np.array(["low", "middle", "high"])[np.digitize(self.y, [0, 15])]
        data = self.write("k.csv", csv(self.X, kind))
        said = self.fit("-m", "map", data=data)
        self.assertEqual(said["likelihood"], "categorical")
        s = self.good_json("score", self.file, data)
        self.assertGreater(s["accuracy"], 0.85)
        self.assertLess(abs(self.good_json("score", self.file, data, "--linearised")["nll"] - s["nll"]), 1e-9)  # a point
        two = self.write("b.csv", csv(self.X, np.where(self.y > 10, "yes", "no")))
        self.fit(data=two)
        lines = self.good("predict", "--full", self.file, two).split("\n")
        self.assertEqual(lines[0], "class,p_no,p_yes")
        p = np.array([[float(v) for v in l.split(",")[1:]] for l in lines[1:-1]])
        s = self.good_json("score", self.file, two)
        right = (self.y > 10).astype(int)
        np.testing.assert_allclose(s["nll"], -np.mean(np.log(p[np.arange(400), right])), rtol=1e-9)

    def test_laplace_is_a_method_of_networks_too(self):
        self.fit("-m", "map")
        point = self.good_json("score", self.file, self.test)
        said = self.fit("-m", "laplace", "-k", "10")
        self.assertEqual((said["method"], said["K"], said["parameters"], said["iterations"]), ("laplace", 10, 202, 450))
        self.assertTrue(said["alpha"] > 0 and math.isfinite(said["log_evidence"]))
        slopes = self.good_json("score", self.file, self.test, "--linearised")
        self.assertLess(slopes["nll"], point["nll"])
        self.assertLess(self.good_json("score", self.file, self.test)["nll"], 5)
        self.assertEqual(self.good_json("info", self.file)["form"], "precision")
        said = self.fit("-m", "laplace", "--last_layer=true", "--runs=2", "--epochs=100")
        self.assertEqual((said["K"], said["parameters"]), (41, 202))
        self.assertLess(self.good_json("score", self.file, self.test, "--linearised")["nll"], 5)
        self.assertEqual(len(self.good("predict", "--full", self.file, self.test).split("\n")), 102)
        kind = np.array(["low", "middle", "high"])[np.digitize(self.y, [0, 15])]
        data = self.write("k.csv", csv(self.X, kind))
        self.fit("-m", "laplace", "--epochs=50", data=data, model="mlp:10")
        for way in ["--linearised"], []:
            self.assertGreater(self.good_json("score", self.file, data, *way)["accuracy"], 0.8)
        lines = self.good("methods", "laplace")
        self.assertTrue("intercept_alpha" in lines and "last_layer" in lines)
        self.bad(2, "fit", self.data, "-y", "y", "-m", "laplace", "--last_layer=true", says=["last_layer"])

    def test_laplace_goes_on_from_a_file_between_its_rounds(self):
        call = ["-m", "laplace", "-k", "3", "--epochs=20", "--rounds=2", "--again=10"]
        files = [self.path(n) for n in ("w", "p")]
        self.fit(*call, file=files[0])
        self.fit(*call, "--checkpoint", "1", file=files[1])
        self.assertEqual(*[open(f, "rb").read() for f in files])
        self.fit(*call, "--resume", file=files[1])
        self.assertEqual(*[open(f, "rb").read() for f in files])

    def test_images_go_through_convolutions(self):
        r = np.random.RandomState(1)
        t = r.randint(0, 2, 200)
        images = r.rand(200, 6, 6) * 0.5
        images[t == 1, 2:4, :] += 0.7  # a bar across, or up
        images[t == 0, :, 2:4] += 0.7
        data = self.write("i.csv", csv(images.reshape(200, 36), t))
        self.fit("--epochs=30", data=data, model="input:1x6x6,conv:4x3,relu,pool:2,flatten")
        self.assertGreater(self.good_json("score", self.file, data)["accuracy"], 0.98)

    def test_images_and_labels_are_two_idx_files(self):
        r = np.random.RandomState(1)
        t = r.randint(0, 3, 150).astype(np.uint8)
        images = r.randint(0, 50, (150, 4, 4)).astype(np.uint8)
        images[np.arange(150), t, :] += 150
        a = self.write("images", bytes([0, 0, 8, 3, 0, 0, 0, 150, 0, 0, 0, 4, 0, 0, 0, 4]) + images.tobytes())
        b = self.write("labels", bytes([0, 0, 8, 1, 0, 0, 0, 150]) + t.tobytes())
        rows = self.write("rows.txt", b"\n".join(b"%d" % i for i in range(0, 150, 2)) + b"\n")
        call = ["fit", a, "--labels", b, "--likelihood", "categorical", "--model", "mlp:8", "--epochs=30", "-o", self.file]
        self.assertEqual(self.good_json(*call, "--rows", rows)["n"], 75)
        self.assertGreater(self.good_json("score", self.file, a, "--labels", b)["accuracy"], 0.98)
        self.bad(2, *call, "-y", "0", says=["--labels brings the target"])
        few = self.write("few", bytes([0, 0, 8, 1, 0, 0, 0, 149]) + t[:149].tobytes())
        self.bad(1, "fit", a, "--labels", few, "--likelihood", "categorical", says=["fewer labels than rows", "row 149"])

    def test_a_stopped_run_goes_on_to_the_same_bytes(self):
        whole, part = self.path("w"), self.path("p")
        for method, kernels in (("map", "f64"), ("vifa", "f64"), ("vifa", "f32")):  # vifa: with settings that it chooses itself
            call = ["-m", method, "--dtype", kernels, "--epochs=60"]
            self.fit(*call, file=whole)
            self.fit(*call, "--checkpoint", "7", file=part)
            with open(whole, "rb") as a, open(part, "rb") as b:
                self.assertEqual(a.read(), b.read())
            self.fit(*call, "--resume", file=part)
            with open(whole, "rb") as a, open(part, "rb") as b:
                self.assertEqual(a.read(), b.read())
            self.bad(1, "fit", self.data, "-y", "y", "--model", "mlp:40", *call[:-1], "--epochs=61", "-o", part, "--resume",
                     says=["epochs = 60", "says 61"])

    def converged(self, *args):
        said = self.good_json("fit", *args, "--threads", "2", "-o", self.path("q"))
        told = self.good_json("info", self.path("q"))
        self.assertEqual(told.get("converged"), {True: 1, False: 0, None: None}[said["converged"]])
        return said["converged"]

    def test_a_fit_that_still_improves_says_so_on_public_tables(self):
        data = os.environ.get("FAB_DATA", os.path.join(os.path.dirname(__file__), "..", "..", "shared", "data"))
        if not os.path.isdir(os.path.join(data, "uci")):
            self.skipTest("no public data: FAB_DATA")
        net = ("--model", "mlp:50")
        for name in ("yacht", "boston-housing", "energy"):
            table = (os.path.join(data, "uci", name, "data.txt"), "-y", "last")
            self.assertIs(self.converged(*table), True)  # exact
            self.assertIs(self.converged(*table, *net), True)  # the default of networks
            for method in ("map", "swag", "vifa"):
                self.assertIs(self.converged(*table, *net, "-m", method), True, (name, method))
                early = self.converged(*table, *net, "-m", method, "--epochs=2")
                self.assertIsNot(early, True)
                text = self.good("fit", *table, *net, "-m", method, "--epochs=2")
                self.assertIn("raise --epochs", text)
            self.assertIs(self.converged(*table, *net, "-m", "map", "--epochs=2"), False)
        heart = (os.path.join(data, "libsvm", "heart_scale"), "--likelihood", "bernoulli")
        for method in ("vga", "laplace", "map"):
            self.assertIs(self.converged(*heart, "-m", method), True)
        self.assertIs(self.converged(*heart, "-m", "vga", "--max_iter=3"), False)
        self.assertIn("raise --max_iter", self.good("fit", *heart, "-m", "vga", "--max_iter=3"))

    def test_tune_finds_and_fits_the_best(self):
        table = self.path("trials.csv")
        call = ["tune", self.data, "-y", "y", "--model", "mlp:10", "--epochs=20", "--trials", "6", "--folds", "3",
                "--rate=0.001:0.1:log", "--table", table, "--quiet"]
        said = self.good_json(*call, "-o", self.file)
        trials = said["trials"]
        self.assertEqual(len(trials), 6)
        self.assertEqual(said["best"]["nll"], min(t["nll"] for t in trials))
        self.assertTrue(all(0.001 <= t["settings"]["rate"] <= 0.1 for t in trials))
        self.assertEqual(self.good_json("info", self.file)["settings"]["rate"], said["best"]["settings"]["rate"])
        with open(table) as f:
            lines = f.read().split("\n")
        self.assertEqual(lines[0], "trial,rate,nll,se,failed,seconds")
        with open(table, "w") as f:
            f.write("\n".join(lines[:4]) + "\n")
        again = self.good_json(*call, "--resume", "--threads", "1")
        self.assertEqual([t["nll"] for t in again["trials"]], [t["nll"] for t in trials])
        self.bad(1, *call, "--resume", "--seed", "9", says=["trials.csv", "line 2", "not a trial of this search"])
        self.bad(2, "tune", self.data, "-y", "y", "--alpha=1:x", says=["alpha=1:x", "LO:HI"])
        self.bad(2, "tune", self.data, "-y", "y", says=["exact proposes nothing"])

    def test_wrong_calls_are_answered(self):
        call = ["fit", self.data, "-y", "y", "--model"]
        self.bad(2, *call, "mlp:x", says=["mlp:x"])
        self.bad(2, *call, "mlp:40", "-m", "exact", says=["exact", "linear models"])
        self.bad(2, *call, "input:1x2x2,conv:8x3", says=["4 numbers", "3"])
        self.bad(2, *call, "mlp:40", "--no-intercept", says=["biases"])
        self.bad(2, *call, "mlp:40", "--noise", "loud", says=["'loud'"])
        self.bad(2, "fit", self.data, "-y", "y", "--noise", "fixed", says=["networks"])
        self.good("fit", self.data, "-y", "y", "-o", self.file)
        self.bad(2, "score", self.file, self.test, "--linearised", says=["networks"])
        self.good(*call, "mlp:4", "--epochs=2", "-o", self.file)
        for verb in ("predict", "score"):
            self.bad(2, verb, self.file, self.test, "--linearised", "--samples", "50", says=["--linearised", "without draws", "--samples"])
        self.bad(1, *call, "mlp:40", "--rate=1e9", "--optimiser=sgd", "--epochs=5", says=["rate"])

    def test_laplace_is_predicted_by_its_slope_unless_draws_are_asked_for(self):
        file = self.path("l.safetensors")
        self.good_json("fit", self.data, "-y", "y", "--model", "mlp:5", "-m", "laplace", "--epochs=20", "-o", file)
        plain = self.good("predict", "--full", file, self.test)
        self.assertEqual(plain, self.good("predict", "--full", file, self.test, "--linearised"))
        self.assertNotEqual(plain, self.good("predict", "--full", file, self.test, "--samples", "100"))

    def test_slips_in_the_table_and_the_call_are_named(self):
        call = ["fit", self.data, "-y", "y", "--model"]
        self.bad(2, *call, "mlp40", says=["'mlp40'", "mlp:50"])
        self.bad(2, *call, "dens:4", says=["'dens'", "'dense'?"])
        self.bad(2, *call, "mlp:4", "-m", "vifa", "-k", "-3", says=["K = -3", "[0, 4096]"])
        self.bad(2, "fit", self.data, "--model", "mlp:4", says=["-y TARGET"])
        words = self.write("words.csv", b"x,y\n1,2\n2,abc\n3,4\n")
        self.bad(1, "fit", words, "-y", "y", "--likelihood", "gaussian", "--model", "mlp:4", says=["words.csv", "'y'", "'abc'"])
        two = self.write("two.csv", b"x,y\n1,a\n2,b\n3,a\n")
        self.bad(2, "fit", two, "-y", "y", "--model", "mlp:4", "--beta=3", says=["beta", "gaussian", "bernoulli"])

    def test_a_word_among_numbers_is_said(self):
        slip = self.write("slip.csv", b"x,y\n1,2\n2,3.5\nfoo,3\n4,5\n")
        said = self.good("fit", slip, "-y", "y", "--model", "mlp:4", "--epochs=1")
        self.assertIn("'x' is read as words, one feature each, because 'foo' is not a number", said)
        codes = self.write("codes.csv", b"x,y\n1,2\n2,3.5\n1,3\n4,5\n")
        said = self.good("fit", codes, "-y", "y", "--model", "mlp:4", "--epochs=1", "--categorical", "x")
        self.assertNotIn("read as words", said)

    def test_an_output_that_cannot_be_written_is_said_before_the_work(self):
        output = self.path("none/q.safetensors")
        self.bad(1, "fit", self.data, "-y", "y", "--model", "mlp:400,400", "--epochs=100000000", "-o", output,
                 says=[output, "its folder", "No such file"])

    def test_the_example_in_C_trains_a_network(self):
        example = os.path.join(os.path.dirname(self.program), "example_network")
        if not os.path.exists(example):
            self.skipTest("the examples are not built")
        done = subprocess.run([example, self.data, "y", "mlp:40"], stdout=subprocess.PIPE)
        self.assertEqual(done.returncode, 0)
        said = done.stdout.decode()
        self.assertTrue(said.startswith("202 parameters, 240 rows; 60 test rows: rmse "), said)
        self.assertLess(float(said.split("rmse ")[1].split(",")[0]), 4)

    def test_networks_of_other_units_are_not_compared(self):
        other = self.path("o")
        self.fit("-m", "vifa", "--epochs=2")
        self.fit("-m", "vifa", "--epochs=3", file=other)
        self.assertGreater(self.good_json("compare", self.file, other)["mean_distance"], 0)
        self.fit("-m", "vifa", "--epochs=2", data=self.test, file=other)
        self.bad(1, "compare", self.file, other, says=["scaled differently"])


if __name__ == "__main__":
    run(Net)
