"""The one array type that passes between kernels and their callers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
"""float64, one value for each topic, document found or run and topic, as the docstrings say."""
