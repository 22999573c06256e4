"""What a run of GAE does, and where each choice is from.

``[P]`` is printed in the paper; ``[C]`` was read off the code that its authors published, which may
differ from what made the print; ``ours`` neither says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import ceil
from types import MappingProxyType
from typing import Any

from theory.validation import as_integer, fail

SPLITS = ("balanced", "unbalanced", "unbalanced-all")
EXCHANGES = ("none", "full", "pruned", "autoencoder", "spline", "codec")
NEIGHBOURS = ("fixed", "random")
MERGES = ("zeros", "masked")
PRODUCTS = ("highest", "medium", "bfloat16")

ORIGINS: Mapping[str, str] = MappingProxyType(
    {
        "nodes": "[P] 1, 4 and 16, on a ring",
        "split": "[P] in outline; [C] consecutive chunks, or 8 digits each and ⌊5421/M⌋ images of "
        "each; 'unbalanced-all' is ours: every image is dealt to who holds its digit",
        "exchange": "[P] pruned and autoencoder; full is [P] in bits alone; none, spline and "
        "codec: ours",
        "codec": "ours: how messages are written where the exchange is 'codec'",
        "rounds": "[P]",
        "every": "[P] 1; more are ours",
        "closing": "[P] none; ours",
        "closing_codec": "ours: how messages are written after the last round, if otherwise",
        "mixing": "[P] α = .5, in θ ← (1 − α) θ + α received",
        "kept": "[P] N_p",
        "exact": "[P] w; [C] the w lowest and the w highest, where the text says the 2w largest",
        "latent": "[P] N_l",
        "neighbour": "[C] m → m + 1, 'fixed'; [P] one incoming edge at random, 'random'",
        "merge": "[C] 'zeros': what is not sent counts as 0; 'masked', ours: it stays as it is",
        "aliased": "[C] the sender is pruned in place, and node 0 merges into pruned weights: a "
        "bug; off here unless asked for",
        "batch": "[C]",
        "dropout": "[C] after the max-pool; not in the paper's figure of the net",
        "rate": "[P] Adam; [C] with its library's defaults",
        "first_decay": "[C] the library's default",
        "second_decay": "[C] the library's default",
        "epsilon": "[C] the library's default, which is added to the root before its bias is "
        "corrected",
        "moments": "[C] Adam's moments survive merging",
        "products": "ours: float32, 'highest', or factors rounded on the way, 'bfloat16'",
    }
)
"""Every field's origin."""


@dataclass(frozen=True)
class Recipe:
    """One run of GAE.

    Attributes
    ----------
    nodes
        How many, M. One node exchanges nothing.
    split
        Who holds which images: one of SPLITS.
    exchange
        What is sent: one of EXCHANGES.
    codec
        Words of a codec, as ``{"codec": "topk", "share": 0.1}``; of the exchange "codec", and of no
        other.
    rounds
        T; in each, a node goes once over its images.
    every
        Rounds from one exchange to the next; nodes exchange after rounds that it divides.
    closing
        Further exchanges after the last round, one after another.
    closing_codec
        Words of the codec that writes their messages, if it is another; it goes on with what
        `codec` remembers.
    mixing
        α in (0, 1].
    kept, exact, latent
        N_p weights that are kept; w values at each end that are sent as they are; N_l numbers
        for those between.
    neighbour
        Whom a node hears: one of NEIGHBOURS.
    merge
        What becomes of weights that are not sent: one of MERGES.
    aliased
        Whether node 0 merges into its own *pruned* weights.
    batch
        Images a step; the last step of a round takes what is left.
    dropout
        Share of what the max-pool leaves that is set to 0, a multiple of 1/256.
    rate, first_decay, second_decay, epsilon, moments
        Adam's; `moments`: what becomes of its moments in a merge, ``"kept"``.
    products
        What training multiplies by: one of PRODUCTS (:func:`empirical.kernels.products.products`).

    Raises
    ------
    ValueError
        If a value is out of range; in one line.
    """

    nodes: int = 4
    split: str = "balanced"
    exchange: str = "autoencoder"
    codec: Mapping[str, Any] | None = None
    rounds: int = 300
    every: int = 1
    closing: int = 0
    closing_codec: Mapping[str, Any] | None = None
    mixing: float = 0.5
    kept: int = 50_000
    exact: int = 250
    latent: int = 50
    neighbour: str = "fixed"
    merge: str = "zeros"
    aliased: bool = False
    batch: int = 2048
    dropout: float = 0.25
    rate: float = 1e-3
    first_decay: float = 0.9
    second_decay: float = 0.999
    epsilon: float = 1e-7
    moments: str = "kept"
    products: str = "highest"

    def __post_init__(self) -> None:
        for name in ("nodes", "rounds", "every", "batch", "kept", "latent"):
            as_integer(name, getattr(self, name), minimum=1)
        for name in ("exact", "closing"):
            as_integer(name, getattr(self, name), minimum=0)
        for name, known in (
            ("split", SPLITS), ("exchange", EXCHANGES), ("neighbour", NEIGHBOURS),
            ("merge", MERGES), ("moments", ("kept",)), ("products", PRODUCTS),
        ):  # fmt: skip
            if getattr(self, name) not in known:
                wanted = " or ".join(map(repr, known))
                raise fail(name, wanted, repr(getattr(self, name)), "choose one of them")
        if isinstance(self.codec, Mapping) != (self.exchange == "codec"):
            wanted = "the words of a codec with the exchange 'codec', and with no other"
            got = f"{self.codec!r} with {self.exchange!r}"
            raise fail("codec", wanted, got, "such as {'codec': 'topk', 'share': 0.1}")
        if self.closing_codec is not None and (self.codec is None or not self.closing):
            wanted = "none without the exchange 'codec' and closing exchanges"
            raise fail("closing_codec", wanted, self.closing_codec, "leave it out")
        if not 0.0 < self.mixing <= 1.0:
            wanted = "a number above 0 and at most 1"
            raise fail("mixing", wanted, self.mixing, "give α, the weight of what is received")
        if not (0.0 <= self.dropout < 1.0 and (256 * self.dropout).is_integer()):
            wanted = "a multiple of 1/256 from 0 to below 1"
            raise fail("dropout", wanted, self.dropout, "give such a share, as 0.25")
        if 2 * self.exact >= self.kept:
            wanted = f"at most {(self.kept - 1) // 2}, so that some of {self.kept} are left"
            raise fail("exact", wanted, self.exact, "send fewer values as they are")

    @property
    def exchanges(self) -> int:
        """How many there are in a run."""
        return self.rounds // self.every + self.closing

    def steps(self, images: int) -> int:
        """Steps of a node with so many images in a round."""
        return ceil(images / self.batch)

    def as_json(self) -> dict[str, Any]:
        """All choices, in plain values; some of ours only where they are not what the paper has.

        So that records from before there were any others stay valid.
        """
        ours = ("codec", "every", "closing", "closing_codec", "products")
        plain = {field.name: field.default for field in fields(self) if field.name in ours}
        own = asdict(self)
        return {name: own[name] for name in own if (name, own[name]) not in plain.items()}


if {field.name for field in fields(Recipe)} != ORIGINS.keys():
    raise AssertionError("a choice without an origin")
