"""Modules as their authors write them, small enough for tests; all with three outputs."""

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.first = nn.Conv2d(before, after, 3, stride, 1, bias=False)
        self.first_norm = nn.GroupNorm(2, after)
        self.second = nn.Conv2d(after, after, 3, 1, 1, bias=False)
        self.second_norm = nn.GroupNorm(2, after)
        same = stride == 1 and before == after
        self.short = nn.Identity() if same else nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, x):
        y = functional.relu(self.first_norm(self.first(x)))
        return functional.relu(self.short(x) + self.second_norm(self.second(y)))


class ResNet20(nn.Module):
    """Three stages of three blocks (He et al. 2016), with GroupNorm."""

    def __init__(self, width=4):
        super().__init__()
        self.stem = nn.Conv2d(3, width, 3, padding=1, bias=False)
        blocks = []
        for stage in range(3):
            for index in range(3):
                before = width * 2 ** (stage - (index == 0 and stage > 0))
                stride = 2 if index == 0 and stage > 0 else 1
                blocks.append(Block(before, width * 2**stage, stride))
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(4 * width, 3)

    def forward(self, x):
        return self.head(self.blocks(functional.relu(self.stem(x))).mean(dim=(2, 3)))


class Transformer(nn.Module):
    def __init__(self, dropout=0.0):
        super().__init__()
        self.tokens = nn.Embedding(11, 8)
        self.register_buffer("places", torch.linspace(-1, 1, 6)[:, None].repeat(1, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 16, dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        return self.head(self.encoder(self.tokens(x) + self.places).mean(dim=1))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(4, 5, batch_first=True)
        self.head = nn.Linear(5, 3)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1])


class Tabular(nn.Module):
    """Two numbers, and a third that numbers a category."""

    def __init__(self):
        super().__init__()
        self.category = nn.Embedding(5, 4)
        self.rest = nn.Sequential(nn.Linear(6, 8), nn.SiLU(), nn.LayerNorm(8), nn.Linear(8, 3))

    def forward(self, x):
        return self.rest(torch.cat([x[:, :2], self.category(x[:, 2].long())], dim=1))


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 6), nn.Tanh())
        self.classes, self.number = nn.Linear(6, 2), nn.Linear(6, 1)

    def forward(self, x):
        y = self.trunk(x)
        return {"classes": self.classes(y), "number": self.number(y)[:, 0]}


class Tied(nn.Module):
    """One matrix used twice, under two names."""

    def __init__(self):
        super().__init__()
        self.into = nn.Linear(4, 4)
        self.again = nn.Linear(4, 4)
        self.again.weight = self.into.weight
        self.head = nn.Linear(4, 3)

    def forward(self, x):
        return self.head(torch.tanh(self.again(torch.tanh(self.into(x)))))


class Branching(nn.Module):
    """Control flow that depends on data: vmap cannot go there."""

    def __init__(self):
        super().__init__()
        self.low, self.high = nn.Linear(4, 3), nn.Linear(4, 3)

    def forward(self, x):
        rows = [self.high(row) if float(row[0]) > 0 else self.low(row) for row in x]
        return torch.stack(rows)


class Unused(nn.Module):
    """A weight on which nothing depends."""

    def __init__(self):
        super().__init__()
        self.used, self.idle = nn.Linear(4, 3), nn.Linear(4, 2)

    def forward(self, x):
        return self.used(x)


class Frozen(nn.Module):
    """Features that stay, and a head that is trained."""

    def __init__(self):
        super().__init__()
        self.features, self.head = nn.Linear(4, 6), nn.Linear(6, 3)
        self.features.requires_grad_(False)

    def forward(self, x):
        return self.head(torch.sigmoid(self.features(x)))


def perceptron():
    return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))


def convolutional():
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Sequential(nn.Conv2d(4, 3, 2), nn.MaxPool2d(2), nn.ReLU()),
        nn.Flatten(),
        nn.Linear(12, 5),
        nn.ReLU(),
        nn.Linear(5, 3),
    )


# Name, how to build it, the shape of an input, the ways it can go.
KERNELS, TOGETHER, ALONE = "kernels", "together", "one by one"
ALL_WAYS = (KERNELS, TOGETHER, ALONE)


def some(*shape, seed=0):
    """Four inputs of a shape."""
    return torch.randn(4, *shape, generator=torch.Generator().manual_seed(seed))


MODULES = {
    "perceptron": (perceptron, (4,), ALL_WAYS),
    "convolutional": (convolutional, (2, 10, 11), ALL_WAYS),
    "ResNet-20": (ResNet20, (3, 8, 8), (TOGETHER, ALONE)),
    "transformer": (Transformer, (6,), (TOGETHER, ALONE)),
    "GRU": (Recurrent, (7, 4), (ALONE,)),
    "tabular": (Tabular, (3,), (TOGETHER, ALONE)),
    "two heads": (TwoHeads, (4,), (TOGETHER, ALONE)),
    "tied": (Tied, (4,), (TOGETHER, ALONE)),
    "branching": (Branching, (4,), (ALONE,)),
    "unused": (Unused, (4,), (TOGETHER, ALONE)),
    "frozen": (Frozen, (4,), (TOGETHER, ALONE)),
}


def inputs_for(name, *shape, seed=0):
    """Random inputs of shape (*shape, …) that a module takes."""
    generator = torch.Generator().manual_seed(seed)
    own = MODULES[name][1]
    if name == "transformer":
        return torch.randint(11, (*shape, *own), generator=generator)
    found = torch.randn(*shape, *own, generator=generator)
    if name == "tabular":
        found[..., 2] = torch.randint(5, shape, generator=generator)
    return found
