"""torch_conv.py - a convolutional network of PyTorch gets a posterior in ten lines: digits, and digits it has never seen.

    python3 examples/python/torch_conv.py

SPDX-License-Identifier: MIT
"""

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from fabayes.torch import VIFA  # 1

torch.manual_seed(0)
digits = load_digits()
x = torch.tensor(digits.images[:, None] / 16, dtype=torch.float32)
y = torch.tensor(digits.target)
known = y < 8  # 8 and 9 are never shown
train, test = (known & (torch.arange(len(y)) % 3 != 0)), (known & (torch.arange(len(y)) % 3 == 0))

model = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(72, 32), nn.ReLU(), nn.Linear(32, 8))
loader = DataLoader(TensorDataset(x[train], y[train]), batch_size=64, shuffle=True)

post = VIFA(model, int(train.sum()), rank=5, batch=64, epochs=300)  # 2
while not post.done:  # 3
    for a, b in loader:  # 4
        if not post.done:  # 5
            post.step(lambda m: cross_entropy(m(a), b))  # 6


def classes(images):
    return post.predict(images, draws=50).softmax(-1).mean(0)  # 7


def uncertainty(p):
    return -(p * p.clamp_min(1e-12).log()).sum(-1).mean().item()


p = classes(x[test])  # 8
with torch.no_grad():
    point = model(x).softmax(-1)  # the mean of the posterior is in the model
print(f"D = {post.D}, rank {post.gauss.rank}")
for name, q in (("posterior", p), ("its mean", point[test])):
    nll = -q[torch.arange(len(q)), y[test]].log().mean()
    print(f"{name:10} accuracy {(q.argmax(-1) == y[test]).float().mean():.3f}, nll {nll:.3f}")
print(f"entropy of p(class), known digits: posterior {uncertainty(p):.2f}, its mean {uncertainty(point[test]):.2f}")
print(f"entropy of p(class), 8 and 9:      posterior {uncertainty(classes(x[~known])):.2f}, its mean {uncertainty(point[~known]):.2f}")  # 9
