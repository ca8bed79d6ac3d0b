#!/usr/bin/env python3
"""peers.py SEEDS FILE [FUNCTION ..] - the same functions and seeds by scikit-optimize and BoTorch, which it needs: a line for each run and
evaluation, with the CPU seconds of the question before it."""
# SPDX-License-Identifier: MIT
import sys
import time
import warnings

from functions import FUNCTIONS

warnings.simplefilter("ignore")


def by_skopt(function, ranges, evaluations, seed):
    """Its defaults: 10 random points, then Matern 5/2 and EI."""
    from skopt import Optimizer
    from skopt.space import Real
    o = Optimizer([Real(float(lo), float(hi)) for lo, hi in ranges], base_estimator="GP", acq_func="EI", random_state=seed)
    seconds, y = [], []
    for _ in range(evaluations):
        start = time.process_time()
        x = o.ask()
        y.append(function(x))
        o.tell(x, y[-1])  # fits the process: the time of a question is that of both
        seconds.append(time.process_time() - start)
    return y, seconds


def by_botorch(function, ranges, evaluations, seed):
    """SingleTaskGP with its priors and LogEI; max(5, 2 D) Sobol points."""
    import torch
    from botorch.acquisition import LogExpectedImprovement
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Normalize, Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood
    torch.manual_seed(seed)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    D = len(ranges)
    bounds = torch.tensor([[float(lo) for lo, _ in ranges], [float(hi) for _, hi in ranges]])
    X = bounds[0] + (bounds[1] - bounds[0]) * torch.quasirandom.SobolEngine(D, scramble=True, seed=seed).draw(max(5, 2 * D)).double()
    y = [function(x.tolist()) for x in X]
    seconds = [0.0] * len(y)
    while len(y) < evaluations:
        start = time.process_time()
        Y = -torch.tensor(y).unsqueeze(-1)
        model = SingleTaskGP(X, Y, input_transform=Normalize(D, bounds=bounds), outcome_transform=Standardize(1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        x, _ = optimize_acqf(LogExpectedImprovement(model, best_f=Y.max()), bounds, q=1, num_restarts=10, raw_samples=512)
        y.append(function(x[0].tolist()))
        X = torch.cat([X, x])
        seconds.append(time.process_time() - start)
    return y, seconds


def main():
    seeds = int(sys.argv[1])
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        print("function,by,seed,trial,regret,seconds", file=out)
        for name in sys.argv[3:] or FUNCTIONS:
            function, ranges, least, at = FUNCTIONS[name]
            for by, run in (("skopt", by_skopt), ("botorch", by_botorch)):
                for seed in range(seeds):
                    y, seconds = run(function, ranges, at[-1], seed)
                    best = float("inf")
                    for i, value in enumerate(y):
                        best = min(best, value)
                        print(f"{name},{by},{seed},{i + 1},{best - least:.6g},{seconds[i]:.4f}", file=out, flush=True)


if __name__ == "__main__":
    main()
