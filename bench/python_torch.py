"""python_torch.py - what VIFA.step of fabayes.torch costs over ask and tell called from C: python_torch.py BENCH_ASK [D_SIDE [RANK]].

A linear layer of D_SIDE x D_SIDE weights (1000: a million), rank 5, batches of 32, one thread.  Three times are taken by turns, of
the processor: a step by ask and tell from C (bench_ask), forward and backward of torch alone, and VIFA.step, which has both.  Before
each forward and backward alone other memory is passed over, as the library passes over its own in a step.
Prints the medians, the ratio of VIFA.step to the sum of the parts (goal: 1.05), and how often its step is the user's own forward
and backward.
"""
# SPDX-License-Identifier: MIT
import statistics
import subprocess
import sys
import time

import torch

from fabayes.torch import VIFA

TURNS, STEPS = 9, 10
DRAWS = 2


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    side, rank = int(sys.argv[2]) if len(sys.argv) > 2 else 1000, int(sys.argv[3]) if len(sys.argv) > 3 else 5
    torch.set_num_threads(1)
    model = torch.nn.Linear(side, side, bias=False)
    x = torch.randn(32, side)
    post = VIFA(model, 3200, rank=rank, epochs=1000, map_part=0, ramp_part=0, n_jobs=1)

    def loss(m):
        return m(x).square().mean()

    def forward_backward():
        torch.autograd.grad(loss(model), [model.weight])

    others = torch.zeros(32 << 20)  # 128 MB

    def lap(call, between=None):
        seconds = 0.0
        for i in range(STEPS + 1):
            if between:
                between()
            begin = time.process_time()
            call()
            seconds += (time.process_time() - begin) * (i > 0)  # the first warms up
        return 1e3 * seconds / STEPS

    in_c, alone, step = [], [], []
    for _ in range(TURNS):
        said = subprocess.run([sys.argv[1], str(side * side), str(rank), str(STEPS)], capture_output=True, text=True, check=True)
        in_c.append(float(said.stdout.split()[0]))
        alone.append(lap(forward_backward, lambda: others.add_(1)) * DRAWS)
        step.append(lap(lambda: post.step(loss)))
    c, fb, all_ = (statistics.median(t) for t in (in_c, alone, step))
    print(f"D = {side * side}, rank {rank}, torch {torch.__version__}, one thread, ms of the processor for a step of {DRAWS} draws")
    print(f"ask and tell from C {c:.1f}   forward and backward {fb:.1f}   VIFA.step {all_:.1f}")
    print(f"VIFA.step / (C + forward and backward) {all_ / (c + fb):.3f}   goal 1.05")
    print(f"VIFA.step / forward and backward {all_ / fb:.1f}")


main()
