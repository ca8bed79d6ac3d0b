#!/usr/bin/python3
"""test_cli_demo.py - `fabayes demo`, from outside: test_cli_demo.py FABAYES [NAME ..].

Runs it once; holds its files against the verbs they are said to come from, its numbers against NumPy.
Exit status: 0 all passed; 1 some failed; 77 NumPy is missing.
"""
# SPDX-License-Identifier: MIT
import csv
import json
import math
import os
import resource
import subprocess
import tempfile
import xml.etree.ElementTree

from cli_case import Case, np, run
from test_cli_fit import ridge

SVG = "{http://www.w3.org/2000/svg}"
HOUSES_KEYS = ["n", "n_held_out", "alpha", "beta", "log_evidence", "noise", "noise_true", "worths", "nll", "rmse",
               "coverage50", "coverage90", "coverage95", "table", "held_out", "file"]
WAVE_KEYS = ["n", "n_held_out", "noise_true", "gap", "networks", "table", "held_out"]
MOONS_KEYS = ["n", "n_held_out", "networks", "table", "held_out"]
STREAM_KEYS = ["D", "K", "n", "methods", "same_after_load", "entropy", "minus_mean_log_density", "file"]
NUMBERS = ["area", "rooms", "age", "distance"]
DISTRICTS = ["oldtown", "harbour", "hill", "station"]


def table(path):
    """Features, one for each district, and the price."""
    with open(path) as f:
        rows = list(csv.DictReader(f))
    X = [[float(r[c]) for c in NUMBERS] + [float(r["district"] == d) for d in DISTRICTS] for r in rows]
    return np.array(X), np.array([float(r["price"]) for r in rows])


class Demo(Case):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.report = os.path.join(folder.name, "report")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run([cls.program, "demo", "-o", cls.report, "--quiet", "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=300)
        cls.cpu = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        cls.done, cls.said = done, json.loads(done.stdout)

    def in_report(self, name):
        return os.path.join(self.report, name)

    def bytes_of(self, path):
        with open(path, "rb") as f:
            return f.read()

    def numbers(self, name):
        """The rows of a csv file in the report, as texts."""
        with open(self.in_report(name)) as f:
            return np.array(list(csv.reader(f))[1:])

    def svgs(self):
        """Of the houses two, of the wave two, of the process one, of the moons one, of the search one, of the stream one."""
        return xml.etree.ElementTree.parse(self.in_report("index.html")).findall(".//%ssvg" % SVG)

    def test_it_is_silent_and_quick_and_says_all_keys(self):
        self.assertEqual((self.done.returncode, self.done.stderr), (0, b""))
        self.assertLess(self.cpu, 100)  # 35 s on an idle machine
        self.assertEqual(list(self.said), ["houses", "wave", "process", "moons", "search", "stream", "report", "seconds"])
        self.assertEqual(list(self.said["houses"]), HOUSES_KEYS)
        self.assertEqual(list(self.said["wave"]), WAVE_KEYS)
        self.assertEqual(list(self.said["moons"]), MOONS_KEYS)
        self.assertEqual(list(self.said["stream"]), STREAM_KEYS)
        self.assertEqual(list(self.said["process"]), ["command", "length", "noise", "lml", "data", "gap", "file"])
        self.assertEqual(list(self.said["search"]), ["trials", "x", "value", "x_true", "value_true", "next", "table"])

    def test_the_process_is_that_of_the_shell_and_knows_its_gap(self):
        j, mine = self.said["process"], self.path("gp.safetensors")
        self.good("fit", self.in_report("wave.csv"), "-y", "y", "--model", "gp:rbf", "-o", mine)
        self.assertEqual(self.bytes_of(j["file"]), self.bytes_of(mine))
        self.assertLess(abs(j["noise"] / 0.15 - 1), 5 / math.sqrt(2 * 150))
        self.assertGreater(j["gap"]["width90"], 1.1 * j["data"]["width90"])
        self.assertLess(abs(j["data"]["coverage90"] - 0.9), 0.05)  # 520 rows and one fit: 3 standard errors

    def test_the_search_finds_the_top_and_its_trials_go_on(self):
        j = self.said["search"]
        self.assertLess(abs(j["value_true"] - 0.136772), 1e-6)
        self.assertLess(j["value_true"] - j["value"], 0.02)  # two standard deviations of the noise
        said = self.good_json("propose", j["table"], "-y", "y", "--range", "x=-5:5", "--maximise")
        self.assertEqual(said["points"][0]["x"], j["next"])

    def test_the_stream_comes_close_to_maximum_likelihood(self):
        j = self.said["stream"]
        errors = {m["method"]: m["covariance_distance"] for m in j["methods"]}
        self.assertLess(errors["recursive-em"], 1.08 * errors["ml"])
        self.assertTrue(j["same_after_load"])
        # the mean of 1000 half chi-squares of 1000 degrees: 5 sigma
        self.assertLess(abs(j["entropy"] - j["minus_mean_log_density"]), 5 * math.sqrt(500 / 1000))
        self.assertEqual(len(self.svgs()[7].findall(SVG + "polyline")), len(errors) - 1)
        self.assertEqual(self.good_json("info", self.in_report("q.safetensors"))["n"], 20000)

    def test_the_houses_are_fitted_and_scored_as_the_shell_does_it(self):
        j, mine = self.said["houses"], self.path("m.safetensors")
        fit = self.good_json("fit", self.in_report("houses.csv"), "-y", "price", "--likelihood", "gaussian", "-m", "exact", "-o", mine)
        self.assertEqual(self.bytes_of(j["file"]), self.bytes_of(mine))
        self.assertEqual([j[k] for k in ("n", "alpha", "beta", "log_evidence")],
                         [fit[k] for k in ("n", "alpha", "beta", "log_evidence")])
        score = self.good_json("score", mine, self.in_report("held_out.csv"))
        for key in ("nll", "rmse", "coverage50", "coverage90", "coverage95"):
            self.assertEqual(j[key], score[key])

    def test_the_worths_are_the_closed_form_and_near_the_rule(self):
        j = self.said["houses"]
        X, y = table(self.in_report("houses.csv"))
        self.assertEqual((len(y), j["n_held_out"]), (400, 200))
        mean, S, noise = ridge(X, y, j["alpha"], j["beta"])
        A = np.zeros((8, 9))
        A[:4, :4] = np.eye(4)
        A[4:7, 4], A[4:7, 5:8] = -1, np.eye(3)
        A[7, 4] = A[7, 8] = 1
        worths = j["worths"]
        self.assertEqual([w["name"] for w in worths], NUMBERS + DISTRICTS[1:] + ["start"])
        sd = np.sqrt(np.diag(A @ S @ A.T))
        np.testing.assert_allclose([w["mean"] for w in worths], A @ mean, rtol=1e-8)
        np.testing.assert_allclose([w["sd"] for w in worths], sd, rtol=1e-8)
        np.testing.assert_allclose([w["upper"] - w["lower"] for w in worths], 2 * 1.6448536269514722 * sd, rtol=1e-8)
        self.assertTrue(np.all(abs(A @ mean - [w["true"] for w in worths]) < 5 * sd))  # false alarm 5e-6
        self.assertAlmostEqual(j["noise"], math.sqrt(noise), places=8)
        self.assertLess(abs(j["noise"] / j["noise_true"] - 1), 5 / math.sqrt(2 * len(y)))

    def predictions(self):
        """Mean, sd, lower, upper and the price of the held-out rows, by rising mean."""
        lines = self.good("predict", "--full", self.in_report("houses.safetensors"), self.in_report("held_out.csv")).split("\n")
        p = np.array([[float(v) for v in l.split(",")] for l in lines[1:-1]])
        p = np.column_stack([p, table(self.in_report("held_out.csv"))[1]])
        return p[np.argsort(p[:, 0])]

    def places(self, svg):
        """Centres of the markers; the line; the edges of the band, from left to right."""
        points = [(float(c.get("cx")), float(c.get("cy"))) for c in svg.find(SVG + "g").findall(SVG + "circle")]
        read = lambda e: np.array([[float(v) for v in xy.split(",")] for xy in e.get("points").split()])
        band = read(svg.find(SVG + "polygon"))
        half = len(band) // 2
        return np.array(points), read(svg.find(SVG + "polyline")), band[:half], band[half:][::-1]

    def assert_drawn(self, numbers, places):
        """Places are a linear map of the numbers, to the two digits they are written with."""
        (a, b), n = np.polyfit(numbers, places, 1), len(places)
        self.assertEqual(len(numbers), n)
        self.assertLess(abs(a * np.array(numbers) + b - places).max(), 0.02)

    def test_the_first_plot_shows_predictions_intervals_and_prices(self):
        points, line, low, high = self.places(self.svgs()[0])
        mean, _, lower, upper, price = self.predictions().T
        drawn = np.concatenate([e[:, 1] for e in (points, line, low, high)])
        self.assert_drawn(np.concatenate([price, mean, lower, upper]), drawn)
        self.assert_drawn(np.arange(200), points[:, 0])

    def test_the_second_plot_shows_the_share_inside_each_interval(self):
        points, line, low, high = self.places(self.svgs()[1])
        mean, sd, _, _, price = self.predictions().T
        depth = np.array([math.erf(z / math.sqrt(2)) for z in abs(price - mean) / sd])
        levels = np.arange(5, 100, 5)
        inside = [100 * (depth <= p / 100).mean() for p in levels]
        chance = 100 * 1.6448536269514722 * np.sqrt(levels / 100 * (1 - levels / 100) / 200)
        drawn = np.concatenate([e[:, 1] for e in (points, line, low, high)])
        self.assert_drawn(np.concatenate([inside, [0, 100], levels - chance, levels + chance]), drawn)
        self.assertAlmostEqual(inside[9] / 100, self.said["houses"]["coverage50"], places=12)
        self.assertAlmostEqual(inside[17] / 100, self.said["houses"]["coverage90"], places=12)

    def predicted(self, model, name):
        lines = self.good("predict", "--full", model, self.in_report(name)).split("\n")
        skip = lines[0].startswith("class,")
        return np.array([[float(v) for v in l.split(",")[skip:]] for l in lines[1:-1]])

    def test_the_networks_are_what_the_commands_on_the_page_make(self):
        page = xml.etree.ElementTree.parse(self.in_report("index.html"))
        code = "\n".join("".join(e.itertext()) for e in page.iter() if e.tag.endswith("pre"))
        for n in self.said["wave"]["networks"] + self.said["moons"]["networks"]:
            self.assertIn(n["command"], code)
        n = self.said["moons"]["networks"][1]  # the quickest
        words = n["command"].replace("\\\n", " ").split()
        output = words.index("-o") + 1
        self.assertEqual(n["file"], self.in_report(words[output]))
        words[output] = self.path("again.safetensors")
        done = self.run_it(*words[1:], cwd=self.report)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(self.bytes_of(words[output]), self.bytes_of(n["file"]))

    def test_the_wave_counts_fresh_rows_in_their_intervals(self):
        j = self.said["wave"]
        x, y = self.numbers("wave_held_out.csv").astype(float).T
        seen = self.numbers("wave.csv").astype(float)[:, 0]
        gap = (x > j["gap"][0]) & (x < j["gap"][1])
        self.assertFalse(np.any((seen > j["gap"][0]) & (seen < j["gap"][1])))
        data = ~gap & (abs(x) < 4)
        self.assertEqual((len(seen), len(x)), (j["n"], j["n_held_out"]))
        for n in j["networks"]:
            _, _, lower, upper = self.predicted(n["file"], "wave_held_out.csv").T
            for where, rows in (("data", data), ("gap", gap)):
                self.assertEqual(n[where]["n"], rows.sum())
                self.assertAlmostEqual(n[where]["coverage90"], np.mean((lower <= y) & (y <= upper), where=rows), places=12)
                self.assertAlmostEqual(n[where]["width90"], np.mean(upper - lower, where=rows), places=9)

    def test_the_band_of_the_posterior_widens_in_the_gap_and_that_of_the_mode_does_not(self):
        posterior, mode = self.said["wave"]["networks"]
        self.assertGreater(posterior["gap"]["width90"], 1.5 * posterior["data"]["width90"])
        self.assertAlmostEqual(mode["gap"]["width90"], mode["data"]["width90"], places=9)
        # 5 sigma of a share of so many rows
        self.assertGreater(posterior["data"]["coverage90"], 0.9 - 5 * math.sqrt(0.09 / posterior["data"]["n"]))
        self.assertGreater(posterior["gap"]["coverage90"], 0.9 - 5 * math.sqrt(0.09 / posterior["gap"]["n"]))

    def test_the_plots_of_the_wave_show_mean_interval_rows_and_truth(self):
        seen = self.numbers("wave.csv").astype(float)
        for svg, n in zip(self.svgs()[2:4], self.said["wave"]["networks"]):
            points, line, low, high = self.places(svg)
            mean, _, lower, upper = self.predicted(n["file"], "wave_held_out.csv")[::10].T
            drawn = np.concatenate([e[:, 1] for e in (line, low, high)])
            self.assert_drawn(np.concatenate([mean, lower, upper]), drawn)
            self.assertEqual(len(points), len(seen))
            x = np.linspace(-5, 5, 1001)[:-1:10] + 0.005
            truth = np.array([[float(v) for v in xy.split(",")] for xy in
                              svg.findall(SVG + "polyline")[1].get("points").split()])
            self.assert_drawn(np.concatenate([mean, np.sin(x) + 0.2 * x]), np.concatenate([line[:, 1], truth[:, 1]]))

    def test_the_probabilities_of_the_moons_are_scored_and_drawn(self):
        red = self.numbers("moons_held_out.csv")[:, 2] == "red"
        promised, observed = [0, 100], [0, 100]
        for n in self.said["moons"]["networks"][::-1]:  # as they are drawn
            p = self.predicted(n["file"], "moons_held_out.csv")[:, 1]
            score = self.good_json("score", n["file"], self.in_report("moons_held_out.csv"))
            for key in ("nll", "accuracy", "ece"):
                self.assertAlmostEqual(n[key], score[key], places=12)
            sure = np.maximum(p, 1 - p) >= 0.95
            self.assertEqual((n["sure"], n["wrong"]), (sure.sum(), (sure & ((p > 0.5) != red)).sum()))
            bins = np.minimum((10 * p).astype(int), 9)
            promised += [100 * p[bins == b].mean() for b in range(10) if np.any(bins == b)]
            observed += [100 * red[bins == b].mean() for b in range(10) if np.any(bins == b)]
        svg = self.svgs()[5]
        line = svg.find(SVG + "polyline").get("points").split()
        places = [[float(v) for v in xy.split(",")] for xy in line]
        for g in svg.findall(SVG + "g"):
            places += [[float(c.get("cx")), float(c.get("cy"))] for c in g.findall(SVG + "circle")]
        self.assert_drawn(promised, np.array(places)[:, 0])
        self.assert_drawn(observed, np.array(places)[:, 1])

    def test_probabilities_of_the_posterior_are_nearer_to_the_shares_than_those_of_the_mode(self):
        posterior, mode = self.said["moons"]["networks"]
        self.assertLess(posterior["ece"], mode["ece"])
        self.assertLess(posterior["nll"], mode["nll"])
        self.assertLess(posterior["wrong"], 0.05 * posterior["sure"])

    def readme(self, title):
        """The blocks of code in a section, each as its lines."""
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "README.md")) as f:
            section = f.read().split("## %s\n" % title)[1].split("\n## ")[0]
        return [block.strip().split("\n") for block in section.split("```")[1::2]]

    def run_readme(self, commands):
        """What each verb prints, in a folder with the report."""
        os.symlink(self.report, self.path("report"))
        said = {}
        for command in commands[1:]:  # behind the name of the language
            words = command.split("#")[0].split()
            done = self.run_it(*words[1:], cwd=self.folder)
            self.assertEqual((words[0], done.returncode, done.stderr), ("fabayes", 0, b""), command)
            said[words[1]] = done.stdout.decode().strip().split("\n")
        self.assertTrue(self.bytes_of(self.path("predicted.csv")).startswith(b"mean,sd,lower,upper\n"))
        return said

    def test_the_commands_of_the_readme_print_what_it_shows(self):
        rows, commands, scores = self.readme("A table of your own")
        self.assertEqual(rows, self.bytes_of(self.in_report("houses.csv")).decode().split("\n")[:len(rows)])
        self.assertEqual(self.run_readme(commands)["score"], scores)

    def test_the_network_of_the_readme_scores_what_it_shows(self):
        commands, scores = self.readme("A network with uncertainty")
        said = self.run_readme(commands)["score"]
        self.assertEqual([line.split()[0] for line in said], [line.split()[0] for line in scores])
        numbers = lambda lines: [float(line.split()[1]) for line in lines]
        np.testing.assert_allclose(numbers(said), numbers(scores), atol=0.05)  # another machine rounds otherwise

    def test_a_folder_that_cannot_be_made_is_named(self):
        folder = os.path.join(self.write("file", b""), "report")
        self.bad(1, "demo", "-o", folder, says=[folder, "cannot be made"])


if __name__ == "__main__":
    run(Demo)
