#!/usr/bin/env python3
"""Is `fabayes fa -m ml` the maximum?  An independent maximum likelihood in NumPy, on the same rows.

    check_ml.py FABAYES [D] [ROWS] [SEEDS] [TOL]

For each spectrum of [T] and each seed: rows are drawn, the fixed point psi = diag(S - F F') is run from
psi = diag(S) / 2 until psi changes by less than TOL, relative, and its distance from the truth and its
log-likelihood are printed beside those of fabayes.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

K = 10


def model(D, hi, rng):
    V = np.linalg.qr(rng.standard_normal((D, K)))[0]
    s2 = rng.uniform(1, hi, D)
    return rng.standard_normal(D), V * np.sqrt(s2)[:, None], rng.uniform(0, s2.max(), D)


def fixed_point(S, tol, most=5000):
    psi = np.diag(S) / 2
    for rounds in range(1, most + 1):
        r = np.sqrt(psi)
        w, V = np.linalg.eigh(S / np.outer(r, r))
        F = V[:, -K:] * np.sqrt(np.maximum(w[-K:] - 1, 0)) * r[:, None]
        new = np.maximum(np.diag(S) - (F * F).sum(1), 1e-9 * np.diag(S))
        change = np.abs(new / psi - 1).max()
        psi = new
        if change < tol:
            break
    return F, psi, rounds


def loglik(S, F, psi):
    Q = F @ F.T + np.diag(psi)
    return -0.5 * (len(S) * np.log(2 * np.pi) + np.linalg.slogdet(Q)[1] + np.trace(np.linalg.solve(Q, S)))


def read(path):
    data = open(path, "rb").read()
    n = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + n])
    take = lambda t: np.frombuffer(data, "<f8", int(np.prod(t["shape"])), 8 + n + t["data_offsets"][0])
    return take(header["F"]).reshape(header["F"]["shape"]), take(header["psi"])


def main(fabayes, D=100, rows=100000, seeds=3, tol=1e-8):
    print("D,rows,hi,seed,rounds,distance_numpy,distance_fabayes,ratio,loglik_numpy,loglik_fabayes")
    for hi in (10, 100, 1000):
        for seed in range(1, seeds + 1):
            rng = np.random.default_rng(seed)
            c, F0, psi0 = model(D, hi, rng)
            X = rng.standard_normal((rows, K)) @ F0.T + c + rng.standard_normal((rows, D)) * np.sqrt(psi0)
            S0, S = F0 @ F0.T + np.diag(psi0), np.cov(X.T, bias=True)
            with tempfile.TemporaryDirectory() as folder:
                table, out = os.path.join(folder, "x.npy"), os.path.join(folder, "q.safetensors")
                np.save(table, X)
                subprocess.run([fabayes, "fa", table, "-k", str(K), "-m", "ml", "-o", out, "--quiet"], check=True,
                               stdout=subprocess.DEVNULL)
                Fb, pb = read(out)
            Fa, pa, rounds = fixed_point(S, tol)
            error = lambda F, p: np.linalg.norm(F @ F.T + np.diag(p) - S0) / np.linalg.norm(S0)
            a, b = error(Fa, pa), error(Fb, pb)
            print(f"{D},{rows},{hi},{seed},{rounds},{a:.6f},{b:.6f},{b / a:.6f},{loglik(S, Fa, pa):.7f},"
                  f"{loglik(S, Fb, pb):.7f}", flush=True)


if __name__ == "__main__":
    a = sys.argv[1:]
    main(a[0], *(int(v) for v in a[1:4]), *(float(v) for v in a[4:5]))
