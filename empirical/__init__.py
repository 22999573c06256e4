"""Measurements on real images: data, who holds them, and trained classifiers as hypotheses.

Importing this floor loads neither a learning library nor a data set; functions do so when called.
"""

from empirical.classifiers import (
    RECIPES,
    Classifier,
    LikelihoodTable,
    Recipe,
    classifier_model,
    likelihood_table,
)
from empirical.data import DataNotFound, Images, load_digits, load_images, locate
from empirical.partition import (
    GRID_PLACEMENTS,
    LABEL_SPLITS,
    LabelSplit,
    Partition,
    star_partition,
)

__all__ = [
    "GRID_PLACEMENTS",
    "LABEL_SPLITS",
    "RECIPES",
    "Classifier",
    "DataNotFound",
    "Images",
    "LabelSplit",
    "LikelihoodTable",
    "Partition",
    "Recipe",
    "classifier_model",
    "likelihood_table",
    "load_digits",
    "load_images",
    "locate",
    "star_partition",
]
