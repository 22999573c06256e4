"""The rounds of one run of `gae`: images dealt, nodes trained, test images looked at.

Everything that needs torch is imported when a part is run.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from empirical import Images
from peerbayes.experiments.gae_rows import GaeClosing, looks
from peerbayes.experiments.setting import Setting
from theory.progress import Progress

if TYPE_CHECKING:
    from empirical.gae.recipe import Recipe
    from empirical.gae.rounds import Nodes, Split
    from empirical.keeping import Generations

# Purposes of random numbers that all runs of a seed share.
_BEGINNING, _DEALING = 4, 5
# First word of the names that codecs' memories are kept by.
_MEMORY = "memory"


def follow_gae(
    recipe: Recipe,
    images: Images,
    tested: Images,
    *,
    seed: int,
    setting: Setting,
    autoencoder: Path | None,
    generations: Generations | None = None,
    progress: Progress | None = None,
) -> Seen:
    """Deal the images, train by a recipe to its last round, and look on.

    Parameters
    ----------
    images, tested
        To learn from, and to look at.
    autoencoder
        The file of a trained one, where the exchange needs it.
    generations
        Where unfinished states are kept, and taken up if the setting says so; None: nowhere.

    Raises
    ------
    ValueError
        If the images cannot be dealt so, the autoencoder is of another recipe, or training breaks
        down.
    """
    from empirical.gae.local import stream
    from empirical.gae.net import initial
    from empirical.gae.passes import passes
    from empirical.gae.rounds import closing_coder_of, coder_of, split_of

    split = split_of(recipe.split, images.labels, recipe.nodes, stream(seed, _DEALING))
    begin = initial(stream(seed, _BEGINNING))
    coder = coder_of(recipe, begin, autoencoder=autoencoder)
    course = _Course(
        recipe, passes(images, device=setting.device), passes(tested, device=setting.device),
        split, coder, closing_coder_of(recipe, begin, coder), len(tested), seed, setting.workers,
    )  # fmt: skip
    return course.follow(begin.to(setting.device), generations, setting.resume, progress)


class Seen:
    """What a run has shown so far.

    Attributes
    ----------
    nodes, split
        Where training stands; who holds which images.
    rounds, accuracies
        Rounds that were looked at; then of each node.
    closing
        Looks between exchanges after the last round.
    seconds
        Of training and exchange.
    """

    def __init__(self, nodes: Nodes, split: Split) -> None:
        self.nodes, self.split = nodes, split
        self.rounds: list[int] = []
        self.accuracies: list[list[float]] = []
        self.closing: list[GaeClosing] = []
        self.seconds = 0.0


class _Course:
    """The rounds of one run, with looks at test images and states to go on from."""

    def __init__(
        self,
        recipe: Recipe,
        images: Any,
        tested: Any,
        split: Split,
        coder: Any,
        closing_coder: Any,
        test_images: int,
        seed: int,
        workers: int,
    ) -> None:
        self.recipe, self.images, self.tested, self.split = recipe, images, tested, split
        self.coder, self.closing_coder = coder, closing_coder
        self.test_images, self.seed, self.workers = test_images, seed, workers

    def follow(
        self,
        begin: Any,
        generations: Generations | None,
        resume: bool,
        progress: Progress | None,
    ) -> Seen:
        from empirical.gae.rounds import Nodes, one_round

        seen = Seen(Nodes.begin(begin, self.recipe.nodes), self.split)
        if generations is not None and resume:
            _take_up(seen, generations, str(begin.device))
        due = set(looks(self.recipe.rounds))
        between = {0, *looks(self.recipe.closing)}

        def look(exchanges: int) -> None:
            if exchanges in between:
                began = time.perf_counter()
                right, sent = self._right(seen), sum(seen.nodes.sent_bits)
                seen.closing.append(
                    GaeClosing(exchanges=exchanges, accuracies=right, sent_bits=sent)
                )
                seen.seconds -= time.perf_counter() - began

        for done in range(len(seen.nodes.losses) + 1, self.recipe.rounds + 1):
            start = time.perf_counter()
            one_round(
                seen.nodes, self.images, self.split.shares, self.coder, self.recipe,
                seed=self.seed, workers=self.workers, closing_coder=self.closing_coder, look=look,
            )  # fmt: skip
            seen.seconds += time.perf_counter() - start
            if done in due:
                seen.rounds.append(done)
                seen.accuracies.append(self._right(seen))
            if progress is not None:
                progress(done, self.recipe.rounds)
            if generations is not None and done < self.recipe.rounds and generations.due():
                _keep(seen, generations, done, self.recipe.rounds)
        return seen

    def _right(self, seen: Seen) -> list[float]:
        """Each node's accuracy now."""
        from empirical.gae.rounds import accuracies

        return accuracies(seen.nodes, self.tested, self.test_images, workers=self.workers)


def _keep(seen: Seen, generations: Generations, done: int, rounds: int) -> None:
    nodes = seen.nodes
    tensors = {
        "weights": nodes.weights, "first": nodes.moments.first, "second": nodes.moments.second,
        "steps": nodes.moments.steps,
    }  # fmt: skip
    for node, memory in enumerate(nodes.memories):
        tensors |= {f"{_MEMORY}.{node}.{name}": values for name, values in memory.items()}
    words = {
        "losses": nodes.losses, "looks": seen.rounds, "accuracies": seen.accuracies,
        "seconds": seen.seconds, "rounds": rounds, "sent_bits": nodes.sent_bits,
    }  # fmt: skip
    generations.save(done, tensors, words)


def _take_up(seen: Seen, generations: Generations, device: str) -> None:
    from empirical.gae.adam import Moments
    from empirical.gae.rounds import Nodes

    kept = generations.load()
    if kept is None:
        return
    own = {name: kept.tensors[name].to(device) for name in ("weights", "first", "second")}
    moments = Moments(own["first"], own["second"], kept.tensors["steps"])
    memories: list[dict[str, Any]] = [{} for _ in own["weights"]]
    for key, values in kept.tensors.items():
        if key.startswith(_MEMORY):
            _, node, name = key.split(".", 2)
            memories[int(node)][name] = values
    seen.nodes = Nodes(
        own["weights"], moments, kept.words["losses"], memories=memories,
        sent_bits=kept.words["sent_bits"],
    )  # fmt: skip
    seen.rounds, seen.accuracies = kept.words["looks"], kept.words["accuracies"]
    seen.seconds = kept.words["seconds"]
