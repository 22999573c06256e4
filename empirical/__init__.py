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
from empirical.diabetes import (
    GROUPS,
    RegressionTable,
    load_diabetes,
    split_features,
    split_rows,
)
from empirical.looks import look_table
from empirical.partition import (
    GRID_PLACEMENTS,
    LABEL_SPLITS,
    LabelSplit,
    Partition,
    star_partition,
)

__all__ = [
    "GRID_PLACEMENTS",
    "GROUPS",
    "LABEL_SPLITS",
    "RECIPES",
    "Classifier",
    "DataNotFound",
    "Images",
    "LabelSplit",
    "LikelihoodTable",
    "Partition",
    "Recipe",
    "RegressionTable",
    "classifier_model",
    "likelihood_table",
    "load_diabetes",
    "load_digits",
    "load_images",
    "locate",
    "look_table",
    "split_features",
    "split_rows",
    "star_partition",
]
