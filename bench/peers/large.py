"""large.py - 784-400-400-10 in PyTorch, f32: a training step, a step of VIFA, predictions by draws, one at a time on request.

    large.py ROWS THREADS       the other side is bench_large.c

First line: the loss of all rows and the sum of p(class c) cos(c) over rows and classes, at the theta and the rows that both
sides make by formula.  Then, for each line of standard input, the seconds of

    step   a step of Adam with weight decay, averaged over an epoch of batches of 200 in random order
    vifa   a step of VIFA: K = 5, two draws h, z and -h, -z on the same 200 rows, Adam; averaged over 5
    draws  drawing theta = mu + F h + sqrt(psi) z, K = 5, and predicting all rows; averaged over 8
    points predicting all rows at one theta

Of one thread it is the time of the processor, of more the wall's.
"""
# SPDX-License-Identifier: MIT
import sys
import time

import torch
from torch.nn.functional import cross_entropy, linear, relu

SIZES, BATCH, K, DRAWS = (784, 400, 400, 10), 200, 5, 8
SHAPES = [s for a, b in zip(SIZES, SIZES[1:]) for s in ((a, b), (b,))]
D = sum(a * b for a, b in zip(SIZES, SIZES[1:])) + sum(SIZES[1:])


def wave(scale, step, n):
    return (scale * torch.sin(step * torch.arange(1, n + 1, dtype=torch.float64))).float()


def cut(theta):
    """Views of theta: W (inputs x outputs) and b of each layer."""
    parts, at = [], 0
    for shape in SHAPES:
        n = torch.Size(shape).numel()
        parts.append(theta[at:at + n].reshape(shape))
        at += n
    return parts


def forward(theta, x):
    w1, b1, w2, b2, w3, b3 = cut(theta)
    return torch.addmm(b3, relu(torch.addmm(b2, relu(torch.addmm(b1, x, w1)), w2)), w3)


class Bench:
    def __init__(self, rows):
        torch.manual_seed(1)
        self.rows = rows
        self.x = wave(1, 0.3, rows * SIZES[0]).reshape(rows, -1)
        self.y = torch.arange(rows) * 7 % 10
        self.mu, self.psi = wave(0.05, 0.7, D), torch.full((D,), 1e-6)
        self.F = wave(0.001, 1.3, D * K).reshape(D, K)
        n = torch.nn
        self.net = n.Sequential(n.Linear(784, 400), n.ReLU(), n.Linear(400, 400), n.ReLU(), n.Linear(400, 10))
        self.adam = torch.optim.Adam(self.net.parameters(), lr=1e-4, weight_decay=1 / rows)
        self.c, self.gamma, self.G = self.mu.clone(), torch.log(self.psi), self.F.clone()
        self.vifa_adam = torch.optim.Adam([self.c, self.G, self.gamma], lr=1e-5)

    def check(self):
        with torch.no_grad():
            out = forward(self.mu, self.x)
            p = torch.softmax(out, 1).double().sum(0) @ torch.cos(torch.arange(10).double())
            return cross_entropy(out, self.y).item(), p.item()

    def step(self):
        order, steps = torch.randperm(self.rows), self.rows // BATCH
        for i in range(steps):
            rows = order[i * BATCH:(i + 1) * BATCH]
            self.adam.zero_grad()
            cross_entropy(self.net(self.x[rows]), self.y[rows]).backward()
            self.adam.step()
        return steps

    def vifa(self):
        for _ in range(5):
            c, F, gamma = self.c, self.G, self.gamma
            psi = torch.exp(gamma)
            root, A = torch.sqrt(psi), F / psi[:, None]
            C = A @ torch.linalg.inv(torch.eye(K) + F.T @ A)
            gc, GF, gg = torch.zeros_like(c), torch.zeros_like(F), torch.zeros_like(gamma)
            h, z = torch.randn(K), torch.randn(D)
            rows = torch.randperm(self.rows)[:BATCH]
            x, y = self.x[rows], self.y[rows]
            for sign in (1, -1):
                theta = (c + sign * (F @ h + root * z)).requires_grad_(True)
                g, = torch.autograd.grad(cross_entropy(forward(theta, x), y), theta)
                gc += self.rows / 2 * g
                GF += sign * self.rows / 2 * g[:, None] * h
                gg += sign * 0.25 * self.rows * g * root * z
            self.c.grad = gc + c
            self.G.grad = GF + F - C
            self.gamma.grad = gg + 0.5 * (psi - 1 + (C * F).sum(1))
            self.vifa_adam.step()
        return 5

    def draws(self):
        with torch.no_grad():
            p = torch.zeros(self.rows, 10)
            for _ in range(DRAWS):
                theta = self.mu + self.F @ torch.randn(K) + torch.sqrt(self.psi) * torch.randn(D)
                p += torch.softmax(forward(theta, self.x), 1)
            (p / DRAWS).log()
        return DRAWS

    def points(self):
        with torch.no_grad():
            torch.log_softmax(forward(self.mu, self.x), 1)
        return 1


def main():
    rows, threads = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(threads)
    clock = time.perf_counter if threads > 1 else time.process_time
    bench = Bench(rows)
    print(*bench.check(), flush=True)
    for line in sys.stdin:
        start = clock()
        count = getattr(bench, line.strip())()
        print((clock() - start) / count, flush=True)


main()
