"""The papers' experiments with nets in a second: 8 x 8 digits, nets of eight units, few steps.

    python -m tests.peerbayes.tiny_nets campaign …

is the command line with all of it tiny, worker processes included.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from peerbayes.experiments.net_rows import ROWS, Row, part_values
from peerbayes.experiments.registry import NetExperiment
from peerbayes.experiments.tuned_search import COURSES, Course

SetAttribute = Callable[[str, Any], None]
EXPERIMENTS = "peerbayes.experiments"


def make_tiny(change: SetAttribute, *, rounds: int = 4) -> None:
    """Replace data, nets and recipes; `change` sets what stands at a dotted name."""
    from empirical.data import Images, load_digits

    images = load_digits()
    test = Images(images.pixels[:300], images.labels[:300], "digits", images.classes, 16)

    def tiny(row: Row, part: Any, *, is_quick: bool) -> dict[str, Any]:
        values = part_values(row, part, is_quick=True)
        some = 10 if "rotating_star" in row.variants[0].network else rounds
        return values | {"rounds": some, "rounds_run": some}

    small = {name: replace(row, hidden=(8,)) for name, row in ROWS.items()}
    _tiny_comparisons(change, images, test, small)
    change(f"{EXPERIMENTS}.net_run.images_of", lambda *arguments: (images, test))
    change(
        "empirical.data.load_images",
        lambda name, *, split, directory: (images, test)[split == "test"],
    )
    change("empirical.data.locate", lambda *arguments, **options: Path())
    for module in ("net_run", "registry", "campaign_plan"):
        change(f"{EXPERIMENTS}.{module}.part_values", tiny)
    change(f"{EXPERIMENTS}.campaign_plan.ROWS", small)
    change(f"{EXPERIMENTS}.find_experiment", lambda name: NetExperiment(small[name], seeds=2))


def _tiny_comparisons(change: SetAttribute, images: Any, test: Any, small: dict[str, Row]) -> None:
    """The same of `tuned`; images upside down are of another kind."""
    from empirical.data import Images
    from empirical.train.comparing import SplitImages

    others = Images(test.pixels[:, ::-1], test.labels, "digits", test.classes, 16)
    split = SplitImages(images, test, others)
    courses = dict.fromkeys(COURSES, (Course(2, 10, 10, 10),))
    change(f"{EXPERIMENTS}.tuned.split_images", lambda *arguments: split)
    for module in ("tuned_search", "campaign_plan"):
        change(f"{EXPERIMENTS}.{module}.COURSES", courses)


def set_attribute(place: str, value: Any) -> None:
    """Set what stands at a dotted name, such as ``package.module.name``."""
    from importlib import import_module

    module, _, name = place.rpartition(".")
    setattr(import_module(module), name, value)


def main() -> int:
    """The command line, or a worker of a campaign, with everything tiny."""
    make_tiny(set_attribute, rounds=60)
    # A state is kept after every round, so that a run killed at any moment has one to go on from.
    set_attribute("exact.checkpoint.EVERY_SECONDS", 0.0)
    set_attribute("exact.checkpoint.SHARE", 0)
    worker = (sys.executable, "-m", __spec__.name, "worker")
    set_attribute(f"{EXPERIMENTS}.campaign.WORKER", worker)
    if sys.argv[1] == "worker":
        from peerbayes.experiments import campaign

        del sys.argv[1]
        return campaign.main()
    from peerbayes.cli import main as command

    return command()


if __name__ == "__main__":
    sys.exit(main())
