"""The peers of the study: GPyTorch's SGPR (Titsias' bound, all rows) and SVGP (mini-batches of 1024), with an rbf of a length-scale for
each column.

    peers.py sgpr|svgp TRAIN.csv TEST.csv INPUTS STEPS

Inducing inputs begin at rows drawn at random and move; Adam at .1 (SGPR) or .01 (SVGP), STEPS steps or passes of mini-batches / 10.
Prints RMSE and NLL of the test rows, and the processor seconds of the fit.  One thread: the caller sets it.
"""
# SPDX-License-Identifier: MIT
import math
import sys
import time

import gpytorch
import numpy as np
import torch

torch.set_num_threads(1)
torch.manual_seed(1)


class Sgpr(gpytorch.models.ExactGP):
    def __init__(self, X, y, likelihood, Z):
        super().__init__(X, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        base = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1]))
        self.covar_module = gpytorch.kernels.InducingPointKernel(base, inducing_points=Z, likelihood=likelihood)

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


class Svgp(gpytorch.models.ApproximateGP):
    def __init__(self, Z):
        q = gpytorch.variational.CholeskyVariationalDistribution(len(Z))
        super().__init__(gpytorch.variational.VariationalStrategy(self, Z, q, learn_inducing_locations=True))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel(ard_num_dims=Z.shape[1]))

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


def main():
    kind, m, steps = sys.argv[1], int(sys.argv[4]), int(sys.argv[5])
    A, B = (torch.tensor(np.loadtxt(p, delimiter=",", skiprows=1)) for p in sys.argv[2:4])
    X, y, x, t = A[:, :-1], A[:, -1], B[:, :-1], B[:, -1]
    torch.set_default_dtype(torch.float64)
    Z = X[torch.randperm(len(X))[:m]].clone()
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    start = time.process_time()
    if kind == "sgpr":
        model = Sgpr(X, y, likelihood, Z)
        bound = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        optimiser = torch.optim.Adam(model.parameters(), lr=0.1)
        batches = [(X, y)] * steps
    else:
        model = Svgp(Z)
        bound = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(y))
        optimiser = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.01)
        batches = [(X[i], y[i]) for _ in range(max(1, steps // 10)) for i in torch.randperm(len(X)).split(1024)]
    model.train()
    likelihood.train()
    for X_, y_ in batches:
        optimiser.zero_grad()
        loss = -bound(model(X_), y_)
        loss.backward()
        optimiser.step()
    seconds = time.process_time() - start
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        mean, variance = [], []
        for part in x.split(1024):
            p = likelihood(model(part))
            mean.append(p.mean)
            variance.append(p.variance)
        mean, variance = torch.cat(mean), torch.cat(variance)
        nll = ((t - mean) ** 2 / variance + variance.log() + math.log(2 * math.pi)).mean() / 2
        print(float(((t - mean) ** 2).mean().sqrt()), float(nll), seconds)


main()
