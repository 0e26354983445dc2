"""The array type of scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
"""A float64 array. Each docstring gives its shape: by topic, by document found, or by run and topic."""
