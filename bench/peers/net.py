"""net.py - seconds per training step of a network in PyTorch, and what its loss and gradient are.

    net.py CASE BATCH THREADS SECONDS      CASE: energy, mlp or conv (bench_net.c has the same networks)

First line: the loss and the dot products of the gradient with cos(0.1 (d + 1)) and cos(0.2 (d + 1)) at the theta and
the data both sides make by formula.  Second line: best and median seconds of a step (forward, backward, Adam).
"""
# SPDX-License-Identifier: MIT
import sys
import time

import numpy as np
import torch

FEATURES = {"energy": 8, "mlp": 784, "conv": 784}


def network(case):
    n = torch.nn
    if case == "energy":
        return n.Sequential(n.Linear(8, 50), n.ReLU(), n.Linear(50, 1))
    if case == "mlp":
        return n.Sequential(n.Linear(784, 400), n.ReLU(), n.Linear(400, 400), n.ReLU(), n.Linear(400, 10))
    return n.Sequential(n.Conv2d(1, 8, 5), n.ReLU(), n.MaxPool2d(2), n.Conv2d(8, 16, 5), n.ReLU(), n.MaxPool2d(2),
                        n.Flatten(), n.Linear(256, 64), n.ReLU(), n.Linear(64, 10))


def turned(layer, name, values):
    """A weight of a linear layer as theta has it: inputs x outputs."""
    return values.T if isinstance(layer, torch.nn.Linear) and name == "weight" else values


def walk(net):
    for layer in net:
        for name, p in layer.named_parameters():
            yield layer, name, p


def set_theta(net):
    at = 0
    with torch.no_grad():
        for layer, name, p in walk(net):
            flat = 0.05 * np.sin(0.7 * np.arange(at + 1, at + 1 + p.numel()))
            shape = turned(layer, name, p).shape
            p.copy_(turned(layer, name, torch.tensor(flat.reshape(shape), dtype=torch.float32)))
            at += p.numel()


def gradient(net):
    parts = [turned(layer, name, p.grad).contiguous().flatten().double() for layer, name, p in walk(net)]
    return torch.cat(parts).numpy()


def main():
    case, batch, threads, seconds = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    torch.set_num_threads(threads)
    count = batch * FEATURES[case]
    x = np.sin(0.3 * np.arange(1, count + 1)).reshape(batch, -1)
    x = torch.tensor(x.reshape(batch, 1, 28, 28) if case == "conv" else x, dtype=torch.float32)
    if case == "energy":
        y = torch.tensor(np.cos(np.arange(1, batch + 1))[:, None], dtype=torch.float32)
        loss_of = lambda out: 0.5 * ((out - y) ** 2).mean()
    else:
        y = torch.arange(batch) * 7 % 10
        loss_of = torch.nn.functional.cross_entropy
    net = network(case)
    set_theta(net)
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-6)

    def step():
        optimiser.zero_grad()
        out = net(x)
        loss = loss_of(out) if case == "energy" else loss_of(out, y)
        loss.backward()
        return loss.item()

    loss = step()
    g = gradient(net)
    d = np.arange(1, g.size + 1)
    print(loss, g @ np.cos(0.1 * d), g @ np.cos(0.2 * d))
    clock = time.perf_counter if threads > 1 else time.process_time
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 7:
        start = clock()
        step()
        optimiser.step()
        times.append(clock() - start)
    print(min(times), sorted(times)[len(times) // 2])


main()
