"""python_torch_gpu.py - what VIFA.step of fabayes.torch costs on a card beside the user's own gradient: python_torch_gpu.py [D [RANK]].

One vector of D weights (1e8), rank 10, f32; one draw a step, entropy closed, sgd: what `bench_gpu` times as "vifa, closed, sgd" and, with
ask and tell from C, as "ask and tell".  Two times are taken by turns: a step, and forward and backward of torch alone.  Prints the best of
both and their difference, which is the step outside the user's own gradient.
"""
# SPDX-License-Identifier: MIT
import sys
import time

import torch

from fabayes.torch import VIFA

TURNS, STEPS = 7, 8


class Weights(torch.nn.Module):
    def __init__(self, D):
        super().__init__()
        self.theta = torch.nn.Parameter(torch.zeros(D, device="cuda"))


def main():
    D, rank = int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000_000, int(sys.argv[2]) if len(sys.argv) > 2 else 10
    if not torch.cuda.is_available():
        sys.exit("skipped: torch finds no card")
    model = Weights(D)
    post = VIFA(model, 100_000, rank=rank, device="cuda", batch=1, epochs=1, draws=1, pairs=0, optimiser="sgd", entropy="closed",
                rate=1e-9, map_part=0, ramp_part=0)

    def loss(m):
        return m.theta.square().mean()

    def forward_backward():
        torch.autograd.grad(loss(model), [model.theta])

    def lap(call):
        call()  # the first warms up
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(STEPS):
            call()
        torch.cuda.synchronize()
        return 1e3 * (time.perf_counter() - begin) / STEPS

    alone, step = [], []
    for _ in range(TURNS):
        alone.append(lap(forward_backward))
        step.append(lap(lambda: post.step(loss)))
    print(f"D = {D}, rank {rank}, torch {torch.__version__}, {torch.cuda.get_device_name()}, ms")
    print(f"forward and backward {min(alone):.2f}   VIFA.step {min(step):.2f}   outside {min(step) - min(alone):.2f}")


main()
