"""lora_prior.py - adapters of low rank have the posterior, and one task's posterior is the next one's prior.

A network learns the digits 0 - 4 and is frozen but for adapters A B beside its weights.  They learn to tell digits turned by
45 degrees, then by 90, without the first ones at hand.

    python3 examples/python/lora_prior.py

SPDX-License-Identifier: MIT
"""

import numpy as np
import torch
from scipy.ndimage import rotate
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, TensorDataset

from fabayes.torch import VIFA


class Adapted(nn.Module):
    """A linear layer, and beside it two thin matrices that can learn while it stands still."""

    def __init__(self, layer, rank=4):
        super().__init__()
        self.layer = layer
        self.lora_a = nn.Parameter(0.1 * torch.randn(rank, layer.in_features))
        self.lora_b = nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, x):
        return self.layer(x) + x @ self.lora_a.T @ self.lora_b.T


def task(angle):
    """Training and test rows of digits turned by so many degrees."""
    images = np.stack([rotate(i, angle, reshape=False, order=1) for i in digits.images[few]])
    x, y = torch.tensor(images.reshape(len(images), -1) / 16, dtype=torch.float32), torch.tensor(digits.target[few])
    held = torch.arange(len(y)) % 3 == 0
    return TensorDataset(x[~held], y[~held]), (x[held], y[held])


def accuracy(post, rows):
    x, y = rows
    return (post.predict(x, draws=30).softmax(-1).mean(0).argmax(-1) == y).float().mean().item()


torch.manual_seed(0)
digits = load_digits()
few = digits.target < 5
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
upright, _ = task(0)
adam = torch.optim.Adam(model.parameters(), 1e-2)
for _ in range(20):
    for x, y in DataLoader(upright, batch_size=64, shuffle=True):
        adam.zero_grad()
        cross_entropy(model(x), y).backward()
        adam.step()

model[0], model[2] = Adapted(model[0]), Adapted(model[2])
first, second = task(45), task(90)


def learn(rows, prior=None):
    post = VIFA(model, rank=5, params=lambda name, p: "lora" in name, prior=prior)
    return post.fit(DataLoader(rows, batch_size=64, shuffle=True), epochs=500)


start = {name: p.clone() for name, p in model.state_dict().items()}
post = learn(first[0])
print(f"adapters: {post.D} of {sum(p.numel() for p in model.parameters())} parameters")
print(f"45 degrees: {accuracy(post, first[1]):.3f}")
after = learn(second[0], prior=post.gauss)
print(f"then 90 with the posterior as prior: 90 degrees {accuracy(after, second[1]):.3f}, 45 degrees {accuracy(after, first[1]):.3f}")
model.load_state_dict(start)
alone = learn(second[0])
print(f"90 alone:                            90 degrees {accuracy(alone, second[1]):.3f}, 45 degrees {accuracy(alone, first[1]):.3f}")
