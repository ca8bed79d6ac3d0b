#!/usr/bin/python3
"""test_report_page.py - `fabayes report`, from outside: test_report_page.py FABAYES [NAME ..].

A page of every kind of fit: its parts are there, it needs no other file, and its numbers are those of the other verbs.
Exit status: 0 all passed; 1 some failed; 77 NumPy is missing. Pictures are taken where there is a Chromium.
"""
# SPDX-License-Identifier: MIT
import html.parser
import os
import re
import shutil
import struct
import subprocess
import unittest
import xml.etree.ElementTree

from cli_case import Case, np, run

SVG = "{http://www.w3.org/2000/svg}"
XHTML = "{http://www.w3.org/1999/xhtml}"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
SPACES = ("http://www.w3.org/1999/xhtml", "http://www.w3.org/2000/svg")  # names, which nobody fetches


class Tags(html.parser.HTMLParser):
    """Every start tag with its attributes, as a browser reads them."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))


class Report(Case):
    def table(self, name, target, n=120, seed=3):
        """Rows of u, v, w and words, and a target of that kind."""
        rng = np.random.default_rng(seed)
        x, words = rng.normal(size=(n, 3)), rng.choice(["oak", "elm & <ash>", "fir"], n)
        eta = 1.3 * x[:, 0] - 0.7 * x[:, 1] + 0.5 * (words == "oak")
        y = {"number": lambda: 100 + 20 * eta + rng.normal(size=n) * 5,
             "two": lambda: np.where(rng.uniform(size=n) < 1 / (1 + np.exp(-eta)), "yes", "no"),
             "many": lambda: np.array(["red", "green", "blue"])[np.argmax(
                 np.c_[eta, -eta, 0 * eta] + rng.gumbel(size=(n, 3)), 1)],
             "count": lambda: rng.poisson(np.exp(0.8 + 0.4 * eta))}[target]()
        lines = ["u,v,w,tree,y"] + ["%.6g,%.6g,%.6g,%s,%s" % (*a, t, b) for a, t, b in zip(x, words, y)]
        return self.write(name, ("\n".join(lines) + "\n").encode())

    def vectors(self, name, n=150, seed=5):
        rng = np.random.default_rng(seed)
        L = np.zeros((6, 2))
        L[:3, 0], L[3:, 1] = (0.9, 0.8, 0.7), (0.85, 0.75, -0.8)
        v = rng.normal(size=(n, 2)) @ L.T + 0.5 * rng.normal(size=(n, 6))
        lines = ["a,b,c,d,e,f"] + [",".join("%.6g" % t for t in row) for row in v]
        return self.write(name, ("\n".join(lines) + "\n").encode())

    def fit(self, target, *args):
        """A fit and rows it has not seen."""
        model = self.path("m.safetensors")
        self.good("fit", self.table("train.csv", target), "-y", "y", "-o", model, "--quiet", *args)
        return model, self.table("new.csv", target, 90, 4)

    def page(self, *args):
        """The page as XML; it is whole, stands alone and every drawing is described."""
        out = self.path("page.html")
        said = self.good_json("report", *args, "-o", out)
        self.assertEqual(said["page"], out)
        with open(out) as f:
            text = f.read()
        bare = text
        for space in SPACES:
            bare = bare.replace(space, "")
        for word in ("http:", "https:", "src=", "url(", "href", "@import", "<script", "<link", "nan", "inf<"):
            self.assertNotIn(word, bare)
        tags = Tags(text).tags
        self.assertIn("prefers-color-scheme: dark", text)
        self.assertIn(("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}), tags)
        root = xml.etree.ElementTree.fromstring(text.replace("<!DOCTYPE html>", ""))
        svgs = list(root.iter(SVG + "svg"))
        self.assertEqual(len(svgs), said["figures"])
        for svg in svgs:
            self.assertEqual(svg.get("role"), "img")
            self.assertTrue(svg.find(SVG + "title").text and svg.find(SVG + "desc").text)
            self.assertIn(svg.find(SVG + "title").text, svg.get("aria-label"))
            width, height = map(float, svg.get("viewBox").split()[2:])
            for e in svg.iter():
                for key, most in (("x", width), ("cx", width), ("x1", width), ("y", height), ("cy", height), ("y2", height)):
                    if e.get(key):
                        self.assertTrue(0 <= float(e.get(key)) <= most, (e.tag, key, e.get(key)))
        return root

    def titles(self, root):
        return [svg.find(SVG + "title").text for svg in root.iter(SVG + "svg")]

    def svg(self, root, title):
        return [s for s in root.iter(SVG + "svg") if s.find(SVG + "title").text == title][0]

    def tables(self, root):
        """By the first cell of its head: rows of texts."""
        rows = lambda t: [["".join(c.itertext()) for c in r] for r in t.iter(XHTML + "tr")]
        return {rows(t)[0][0]: rows(t)[1:] for t in root.iter(XHTML + "table")}

    def assert_scores(self, root, *args):
        """The table of scores is what `score` says."""
        said, shown = self.good_json("score", *args), dict(self.tables(root)["score"])
        self.assertEqual(int(shown.pop("rows")), said.pop("n"))
        said.pop("calibration", None)
        self.assertEqual(list(shown), list(said))
        for key in said:
            self.assertAlmostEqual(float(shown[key]), said[key], delta=1e-5 * abs(said[key]) + 1e-12)
        return said

    def assert_coefficients(self, model):
        root = self.page(model, "--reference", "none")
        said = {c.get("class", "") + c["name"]: c for c in self.good_json("info", model)["coefficients"]}
        rows = self.tables(root)["coefficient"]
        self.assertEqual(len(rows), len(said))
        for name, mean, sd, lower, upper in rows:
            c = said[name.replace(": ", "")]
            self.assertLessEqual(len(sd.replace(".", "").lstrip("0")), 3 if c["sd"] < 100 else 9, sd)  # as many digits as `fit` prints
            z = 1.6448536269514722
            for at, text in ((c["mean"], mean), (c["sd"], sd), (c["mean"] - z * c["sd"], lower), (c["mean"] + z * c["sd"], upper)):
                self.assertAlmostEqual(float(text), at, delta=0.0501 * c["sd"])

    def circles(self, svg):
        return [c for g in svg.findall(SVG + "g") if g.get("class") == "points" for c in g]

    def test_a_page_of_numbers_has_its_drawings_and_the_scores(self):
        model, new = self.fit("number")
        root = self.page(model, new)
        self.assertEqual(self.titles(root), ["Coefficients", "Coefficients per standard deviation of the column",
                                             "Predicted against observed", "Residuals", "Coverage", "Calibration"])
        said = self.assert_scores(root, model, new)
        self.assert_coefficients(model)
        fit, facts = self.good_json("info", model), dict(self.tables(root)["what"])
        self.assertEqual(facts["R^2"], "%.4f of the rows of the fit" % fit["r_squared"])
        self.assertTrue(facts["noise"].startswith("%.4g, " % fit["noise_sd"]), facts)
        self.assertEqual(len(self.circles(self.svg(root, "Residuals"))), 90)
        coverage = {t.text.split(", ")[0]: float(t.text.split(", ")[1])
                    for c in self.circles(self.svg(root, "Coverage")) for t in c}
        self.assertAlmostEqual(coverage["50"], 100 * said["coverage50"], delta=0.01)
        self.assertAlmostEqual(coverage["90"], 100 * said["coverage90"], delta=0.01)
        root = self.page(model, "--reference", "tree=fir")
        names = [t.text for t in self.svg(root, "Coefficients").iter(SVG + "title")][1:]
        self.assertTrue(names[0].startswith("u: "), names)
        self.assertTrue(any(name.startswith("tree=elm & <ash>: ") for name in names), names)

    def test_without_data_the_page_has_the_fit_alone(self):
        model, _ = self.fit("number")
        root = self.page(model)
        self.assertEqual(len(self.titles(root)), 2)
        self.assertNotIn("score", self.tables(root))
        self.assertEqual(self.good("report", model), "page         %s\n" % self.path("m.html"))
        self.assertTrue(os.path.exists(self.path("m.html")))

    def test_levels_are_held_against_a_reference(self):
        model, _ = self.fit("number")
        rows = self.tables(self.page(model, "--reference", "tree=fir"))["coefficient"]
        said = {c["name"]: c for c in self.good_json("info", model, "--reference", "tree=fir")["coefficients"]}
        self.assertEqual(sorted(r[0] for r in rows), sorted(said))
        self.assertNotIn("tree=fir", said)
        usual = [r[0] for r in self.tables(self.page(model))["coefficient"]]
        self.assertEqual(len(usual), len(rows)) # against the first level, as `info` has it
        for name, mean, sd, _, _ in rows:
            self.assertAlmostEqual(float(mean), said[name]["mean"], delta=0.0501 * said[name]["sd"])

    def test_two_classes_have_confusion_roc_and_reliability(self):
        model, new = self.fit("two")
        root = self.page(model, new)
        self.assertEqual(self.titles(root)[2:], ["Confusion matrix", "ROC curve of yes", "Reliability"])
        said = self.assert_scores(root, model, new)
        self.assert_coefficients(model)
        cells = [int(g.find(SVG + "text").text) for g in self.svg(root, "Confusion matrix").findall(SVG + "g")]
        self.assertEqual(sum(cells), 90)
        self.assertAlmostEqual((cells[0] + cells[3]) / 90, said["accuracy"])
        text = "".join(root.itertext())
        self.assertAlmostEqual(float(re.search(r"\(auc\) is ([0-9.]+)\.", text).group(1)), said["auc"], places=5)
        bins = [[float(v) for v in row] for row in self.tables(root)["probability"]]
        self.assertEqual(sum(b[2] for b in bins), 90)
        self.assertAlmostEqual(sum(b[2] * abs(b[1] - b[0]) for b in bins) / 90, said["ece"], places=3)

    def test_several_classes_have_a_confusion_matrix_and_no_roc(self):
        model, new = self.fit("many")
        root = self.page(model, new)
        self.assertEqual(self.titles(root)[2:], ["Confusion matrix", "Reliability"])
        self.assertIn("change of the score of the class", [t.text for t in self.svg(root, "Coefficients").iter(SVG + "text")])
        fit, facts = self.good_json("info", model), dict(self.tables(root)["what"])
        self.assertTrue(facts["accuracy"].startswith("%.1f %% of the rows" % (100 * fit["accuracy"])), facts)
        self.assertEqual(facts["deviance explained"], "%.1f %% of the rows of the fit" % (100 * fit["deviance_explained"]))
        said = self.assert_scores(root, model, new)
        self.assert_coefficients(model)
        cells = [int(g.find(SVG + "text").text) for g in self.svg(root, "Confusion matrix").findall(SVG + "g")]
        self.assertAlmostEqual(sum(cells[::4]) / 90, said["accuracy"])

    def test_counts_have_the_drawings_of_numbers(self):
        model, new = self.fit("count", "--likelihood", "poisson")
        root = self.page(model, new)
        self.assertEqual(self.titles(root)[2:], ["Predicted against observed", "Residuals", "Coverage", "Calibration"])
        self.assert_scores(root, model, new)

    def test_conformal_scores_are_those_of_score(self):
        for target in ("number", "two", "count"):
            model, new = self.fit(target, "--calibrate", "conformal", *(["--likelihood", "poisson"] * (target == "count")))
            root = self.page(model, new)
            self.assert_scores(root, model, new)
            self.assertIn("conformal, by ", self.tables(root)["what"][-1][1])

    def test_a_network_is_drawn_along_the_column_that_moves_it_most(self):
        model, new = self.fit("number", "--model", "mlp:8", "-m", "ensemble", "--runs=3", "--epochs=60")
        root = self.page(model, new)
        self.assertEqual(self.titles(root)[0], "Predictions along u")
        self.assertIsNotNone(self.svg(root, "Predictions along u").find(SVG + "polygon"))
        self.assert_scores(root, model, new)
        model, new = self.fit("many", "--model", "mlp:4", "-m", "vifa", "--epochs=30", "-k", "2")
        root = self.page(model, new, "--seed", "2")
        self.assertEqual(len(self.svg(root, self.titles(root)[0]).findall(SVG + "polyline")), 3)
        self.assert_scores(root, model, new, "--seed", "2")

    def test_a_stream_has_its_learning_curve(self):
        model, new = self.path("s.safetensors"), self.table("new.csv", "two", 90, 4)
        self.good("fit", self.table("long.csv", "two", 600), "-y", "y", "-m", "lrvga", "-k", "3", "-o", model, "--quiet")
        root = self.page(model, new)
        curves = [t for t in self.titles(root) if t.startswith("Learning curve")]
        self.assertEqual(len(curves), 2)
        said = self.good_json("info", model)["stream"]["curve"]
        points = [c.find(SVG + "title").text for c in self.svg(root, curves[0]).findall(SVG + "circle")
                  if c.find(SVG + "title") is not None]
        self.assertEqual(points, ["%.4g, %.4g" % (p["seen"], p["log_density"]) for p in said])

    def test_a_factor_analysis_has_scree_loadings_and_scores(self):
        data, model = self.vectors("v.csv"), self.path("f.safetensors")
        self.good("fa", data, "-k", "2", "-m", "ml", "-o", model, "--quiet", "--rotation", "varimax", "--standardise",
                  "--loadings", self.path("l.csv"), "--scores", self.path("z.csv"))
        root = self.page(model, data)
        self.assertEqual(self.titles(root), ["Scree: what each principal axis explains", "Loadings, varimax", "Factor scores"])
        with open(self.path("l.csv")) as f:
            loadings = {r[0]: [float(v) for v in r[1:]] for r in (l.strip().split(",") for l in list(f)[1:])}
        scree = self.svg(root, "Scree: what each principal axis explains")
        self.assertEqual([t.text for t in scree.findall(SVG + "text") if t.get("text-anchor") == "middle"][:3], ["1", "2", "axis"])
        rows = self.tables(root)["coordinate"]
        self.assertEqual(len(rows), 7)
        for row in rows[:6]:
            np.testing.assert_allclose([float(v) for v in row[1:]], loadings[row[0]], atol=6e-4)
        z = np.loadtxt(self.path("z.csv"), delimiter=",", skiprows=1)
        drawn = [c.find(SVG + "title").text for c in self.circles(self.svg(root, "Factor scores"))]
        self.assertEqual(drawn[7], "%.4g, %.4g" % tuple(z[7]))
        self.assertEqual(len(drawn), 150)
        self.assertEqual(self.titles(self.page(model, "--rotation", "promax"))[1], "Loadings, promax")
        one = self.path("one.safetensors")
        self.good("fa", data, "-k", "1", "-m", "ml", "-o", one, "--quiet")
        self.assertEqual(len(self.titles(self.page(one, data))), 3)

    def test_many_rows_are_thinned_and_many_coefficients_cut(self):
        rng = np.random.default_rng(1)
        x = rng.normal(size=(2500, 250))
        y = x[:, 17] - 2 * x[:, 40] + rng.normal(size=2500)
        lines = [",".join("x%d" % i for i in range(250)) + ",y"]
        lines += [",".join("%.4g" % v for v in (*a, b)) for a, b in zip(x, y)]
        data, model = self.write("wide.csv", ("\n".join(lines) + "\n").encode()), self.path("m.safetensors")
        self.good("fit", data, "-y", "y", "-o", model, "--quiet")
        root = self.page(model, data)
        names = [t.text for t in self.svg(root, "Coefficients").iter(SVG + "title")][1:]
        self.assertEqual(len(names), 30)
        self.assertTrue(names[0].startswith("x40: ") and names[1].startswith("x17: "))
        self.assertEqual(len(self.tables(root)["coefficient"]), 201)
        self.assertLessEqual(len(self.circles(self.svg(root, "Residuals"))), 1000)
        self.assertIn("One of 3 rows is drawn.", "".join(root.itertext()))

    def test_refusals_are_one_sentence_and_leave_no_page(self):
        model, new = self.fit("number")
        fa, out = self.path("f.safetensors"), self.path("page.html")
        data = self.vectors("v.csv")
        self.good("fa", data, "-k", "2", "-o", fa, "--quiet")
        with open(new) as f:
            rows = [line.strip().split(",") for line in f]
        cut = lambda name, keep: self.write(name, "".join(",".join(r[i] for i in keep) + "\n" for r in rows).encode())
        self.bad(1, "report", new, "-o", out, says=["new.csv", "safetensors"])
        self.bad(1, "report", self.path("absent"), "-o", out, says=["absent"])
        self.bad(1, "report", model, cut("bare.csv", [0, 1, 2, 3]), "-o", out, says=["bare.csv", "'y'"])
        self.bad(1, "report", model, cut("short.csv", [1, 2, 3, 4]), "-o", out, says=["short.csv", "'u'"])
        self.bad(1, "report", model, new, "-o", self.path("no/page.html"), says=["no/page.html", "folder"])
        self.bad(1, "report", model, new, "-o", new, says=["is the input"])
        self.bad(1, "report", fa, cut("other.csv", [0, 1]), "-o", out, says=["D = 6", "D = 2"])
        self.bad(2, "report", model, "--rotation", "varimax", "-o", out, says=["--rotation"])
        self.bad(2, "report", fa, "--rotation", "askew", "-o", out, says=["askew"])
        self.bad(2, "report", fa, "--reference", "a=b", "-o", out, says=["--reference"])
        self.bad(2, "report", fa, data, "--seed", "3", "-o", out, says=["--seed"])
        self.bad(2, "report", model, "--reference", "tree=yew", "-o", out, says=["tree=yew"])
        self.bad(2, "report", model, "--rows", "r.txt", "-o", out, says=["no DATA"])
        self.bad(2, "report", model, new, "--linearised", "-o", out, says=["networks"])
        self.assertFalse(os.path.exists(out))

    def test_the_page_is_the_same_bytes_each_time(self):
        model, new = self.fit("two")
        pages = []
        for name in ("a.html", "b.html"):
            self.good("report", model, new, "-o", self.path(name), "--quiet")
            with open(self.path(name), "rb") as f:
                pages.append(f.read())
        self.assertEqual(*pages)

    @unittest.skipUnless(CHROMIUM, "there is no Chromium: pages are parsed, and no picture is taken")
    def test_chromium_draws_the_page_wide_and_narrow(self):
        model, new = self.fit("two")
        self.good("report", model, new, "-o", self.path("page.html"), "--quiet")
        for width in (1200, 400):
            picture = self.path("%d.png" % width)
            subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--user-data-dir=" +
                            self.path("chromium"), "--window-size=%d,2000" % width, "--screenshot=" + picture,
                            "file://" + self.path("page.html")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=90,
                           check=True)
            with open(picture, "rb") as f:
                head = f.read(24)
            self.assertEqual(struct.unpack(">II", head[16:24]), (width, 2000))
            self.assertGreater(os.path.getsize(picture), 20000)  # an empty page: 6 and 11 kB


if __name__ == "__main__":
    run(Report)
