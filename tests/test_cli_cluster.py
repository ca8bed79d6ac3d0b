#!/usr/bin/env python3
"""test_cli_cluster.py - `fabayes cluster`, and what the other verbs make of its files: test_cli_cluster.py FABAYES [NAME ..]."""
# SPDX-License-Identifier: MIT
import csv
import io
import math
import random
import subprocess
import xml.etree.ElementTree

from cli_case import Case, run


def rows(n=300, seed=2):
    """n rows of three clusters of one factor each, and their labels."""
    r = random.Random(seed)
    mean = [(0, 0, 0, 0), (6, 0, 1, 2), (0, 7, 0, 3)]
    axis = [(1, 2, .5, .3), (.2, 1, 1, 0), (1, 0, -1, 1)]
    lines, labels = ["u,v,w,x"], ["kind"]
    for _ in range(n):
        g, h = r.choice((0, 1, 1, 2)), r.gauss(0, 1)
        lines.append(",".join("%.6f" % (m + a * h + r.gauss(0, .4)) for m, a in zip(mean[g], axis[g])))
        labels.append("abc"[g])
    return lines, labels


class Cluster(Case):
    def setUp(self):
        super().setUp()
        self.lines, self.labels = rows()
        self.data = self.write("d.csv", ("\n".join(self.lines) + "\n").encode())
        self.kinds = self.write("l.csv", ("\n".join(self.labels) + "\n").encode())
        self.file = self.path("q.st")

    def test_a_mixture_predicts_and_scores_rows(self):
        said = self.good_json("cluster", self.data, "-k", "3", "-q", "1", "-o", self.file)
        self.assertEqual((said["method"], said["clusters"], said["D"], said["n"]), ("mfa", 3, 4, 300))
        lines = list(csv.DictReader(io.StringIO(self.good("predict", self.file, self.data, "--full"))))
        self.assertEqual(list(lines[0]), ["cluster", "p_0", "p_1", "p_2", "logdensity", "z_1"])
        for line in lines:
            share = [float(line["p_%d" % g]) for g in range(3)]
            self.assertAlmostEqual(sum(share), 1, 12)
            self.assertEqual(int(line["cluster"]), share.index(max(share)))
        mean = sum(float(line["logdensity"]) for line in lines) / 300
        self.assertAlmostEqual(mean, said["loglik_mean"], 9)
        score = self.good_json("score", self.file, self.data, "--labels", self.kinds)
        self.assertAlmostEqual(score["loglik_mean"], mean, 9)
        self.assertAlmostEqual(score["bic"], said["bic"], 6)
        self.assertGreater(score["ari"], 0.98)
        self.assertGreater(score["nmi"], 0.95)

    def test_bic_shows_its_candidates(self):
        said = self.good_json("cluster", self.data, "-k", "auto", "-q", "auto", "--max-clusters", "4", "--max-factors", "2")
        best = min(said["candidates"], key=lambda c: c["bic"])
        self.assertEqual((best["k"], best["q"], said["clusters"]), (3, 1, 3))
        self.assertAlmostEqual(best["bic"], said["bic"], 6)
        self.assertIn("<- chosen", self.good("cluster", self.data, "-k", "auto", "--max-clusters", "3"))

    def test_kmeans_has_a_cost_and_nearest_means(self):
        said = self.good_json("cluster", self.data, "-k", "3", "-o", self.file)
        self.assertEqual(said["method"], "kmeans")
        score = self.good_json("score", self.file, self.data)
        self.assertAlmostEqual(score["cost"] / said["cost"], 1, 9)
        part = [p["mean"] for p in said["parts"]]
        for line, x in zip(csv.DictReader(io.StringIO(self.good("predict", self.file, self.data))), self.lines[1:]):
            x = [float(v) for v in x.split(",")]
            far = [math.dist(x, m) for m in part]
            self.assertEqual(int(line["cluster"]), far.index(min(far)))

    def test_standard_deviations_make_units_not_matter(self):
        wide = self.write("wide.csv", ("\n".join([self.lines[0]] + [
            ",".join(str(1000 * float(v)) if i == 1 else v for i, v in enumerate(x.split(","))) for x in self.lines[1:]]) + "\n").encode())
        self.good("cluster", self.data, "-k", "3", "--standardise", "-o", self.file, "--quiet")
        self.good("cluster", wide, "-k", "3", "--standardise", "-o", self.path("w.st"), "--quiet")
        one = self.good_json("score", self.file, self.data, "--labels", self.kinds)
        two = self.good_json("score", self.path("w.st"), wide, "--labels", self.kinds)
        self.assertAlmostEqual(one["ari"], two["ari"], 12)
        self.assertAlmostEqual(one["loglik_mean"], two["loglik_mean"] + math.log(1000), 6)

    def test_a_stream_goes_on(self):
        settings = ("-k", "3", "-q", "1", "-m", "online-mfa", "--first=100", "--block=40", "--quiet")
        head = self.write("h.csv", ("\n".join(self.lines[:181]) + "\n").encode())
        tail = self.write("t.csv", ("\n".join(self.lines[:1] + self.lines[181:]) + "\n").encode())
        self.good("cluster", self.data, *settings, "-o", self.file)
        self.good("cluster", head, *settings, "-o", self.path("u.st"))
        self.good("update", self.path("u.st"), tail, "--quiet")
        self.good("cluster", head, *settings, "--checkpoint", "60", "-o", self.path("r.st"))
        self.good("cluster", self.data, *settings, "--resume", "-o", self.path("r.st"))
        with open(self.file, "rb") as f:
            want = f.read()
        for name in ("u.st", "r.st"):
            with open(self.path(name), "rb") as f:
                self.assertEqual(f.read(), want, name)
        with open(self.data, "rb") as f:
            piped = subprocess.run([self.program, "cluster", "-", "-k", "3", "-q", "1", "--json"], stdin=f, capture_output=True, check=True)
        self.assertIn(b'"online-mfa"', piped.stdout)

    def test_other_verbs_read_the_file(self):
        self.good("cluster", self.data, "-k", "2", "-m", "gmm", "-o", self.file, "--quiet")
        self.assertIn("2 parts", self.good("info", self.file))
        self.assertEqual(len(self.good("sample", self.file, "-n", "3").splitlines()), 4)

    def test_two_files_are_compared(self):
        self.good("cluster", self.data, "-k", "3", "-q", "1", "-o", self.file, "--quiet")
        self.good("cluster", self.data, "-k", "2", "-m", "gmm", "-o", self.path("b.st"), "--quiet")
        said = self.good_json("compare", self.file, self.file)
        self.assertEqual((said["kl_ab"], said["kl_ba_se"], [p["b"] for p in said["parts"]]), (0, 0, [0, 1, 2]))
        said = self.good_json("compare", self.file, self.path("b.st"))
        self.assertGreater(said["kl_ab"], 10 * said["kl_ab_se"])
        self.assertEqual(sorted(p["b"] is None for p in said["parts"]), [False, False, True])
        self.assertIn("KL(A || B)", self.good("compare", self.file, self.path("b.st")))

    def test_two_files_agree_on_rows_as_their_labels_do(self):
        self.good("cluster", self.data, "-k", "3", "-q", "1", "-o", self.file, "--quiet")
        self.good("cluster", self.data, "-k", "2", "-o", self.path("b.st"), "--quiet")
        self.good("predict", self.path("b.st"), self.data, "-o", self.path("p.csv"))
        with open(self.path("p.csv")) as f:
            kinds = self.write("k.csv", "".join(line.split(",")[0] + "\n" for line in f).encode())
        want = self.good_json("score", self.file, self.data, "--labels", kinds)
        said = self.good_json("compare", self.file, self.path("b.st"), self.data)
        self.assertEqual((said["n"], said["ari"], said["nmi"]), (300, want["ari"], want["nmi"]))
        self.assertIn("Rand index", self.good("compare", self.file, self.path("b.st"), self.data))
        self.assertNotIn("ari", self.good_json("compare", self.file, self.path("b.st")))
        self.good("fa", self.data, "-k", "1", "-o", self.path("fa.st"), "--quiet")
        self.bad(2, "compare", self.file, self.path("fa.st"), self.data, says=("fa.st has none",))
        self.bad(2, "compare", self.file, self.path("b.st"), "-", says=("read twice",))
        self.bad(2, "compare", self.file, self.path("b.st"), "--only", "u", says=("no DATA",))

    def test_columns_that_are_not_of_the_clusters_are_left_out(self):
        self.good("cluster", self.data, "-k", "3", "-o", self.file, "--quiet")
        more = self.write("m.csv", "".join("%s,%s\n" % both for both in zip(self.lines, self.labels)).encode())
        self.assertEqual(self.good("predict", self.file, more, "--exclude", "kind"), self.good("predict", self.file, self.data))
        self.assertEqual(self.good("score", self.file, more, "--only", "u:x"), self.good("score", self.file, self.data))

    def test_dpmeans_chooses_by_lambda(self):
        with_auto = self.good_json("cluster", self.data, "-m", "dpmeans", "-k", "auto", "--lambda=30")
        without = self.good_json("cluster", self.data, "-m", "dpmeans", "--lambda=30")
        self.assertEqual((with_auto["clusters"], with_auto["parts"]), (without["clusters"], without["parts"]))
        self.bad(2, "cluster", self.data, "-m", "dpmeans", "-k", "3", "--lambda=30", says=("by its lambda",))
        self.bad(2, "cluster", self.data, "-m", "dpmeans", "-k", "auto", "--max-clusters", "3", "--lambda=30", says=("--max-clusters",))

    def test_a_page_draws_clusters_and_rows(self):
        self.good("cluster", self.data, "-k", "9", "-o", self.file, "--quiet")
        page = self.path("p.html")
        self.assertEqual(self.good_json("report", self.file, "-o", page)["figures"], 2)
        self.assertEqual(self.good_json("report", self.file, self.data, "-o", page)["figures"], 3)
        tree = xml.etree.ElementTree.parse(page)
        text = "".join(tree.getroot().itertext())
        for word in ("9 clusters of 4 columns", "All 300 rows", "the others", "eight clusters of the largest shares"):
            self.assertIn(word, text)
        cells = [[c.text for c in r] for t in tree.iter() if t.tag.endswith("table") for r in t.iter() if r.tag.endswith("tr")]
        rows = [int(r[2]) for r in cells if len(r) == 4 and r[0] != "cluster"]
        self.assertEqual((len(rows), sum(rows)), (9, 300))
        one = self.write("one.csv", "".join(line.split(",")[0] + "\n" for line in self.lines).encode())
        self.good("cluster", one, "-k", "2", "-m", "gmm", "-o", self.file, "--quiet")
        self.assertEqual(self.good_json("report", self.file, one, "-o", page)["figures"], 3)
        self.bad(2, "report", self.file, "--rotation", "varimax", says=("has clusters",))

    def test_what_is_wrong_is_said(self):
        self.bad(2, "cluster", self.data, says=("-k K",))
        self.bad(2, "cluster", self.data, "-k", "3", "-m", "ml", says=("ml finds no clusters",))
        self.bad(2, "cluster", self.data, "-k", "3", "-q", "1", "-m", "gmm", says=("gmm has no factors",))
        self.bad(2, "cluster", self.data, "-k", "auto", "-m", "kmeans", says=("mfa and gmm do that",))
        self.bad(2, "cluster", self.data, "-k", "3", "-m", "mfa", "--resume", "-o", self.file, says=("batch method",))
        self.bad(2, "fa", self.data, "-k", "3", "-m", "mfa", says=("fabayes cluster",))
        self.bad(1, "cluster", self.data, "-k", "700", "-m", "mfa", says=("700 parts for 300 rows",))
        holes = self.write("h.csv", b"a,b\n1,2\n,3\n4,5\n2,2\n6,1\n")
        self.bad(1, "cluster", holes, "-k", "2", says=("--missing drop",))
        self.assertEqual(self.good_json("cluster", holes, "-k", "2", "--missing", "drop")["dropped"], 1)
        self.bad(1, "cluster", self.kinds, "-k", "2", says=("is not a number",))
        self.good("cluster", self.data, "-k", "2", "-o", self.file, "--quiet")
        self.bad(2, "predict", self.file, self.data, "--all", says=("has clusters",))
        self.bad(1, "predict", self.file, holes, says=("D = 4",))
        self.bad(1, "update", self.file, self.data, says=("batch method",))


if __name__ == "__main__":
    run(Cluster)
