#!/usr/bin/env python3
"""The peers of the study: GPyTorch's SGPR (Titsias' bound, all rows) and SVGP (mini-batches of 1024), an rbf with a length-scale for
each column, in doubles.

    peers.py DATA OUT.csv --split=0 --only=elevators,bike --fits=sgpr:100,svgp:100 --inputs=500 --device=cpu --where=WORDS

DATA is the folder uci-large.  Inducing inputs begin at rows drawn at random and move.  sgpr:N is N steps of Adam at .1 (a tenth of it in
the last quarter); svgp:N is N passes of Adam at .01, the same.  OUT.csv gains a line for each fit that it has not yet: RMSE and NLL
of the test rows, processor seconds of one thread and wall seconds of the fit, and where it ran, which is what --where says.
"""
# SPDX-License-Identifier: MIT
import csv
import gzip
import math
import os
import sys
import time
import warnings

import numpy as np

TABLES = ("elevators", "bike", "pol", "kin40k", "protein")
COLUMNS = ["table", "split", "method", "rmse", "nll", "seconds", "wall", "where"]
BATCH = 1024


def option(name, usual):
    return next((a[len(name) + 3 :] for a in sys.argv[1:] if a.startswith("--%s=" % name)), usual)


def rows_of(folder, split):
    """To learn and to test; the published split, the rows to learn in a random order."""
    A, mask = (np.loadtxt(gzip.open(os.path.join(folder, f + ".csv.gz"), "rt"), delimiter=",") for f in ("data", "test_mask"))
    order = np.random.default_rng(split).permutation(np.flatnonzero(mask[:, split] == 0))
    return A[order], A[mask[:, split] == 1]


def standard(train, test):
    """Columns and target with the mean and the sd of the rows to learn: NLL is of targets of variance 1."""
    mean, sd = train.mean(0), train.std(0)
    sd[sd == 0] = 1
    return (train - mean) / sd, (test - mean) / sd


def fit(kind, steps, train, test, inputs, device):
    """RMSE, NLL, processor seconds, wall seconds."""
    import gpytorch
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(1)
    A, B = torch.tensor(train).to(device), torch.tensor(test).to(device)
    X, y, x, t = A[:, :-1].contiguous(), A[:, -1].contiguous(), B[:, :-1].contiguous(), B[:, -1].contiguous()
    Z = X[torch.randperm(len(X))[:inputs].to(device)].clone()

    def kernel():
        return gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))

    class Sgpr(gpytorch.models.ExactGP):
        def __init__(self):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.InducingPointKernel(kernel(), inducing_points=Z, likelihood=likelihood)

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    class Svgp(gpytorch.models.ApproximateGP):
        def __init__(self):
            q = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
            super().__init__(gpytorch.variational.VariationalStrategy(self, Z, q, learn_inducing_locations=True))
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = kernel()

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood().to(device)
    processor, wall = time.process_time(), time.perf_counter()
    model = (Sgpr() if kind == "sgpr" else Svgp()).to(device)
    if kind == "sgpr":
        bound, rate, count = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model), 0.1, steps
        batches = ((X, y) for _ in range(steps))
    else:
        bound, rate, count = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(y)), 0.01, steps * -(-len(X) // BATCH)
        batches = ((X[i], y[i]) for _ in range(steps) for i in torch.randperm(len(X)).to(device).split(BATCH))
    optimiser = torch.optim.Adam({id(p): p for p in [*model.parameters(), *likelihood.parameters()]}.values(), lr=rate)
    later = torch.optim.lr_scheduler.MultiStepLR(optimiser, [count * 3 // 4], gamma=0.1)
    model.train()
    likelihood.train()
    for X_, y_ in batches:
        optimiser.zero_grad()
        loss = -bound(model(X_), y_)
        loss.backward()
        optimiser.step()
        later.step()
    loss.item()  # what was sent to a card has ended
    processor, wall = time.process_time() - processor, time.perf_counter() - wall
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        mean, variance = [], []
        for part in x.split(BATCH):
            p = likelihood(model(part))
            mean.append(p.mean)
            variance.append(p.variance)
        mean, variance = torch.cat(mean), torch.cat(variance)
        nll = ((t - mean) ** 2 / variance + variance.log() + math.log(2 * math.pi)).mean() / 2
        return float(((t - mean) ** 2).mean().sqrt()), float(nll), processor, wall


def known(out):
    if not os.path.exists(out):
        return []
    with open(out, newline="") as f:
        return list(csv.DictReader(f))


def append(out, line):
    new = not os.path.exists(out)
    with open(out, "a", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows([COLUMNS, line] if new else [line])


def main():
    warnings.filterwarnings("ignore")
    data, out, split, where = sys.argv[1], sys.argv[2], int(option("split", "0")), option("where", "")
    done = {(r["table"], int(r["split"]), r["method"]) for r in known(out)}
    for table in option("only", ",".join(TABLES)).split(","):
        parts = standard(*rows_of(os.path.join(data, table), split))
        for method in option("fits", "sgpr:100,svgp:100").split(","):
            if (table, split, method) in done:
                continue
            kind, steps = method.split(":")
            scores = fit(kind, int(steps), *parts, int(option("inputs", "500")), option("device", "cpu"))
            line = [table, split, method, *("%.5g" % v for v in scores), where]
            append(out, line)
            print(*line, sep=",", flush=True)


if __name__ == "__main__":
    main()
