"""Measurements on real images: data, who holds them, and trained classifiers as hypotheses.

Importing this package loads neither a learning library nor a data set; functions do so when called.
Networks of neural nets live in :mod:`empirical.nets`, which needs torch.
"""

from typing import TYPE_CHECKING

from theory.lazy import show_lazily

if TYPE_CHECKING:
    from empirical.classifiers import (
        RECIPES,
        Classifier,
        LikelihoodTable,
        Recipe,
        classifier_model,
        likelihood_table,
        look_table,
    )
    from empirical.data import DataNotFound, Images, load_digits, load_images, locate
    from empirical.dealing import (
        DEALINGS,
        ByLabels,
        Dealing,
        Evenly,
        Informative,
        Shards,
        held_labels,
        stratified_subset,
    )
    from empirical.diabetes import (
        GROUPS,
        RegressionTable,
        load_diabetes,
        split_features,
        split_rows,
    )
    from empirical.partition import (
        GRID_PLACEMENTS,
        LABEL_SPLITS,
        LabelSplit,
        Partition,
        star_partition,
    )
else:
    show_lazily(__name__)

__all__ = [
    "DEALINGS",
    "GRID_PLACEMENTS",
    "GROUPS",
    "LABEL_SPLITS",
    "RECIPES",
    "ByLabels",
    "Classifier",
    "DataNotFound",
    "Dealing",
    "Evenly",
    "Images",
    "Informative",
    "LabelSplit",
    "LikelihoodTable",
    "Partition",
    "Recipe",
    "RegressionTable",
    "Shards",
    "classifier_model",
    "held_labels",
    "likelihood_table",
    "load_diabetes",
    "load_digits",
    "load_images",
    "locate",
    "look_table",
    "split_features",
    "split_rows",
    "star_partition",
    "stratified_subset",
]
