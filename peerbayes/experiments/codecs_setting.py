"""Whose messages `codecs` tries which codecs on, as frozen configurations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Contender:
    """A codec of beliefs with its settings.

    Attributes
    ----------
    family
        What it shares a curve with.
    setting
        What it differs in from others of its family, in words; empty where it has none beside it.
    words
        Of the codec (``empirical.messages.codecs.codec_from_words``).
    in_quick
        Whether a quick run has it.
    """

    family: str
    setting: str
    words: Mapping[str, Any]
    in_quick: bool = True


def _contenders() -> tuple[Contender, ...]:
    def stepped(step: float, **words: Any) -> dict[str, Any]:
        return {**words, "inner": {"codec": "quantised", "step": step}}

    steps, kinds = (0.08, 0.125, 0.25, 0.5, 1.0, 2.0), ("float32", "float16", "bfloat16")
    relative, shares = (0.01, 0.05, 0.2, 0.5), (0.03, 0.1, 0.3)
    difference = {"codec": "difference", "mixing": 1.0}
    found = [Contender("posterior", f"step {s}", {"codec": "posterior", "step": s}) for s in steps]
    found += [
        Contender("samples", f"width {w}", {"codec": "samples", "width": w}, in_quick=w == 0.5)
        for w in (0.3, 0.5, 1.0)
    ]
    found += [
        Contender("difference + quantised", f"step {s}", stepped(s, **difference)) for s in relative
    ]
    found += [
        Contender(f"difference + {inner}", "", {**difference, "inner": inner})
        for inner in ("sign", "topk")
    ]
    found.append(Contender("replica + quantised", "step 0.2", stepped(0.2, codec="replica")))
    found += [
        Contender("quantised", f"step {s}", {"codec": "quantised", "step": s}) for s in relative
    ]
    found.append(Contender("quantised", "Lloyd", {"codec": "quantised", "kind": "lloyd"}))
    found += [Contender("topk", f"share {s}", {"codec": "topk", "share": s}) for s in shares]
    found += [Contender(name, "", {"codec": name}) for name in ("wavelet", "seeds", "sign")]
    found += [Contender("low-rank", f"rank {r}", {"codec": "low-rank", "rank": r}) for r in (1, 4)]
    return (*found, *(Contender("plain", kind, {"codec": "plain", "kind": kind}) for kind in kinds))


CONTENDERS: tuple[Contender, ...] = _contenders()
"""All codecs of beliefs, some with several settings."""


@dataclass(frozen=True)
class CodecSetting:
    """Whose messages codecs are tried on.

    Attributes
    ----------
    dataset
        ``"digits"``, which come with scikit-learn, or a name in `empirical.data.CHECKSUMS`.
    hidden
        Widths of the hidden layers.
    rounds
        The message of this round is measured; those before are said before it.
    local_steps, batch
        Of the training between two messages.
    data
        Folder of the images; it changes no number.
    """

    dataset: str = "fashion-mnist"
    hidden: tuple[int, ...] = (200, 200)
    rounds: int = 6
    local_steps: int = 50
    batch: int = 50
    learner: str = "natural-gradient"
    data: Path | None = None

    def content(self) -> dict[str, Any]:
        """Everything but the folder, in plain values."""
        return {k: v for k, v in asdict(self).items() if k != "data"}


QUICK = CodecSetting("digits", (128, 64), local_steps=10, batch=20)
"""A small net on digits."""
