"""vifa.py - seconds per step of VIFA in PyTorch, and the bound it reaches.

    vifa.py STEPS THREADS SECONDS     1 x 50 relu, 8 features, K = 1, 4 draws on batches of 10, Adam (bench_vifa.c)

The algorithm of [T]: the gradient at a draw by autograd, the rest in closed form.  First line: the average loss of the last
STEPS / 10 steps after STEPS of them.  Second line: best and median seconds of a step.
"""
# SPDX-License-Identifier: MIT
import math
import sys
import time

import torch

ROWS, FEATURES, HIDDEN, K, DRAWS, BATCH = 690, 8, 50, 1, 4, 10
ALPHA, BETA, RATE = 1.0, 25.0, 0.01
D = FEATURES * HIDDEN + HIDDEN + HIDDEN + 1


def table():
    i = torch.arange(1, ROWS * FEATURES + 1, dtype=torch.float64)
    x = torch.sin(0.3 * i).reshape(ROWS, FEATURES)
    return x, torch.cos(torch.arange(1, ROWS + 1, dtype=torch.float64)) * x[:, 0] + x[:, 1]


def predict(theta, x):
    w, b, v = theta[:FEATURES * HIDDEN], theta[FEATURES * HIDDEN:D - HIDDEN - 1], theta[D - HIDDEN - 1:-1]
    return torch.relu(x @ w.reshape(FEATURES, HIDDEN) + b) @ v + theta[-1]


class Run:
    def __init__(self):
        torch.manual_seed(1)
        self.x, self.y = table()
        self.c = torch.zeros(D, dtype=torch.float64)
        self.c[:FEATURES * HIDDEN] = torch.randn(FEATURES * HIDDEN, dtype=torch.float64) * math.sqrt(2 / FEATURES)
        self.c[D - HIDDEN - 1:-1] = torch.randn(HIDDEN, dtype=torch.float64) / math.sqrt(HIDDEN)
        self.F = torch.randn(D, K, dtype=torch.float64) * 1e-3
        self.gamma = torch.full((D,), 2 * math.log(0.003), dtype=torch.float64)
        self.opt = torch.optim.Adam([self.c, self.F, self.gamma], lr=RATE)
        self.order, self.at = torch.randperm(ROWS), 0

    def batch(self):
        if self.at + BATCH > ROWS:
            self.order, self.at = torch.randperm(ROWS), 0
        rows = self.order[self.at:self.at + BATCH]
        self.at += BATCH
        return self.x[rows], self.y[rows]

    def step(self):
        c, F, gamma = self.c, self.F, self.gamma
        psi = torch.exp(gamma)
        root, A = torch.sqrt(psi), F / psi[:, None]
        C = A @ torch.linalg.inv(torch.eye(K, dtype=torch.float64) + F.T @ A)
        gc, GF, gg = torch.zeros_like(c), torch.zeros_like(F), torch.zeros_like(gamma)
        total = 0.0
        for _ in range(DRAWS):
            h, z = torch.randn(K, dtype=torch.float64), torch.randn(D, dtype=torch.float64)
            theta = (c + F @ h + root * z).requires_grad_(True)
            x, y = self.batch()
            loss = 0.5 * BETA * ((y - predict(theta, x)) ** 2).mean()
            g, = torch.autograd.grad(loss, theta)
            gc += ROWS / DRAWS * g
            GF += ROWS / DRAWS * g[:, None] * h
            gg += 0.5 * ROWS / DRAWS * g * root * z
            total += loss.item() / DRAWS
        self.c.grad = gc + ALPHA * c
        self.F.grad = GF + ALPHA * F - C
        self.gamma.grad = gg + 0.5 * (ALPHA * psi - 1 + (C * F).sum(1))
        self.opt.step()
        return total


def main():
    steps, threads, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    torch.set_num_threads(threads)
    run, last, times = Run(), [], []
    for t in range(steps):
        loss = run.step()
        if t >= steps - steps // 10:
            last.append(loss)
    print(sum(last) / len(last) - 0.5 * math.log(BETA / (2 * math.pi)))
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 7:
        begin = time.perf_counter()
        for _ in range(10):
            run.step()
        times.append((time.perf_counter() - begin) / 10)
    times.sort()
    print(times[0], times[len(times) // 2])


main()
