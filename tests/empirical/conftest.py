"""Data that several files train on; nets are left out where the libraries they need are missing."""

from importlib.util import find_spec
from typing import Any

import pytest

from empirical import Images, load_digits, star_partition
from empirical.forecast import Site
from theory import Network

if not all(map(find_spec, ("torch", "safetensors", "pywt"))):
    collect_ignore = ["gae", "live", "messages", "nets", "train"]


@pytest.fixture(scope="session")
def digits() -> Images:
    """Small images that are always there."""
    return load_digits()


@pytest.fixture(scope="session")
def site(digits: Images) -> Site:
    """A star whose centre holds most labels and whose edges share two."""
    split = star_partition(digits.labels, centre_labels=range(2, 10), edge_labels=[0, 1], seed=0)
    return Site(Network.from_topology("star", agents=9, edge_confidence=0.5), split)


@pytest.fixture(scope="session")
def dealt(digits: Images, site: Site) -> Any:
    """The star's images as flat inputs, for nets."""
    from empirical.nets.shares import Shares

    return Shares.from_images(digits, site.partition, input_shape=(64,))
