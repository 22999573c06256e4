"""The tables that problems are made of are those of the published images."""

import numpy as np
import pytest

from empirical.classifiers import look_table
from empirical.data import DataNotFound, load_images
from peerbayes.problem.builtins.label_partitions import LABELS, LOOKS


@pytest.mark.parametrize("dataset", sorted(LOOKS))
def test_stored_tables_are_those_of_the_published_images(dataset: str) -> None:
    assert len(LABELS[dataset]) == 10
    try:
        images = load_images(dataset)
    except DataNotFound:
        pytest.skip(f"{dataset} is not here")
    np.testing.assert_array_equal(look_table(images), LOOKS[dataset])
