"""functions.py - the test functions of this study: ranges, least value, evaluations at which regret is read."""
# SPDX-License-Identifier: MIT
import math

A = [[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8], [17, 8, 0.05, 10, 0.1, 14]]
P = [[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
     [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]]
C = [1, 1.2, 3, 3.2]


def branin(x):
    a, b = x
    return ((b - 5.1 / (4 * math.pi ** 2) * a ** 2 + 5 / math.pi * a - 6) ** 2
            + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10)


def hartmann6(x):
    return -sum(c * math.exp(-sum(a * (v - p / 1e4) ** 2 for a, v, p in zip(row, x, place)))
                for c, row, place in zip(C, A, P))


def goldstein_price(x):
    a, b = x
    return ((1 + (a + b + 1) ** 2 * (19 - 14 * a + 3 * a * a - 14 * b + 6 * a * b + 3 * b * b))
            * (30 + (2 * a - 3 * b) ** 2 * (18 - 32 * a + 12 * a * a + 48 * b - 36 * a * b + 27 * b * b)))


def levy(x):
    w = [1 + (v - 1) / 4 for v in x]
    return (math.sin(math.pi * w[0]) ** 2
            + sum((v - 1) ** 2 * (1 + 10 * math.sin(math.pi * v + 1) ** 2) for v in w[:-1])
            + (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2))


# name: function, ranges, least value, evaluations at which regret is read
FUNCTIONS = {
    "branin": (branin, [(-5, 10), (0, 15)], 0.39788735772973816, (20, 30)),
    "hartmann6": (hartmann6, [(0, 1)] * 6, -3.3223680114155147, (30, 50)),
    "goldstein-price": (goldstein_price, [(-2, 2)] * 2, 3.0, (20, 30)),
    "levy4": (levy, [(-10, 10)] * 4, 0.0, (30, 50)),
}
