"""plane.py - the logistic posterior of ten points in the plane and Gaussians beside it: [L] Fig. 5.

The data are those of [L]'s program: two clusters of five points whose means are s apart, prior N(0, 100 I).
"""
# SPDX-License-Identifier: MIT
import json
import math
import os
import random
import struct
import tempfile

import study

ROWS, SIGMA0 = 10, 10.0
SPECTRUM = (1.0, 0.5)  # of the covariance, over the sum of its squares
REACH, STEP = 50.0, 0.2  # the square that holds the posterior, and the step of the sums over it
PICTURE = 100  # points a side of the grid behind the contour lines


def clusters(separation, seed):
    """Rows (x1, x2, y), shuffled."""
    r = random.Random(seed)
    angle = r.uniform(0, 2 * math.pi)
    direction = [r.random(), r.random()]
    length = math.hypot(*direction)
    scale = math.sqrt(sum(v * v for v in SPECTRUM))
    rows = []
    for i in range(ROWS):
        a, b = (r.gauss(0, math.sqrt(v) / scale) for v in SPECTRUM)
        y, side = i % 2, (i % 2 - 0.5) * separation / length
        rows.append((a * math.cos(angle) - b * math.sin(angle) + side * direction[0],
                     a * math.sin(angle) + b * math.cos(angle) + side * direction[1], y))
    r.shuffle(rows)
    return rows


def softplus(t):
    return max(t, 0) + math.log1p(math.exp(-abs(t)))


def minus_log_joint(rows, t1, t2):
    """-log p(y, theta)."""
    eta = [(x1 * t1 + x2 * t2, y) for x1, x2, y in rows]
    return (sum(softplus(e) - y * e for e, y in eta) + (t1 * t1 + t2 * t2) / (2 * SIGMA0 ** 2) +
            math.log(2 * math.pi * SIGMA0 ** 2))


def log_evidence(rows):
    """By a sum over a grid."""
    side = [STEP * k for k in range(-int(REACH / STEP), int(REACH / STEP) + 1)]
    return math.log(STEP * STEP * sum(math.exp(-minus_log_joint(rows, a, b)) for a in side for b in side))


def read_gauss(path):
    """Mean and 2 x 2 covariance of a posterior file."""
    with open(path, "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        body = f.read()
    numbers = {}
    for name in ("mu", "F", "psi"):
        first, last = header[name]["data_offsets"]
        numbers[name] = struct.unpack("<%dd" % ((last - first) // 8), body[first:last])
    F, psi = numbers["F"], numbers["psi"]
    K = len(F) // 2
    S = [[sum(F[a * K + k] * F[b * K + k] for k in range(K)) + (psi[a] if a == b else 0) for b in (0, 1)]
         for a in (0, 1)]
    if header["__metadata__"]["form"] == "precision":
        det = S[0][0] * S[1][1] - S[0][1] ** 2
        S = [[S[1][1] / det, -S[0][1] / det], [-S[0][1] / det, S[0][0] / det]]
    return numbers["mu"], S


def mean_softplus(m, v):
    """E softplus(eta), eta ~ N(m, v): steps of half a standard deviation, and of at most 0.8."""
    s = math.sqrt(v)
    h = min(0.5, 0.8 / s)
    nodes = [k * h for k in range(-int(9 / h), int(9 / h) + 1)]
    weights = [math.exp(-z * z / 2) for z in nodes]
    return sum(w * softplus(m + s * z) for w, z in zip(weights, nodes)) / sum(weights)


def divergence(rows, mean, S, evidence):
    """KL(q || posterior)."""
    entropy = math.log(2 * math.pi * math.e) + 0.5 * math.log(S[0][0] * S[1][1] - S[0][1] ** 2)
    prior = (mean[0] ** 2 + mean[1] ** 2 + S[0][0] + S[1][1]) / (2 * SIGMA0 ** 2) + math.log(2 * math.pi * SIGMA0 ** 2)
    data = 0
    for x1, x2, y in rows:
        m = x1 * mean[0] + x2 * mean[1]
        v = x1 * x1 * S[0][0] + 2 * x1 * x2 * S[0][1] + x2 * x2 * S[1][1]
        data += mean_softplus(m, v) - y * m
    return data + prior - entropy + evidence


def fit(rows, method, settings):
    """Mean and covariance that the command line finds."""
    with tempfile.TemporaryDirectory() as folder:
        data, file = os.path.join(folder, "rows.csv"), os.path.join(folder, "q.safetensors")
        with open(data, "w") as f:
            f.write("a,b,y\n" + "".join("%r,%r,%d\n" % row for row in rows))
        study.fabayes("fit", data, "-y", "y", "--likelihood", "bernoulli", "-m", method, "--no-scale", "--no-intercept",
                      "--alpha=%r" % (1 / SIGMA0 ** 2), "-o", file, *settings)
        return read_gauss(file)


def probit_expectations(x, mean, S):
    """E sigma and E sigma' of x . theta, sigma as a probit ([L] (51)-(53)), and S x."""
    Sx = [S[0][0] * x[0] + S[0][1] * x[1], S[0][1] * x[0] + S[1][1] * x[1]]
    k = 1 / math.sqrt(1 + math.pi / 8 * (x[0] * Sx[0] + x[1] * Sx[1]))
    p = 1 / (1 + math.exp(-k * (x[0] * mean[0] + x[1] * mean[1])))
    return p, k * p * (1 - p), Sx


def step(x, y, mean, S, p, weight):
    """Mean and covariance after a row whose expectations are p and weight ([L] (137)-(138))."""
    _, _, Sx = probit_expectations(x, mean, S)
    shrink = weight / (1 + weight * (x[0] * Sx[0] + x[1] * Sx[1]))
    new = [[S[a][b] - shrink * Sx[a] * Sx[b] for b in (0, 1)] for a in (0, 1)]
    gain = [new[a][0] * x[0] + new[a][1] * x[1] for a in (0, 1)]
    return [mean[a] + gain[a] * (y - p) for a in (0, 1)], new


def recursion(rows, scheme):
    """The open schemes written out: what `rvga` is held against."""
    mean, S = [0.0, 0.0], [[SIGMA0 ** 2, 0.0], [0.0, SIGMA0 ** 2]]
    for x1, x2, y in rows:
        x = (x1, x2)
        p, weight, _ = probit_expectations(x, mean, S)
        ahead = step(x, y, mean, S, p, weight)
        if scheme != "explicit":
            p, second, _ = probit_expectations(x, *ahead)
            ahead = step(x, y, mean, S, p, second if scheme == "extra-gradient" else weight)
        mean, S = ahead
    return mean, S


def ellipse(mean, S):
    """Points of the ellipse of two standard deviations."""
    a = math.sqrt(S[0][0])
    b, c = S[0][1] / a, math.sqrt(S[1][1] - S[0][1] ** 2 / S[0][0])
    turns = [2 * math.pi * k / 90 for k in range(91)]
    return [(mean[0] + 2 * a * math.cos(t), mean[1] + 2 * (b * math.cos(t) + c * math.sin(t))) for t in turns]


def picture_range(fits):
    """A square around the ellipses."""
    points = [p for q in fits.values() for p in ellipse(*q)]
    low, high = ([f(p[k] for p in points) for k in (0, 1)] for f in (min, max))
    half = max(high[0] - low[0], high[1] - low[1]) / 2
    middle = [(a + b) / 2 for a, b in zip(low, high)]
    return [m - half for m in middle], 2 * half


def write_picture(folder, separation, rows, fits):
    """grid-S.dat: the posterior over its maximum; METHOD-S.dat: ellipses."""
    start, side = picture_range(fits)
    axis = [k * side / PICTURE for k in range(PICTURE + 1)]
    values = {(a, b): -minus_log_joint(rows, start[0] + a, start[1] + b) for a in axis for b in axis}
    most = max(values.values())
    with open(os.path.join(folder, "grid-%d.dat" % separation), "w") as f:
        for a in axis:
            f.writelines("%g %g %g\n" % (start[0] + a, start[1] + b, math.exp(values[a, b] - most)) for b in axis)
            f.write("\n")
    for method, q in fits.items():
        with open(os.path.join(folder, "%s-%d.dat" % (method, separation)), "w") as f:
            f.writelines("%g %g\n" % point for point in ellipse(*q))
