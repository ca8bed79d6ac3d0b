"""inputs.py - the small inputs of the frozen cases: the same bytes in every run."""
# SPDX-License-Identifier: MIT
import gzip
import math
import os
import random
import struct

TOWNS = ("harbour", "hill", "station")
EFFECT = {"harbour": 1.5, "hill": -0.5, "station": 0.25}
VECTOR_NAMES = ("width", "height", "depth", "weight", "price", "age")


def text(rows, names=None, between=","):
    """Rows of strings and numbers as lines; numbers with 4 digits behind the point, whole ones as they are."""
    lines = [between.join(names)] if names else []
    for row in rows:
        lines.append(between.join("%.4f" % v if isinstance(v, float) else str(v) for v in row))
    return ("\n".join(lines) + "\n").encode()


def npy(rows, kind):
    """A NumPy array, '<f8' or '<f4', as bytes."""
    head = "{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }" % (kind, len(rows), len(rows[0]))
    head += " " * (-(len(head) + 11) % 64) + "\n"
    flat = [v for row in rows for v in row]
    return (b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() +
            struct.pack("<%d%s" % (len(flat), "d" if kind == "<f8" else "f"), *flat))


def idx(shape, values):
    """An idx file of bytes."""
    return struct.pack(">BBBB%dI" % len(shape), 0, 0, 8, len(shape), *shape) + bytes(values)


def poisson(r, mean):
    n, p, end = 0, r.random(), math.exp(-mean)
    while p > end:
        n, p = n + 1, p * r.random()
    return n


def features(r, n):
    """Rows of three numbers, of different sizes, and a word."""
    return [(r.gauss(0, 1), r.gauss(5, 3), r.uniform(-2, 2), r.choice(TOWNS)) for _ in range(n)]


def targets(r, rows):
    """For each row: a number, one of two words, one of three words, log of the days, a count, a weight."""
    for a, b, c, town in rows:
        line = 1.2 * a - 0.4 * b + 0.7 * c * c + EFFECT[town]
        number = line + r.gauss(0, 0.5)
        two = "yes" if line + 1 + r.gauss(0, 1) > 0 else "no"
        third = [a + r.gauss(0, 1), 0.4 * (b - 5) + r.gauss(0, 1), c + r.gauss(0, 1)]
        many = ("red", "green", "blue")[third.index(max(third))]
        days = r.uniform(0.5, 4)
        count = poisson(r, days * math.exp(0.3 * a - 0.1 * b + 0.5))
        yield number, two, many, math.log(days), count, r.uniform(0.5, 2)


def holes(r, rows):
    """The rows with missing values: about 1 in 10 of the second and third column, 2 of the last."""
    rows = [list(row) for row in rows]
    for i, row in enumerate(rows):
        for j in (1, 2):
            if r.random() < 0.1:
                row[j] = "NA" if i % 2 else ""
        if i in (7, 30):
            row[-1] = "?"
    return rows


def tables():
    """Regression, two classes, several classes, counts: each with rows to learn from and new ones."""
    r = random.Random(20240501)
    files = {}
    for start, n in (("", 60), ("new_", 8)):
        rows = features(r, n)
        y = list(targets(r, rows))
        plain = [row + (t[0],) for row, t in zip(rows, y)]
        names = ("a", "b", "c", "town", "y")
        files[start + "numbers.csv"] = text(plain, names)
        files[start + "sorted.csv"] = text(sorted(plain, key=lambda row: row[-1]), names)
        files[start + "holes.csv"] = text(holes(r, plain), names)
        files[start + "two.csv"] = text([row[:3] + (t[1],) for row, t in zip(rows, y)], ("a", "b", "c", "kind"))
        files[start + "many.csv"] = text([row[:3] + (t[2],) for row, t in zip(rows, y)], ("a", "b", "c", "colour"))
        files[start + "counts.csv"] = text([row[:2] + (t[3], t[5], t[4]) for row, t in zip(rows, y)],
                                           ("a", "b", "log_days", "w", "n"))
        files[start + "weights.csv"] = text([row[:3] + (t[5], t[3], t[0]) for row, t in zip(rows, y)],
                                            ("a", "b", "c", "w", "o", "y"))
        digits = [row[:3] + (i % 3, t[0]) for i, (row, t) in enumerate(zip(rows, y))]
        files[start + "digits.csv"] = text(digits, ("a", "b", "c", "zone", "y"))
        bare = [row[:3] + (t[0],) for row, t in zip(rows, y)]
        files[start + "bare.txt"] = text(bare, between="  ")
        files[start + "bare.tsv"] = text(bare, ("a", "b", "c", "y"), "\t")
        files[start + "bare.npy"] = npy(bare, "<f8")
        files[start + "bare32.npy"] = npy(bare, "<f4")
        lines = ["%s %s" % ("+1" if t[1] == "yes" else "-1",
                            " ".join("%d:%.4f" % (j + 1, v) for j, v in enumerate(row[:3]) if abs(v) > 0.4))
                 for row, t in zip(rows, y)]
        files[start + "sparse.libsvm"] = ("\n".join(lines) + "\n").encode()
    # trials of a search: two failed, one is outside of the ranges of the cases, words in a column that is none of them
    tried = [(10 ** -(1 + 3 * k / 11), 1 + (5 * k) % 4) for k in range(12)] + [(0.5, 2)]
    files["trials.csv"] = text([("run %d" % k, "%.6g" % rate, layers, "failed" if k == 3 else "" if k == 8 else
                                 (math.log10(rate) + 2) ** 2 + 0.1 * (layers - 3) ** 2)
                                for k, (rate, layers) in enumerate(tried)], ("note", "rate", "layers", "loss"))
    files["numbers.csv.gz"] = gzip.compress(files["numbers.csv"], mtime=0)
    lines = files["numbers.csv"].split(b"\n")
    files["first.csv"] = b"\n".join(lines[:31]) + b"\n"
    files["second.csv"] = lines[0] + b"\n" + b"\n".join(lines[31:])
    files["rows.txt"] = "".join("%d\n" % i for i in range(0, 60, 2)).encode()
    files["new_y.txt"] = b"".join(b"%s\n" % line.rsplit(b",")[-1] for line in files["new_numbers.csv"].split()[1:])
    return files


def vectors():
    """Rows for factor analysis: 6 coordinates, 2 factors."""
    r = random.Random(7)
    loadings = [[1.5, 0], [1.2, 0.3], [0.9, -0.4], [0, 1.1], [0.2, 0.8], [-0.3, 0.6]]
    means = (3, -1, 0, 10, 0.5, 2)
    rows = []
    for _ in range(240):
        z = (r.gauss(0, 1), r.gauss(0, 1))
        rows.append([m + f[0] * z[0] + f[1] * z[1] + r.gauss(0, 0.4 + 0.1 * j)
                     for j, (f, m) in enumerate(zip(loadings, means))])
    same = [row[:3] + [row[0], 4] for row in rows]
    return {"vectors.csv": text(rows, VECTOR_NAMES), "vectors1.csv": text(rows[:150], VECTOR_NAMES),
            "vectors2.csv": text(rows[150:], VECTOR_NAMES), "vectors.npy": npy(rows, "<f8"),
            "vectors32.npy": npy(rows, "<f4"), "vectors.txt": text(rows, between=" "),
            "vectors.csv.gz": gzip.compress(text(rows, VECTOR_NAMES), mtime=0),
            "same.csv": text(same, ("a", "b", "c", "a2", "four"))}


def images():
    """24 images of 4 x 4 points of three kinds: a bar on top, on the left, or on the diagonal."""
    r = random.Random(11)
    points, labels = [], []
    for i in range(24):
        kind = i % 3
        labels.append(kind)
        for y in range(4):
            for x in range(4):
                on = (y == 0, x == 0, x == y)[kind]
                points.append(r.randrange(150, 256) if on else r.randrange(0, 60))
    return {"rows4.txt": b"0\n5\n7\n20\n", "images.idx": idx((24, 4, 4), points), "labels.idx": idx((24,), labels)}


def bad():
    """What is refused."""
    return {"ragged.csv": b"a,b,y\n1,2,3\n4,5,6.5\n7,8\n9,1,2\n",
            "nan.csv": b"a,b,y\n1,2,3\n4,nan,6.5\n7,8,1\n9,1,2\n",
            "inf.csv": b"a,b,y\n1,2,3\n4,inf,6.5\n7,8,1\n9,1,2\n",
            "word.csv": b"a,b,y\n1,2,3\n4,five,6.5\n7,8,1\n9,1,2\n",
            "constant.csv": b"a,b,y\n1,2,3\n4,5,3\n7,8,3\n9,1,3\n",
            "one_class.csv": b"a,b,y\n1,2,no\n4,5,no\n7,8,no\n9,1,no\n",
            "negative.csv": b"a,b,y\n1,2,3\n4,5,-3\n7,8,3\n9,1,3\n",
            "header.csv": b"a,b,y\n",
            "few.csv": b"a,b,y\n1,2,3\n4,5,6.5\n",
            "level.csv": b"a,b,c,town\n1,2,3,harbour\n1,2,3,moon\n",
            "short.csv": b"a,b\n1,2\n2,3\n",
            "cut.npy": npy([[1.0, 2.0], [3.0, 4.0]], "<f8")[:-1],
            "order.libsvm": b"1 1:2 3:4\n-1 2:1 1:3\n",
            "cut.idx": idx((24, 4, 4), range(100)),
            "cut.csv.gz": gzip.compress(b"a,b,y\n" + b"1,2,3\n" * 50, mtime=0)[:-9],
            "noise.bin": b"\x7fELF\x00\x01\x02" * 20,
            "table.parquet": b"PAR1\x15\x04\x15\x10" * 9,
            "rows_out.txt": b"3\n400\n",
            "rows_twice.txt": b"3\n3\n"}


def files():
    """Every input: name and bytes."""
    return {**tables(), **vectors(), **images(), **bad()}


def write(folder, chosen):
    for name, data in chosen.items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
