"""What images look like to the simplest of classifiers.

The *look* of an image is the class whose mean image is nearest to it, pixel by pixel. The table of
looks, q[y, x] = the share of class y's images that look like class x, says how much alike classes
are before anything finer than a mean image is learnt. No random number is involved.
"""

from __future__ import annotations

import numpy as np

from empirical.data import Images
from empirical.partition import in_proportion
from theory.validation import IntArray, fail


def look_table(images: Images, *, per: int = 1000) -> IntArray:
    """Shares of looks, shape (classes, classes), as whole numbers of which each row sums to `per`.

    Row y counts class y's images by the class of the nearest mean image, and is rounded by the
    method of largest remainders.

    Raises
    ------
    ValueError
        If a class has no image, or `per` is less than 1.

    Examples
    --------
    >>> from empirical import load_digits
    >>> table = look_table(load_digits())
    >>> table.sum(axis=1).tolist() == [1000] * 10, int(table[4, 4])
    (True, 928)
    """
    if per < 1:
        raise fail("per", "a whole number of at least 1", per, "use 1000")
    classes = len(images.classes)
    present = np.bincount(images.labels, minlength=classes)
    if (present == 0).any():
        raise fail(
            "images",
            "images of every class",
            f"none of class {int(present.argmin())}",
            "use images of all classes",
        )
    pixels = images.pixels.reshape(len(images), -1).astype(np.float64)
    # Sums of whole numbers below 2^53: exact, so that the means are the same on every machine.
    sums = np.array([pixels[images.labels == y].sum(axis=0) for y in range(classes)])
    means = sums / present[:, None]
    # ‖pixels − mean‖² less ‖pixels‖², which is the same for every mean.
    distances = (means * means).sum(axis=1) - 2 * pixels @ means.T
    looks = distances.argmin(axis=1)
    counts = np.array(
        [np.bincount(looks[images.labels == y], minlength=classes) for y in range(classes)]
    )
    return np.array([in_proportion(row, per) for row in counts])
