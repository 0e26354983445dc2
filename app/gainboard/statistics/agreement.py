"""Whether the sign test, the minority rate and the swap rate agree on which pairs of runs differ most surely."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats

Values = Floats | NDArray[np.int64]

AGREEMENTS: Final = ("sign-minority", "sign-swap", "minority-swap")


def list_agreement(first: Values, second: Values) -> float:
    """Kendall's tau-b between two lists of the same pairs of runs, each in order of its values; NaN if one is constant.

    Values are equal if they agree to 12 digits, so that neither noise nor smallness decides about ties.
    """
    # SciPy takes longer to load than the rest of the server together.
    from scipy.stats import kendalltau  # noqa: PLC0415

    return float(kendalltau(_digits(first), _digits(second)).statistic)


def agreements(asl: Floats, minority: Values, swaps: Values) -> Mapping[str, float]:
    """`list_agreement` of each two of three lists: ASLs of the sign test, min(GT, LT), and swaps over all bins."""
    return dict(
        zip(
            AGREEMENTS,
            (list_agreement(asl, minority), list_agreement(asl, swaps), list_agreement(minority, swaps)),
            strict=True,
        )
    )


def _digits(values: Values) -> Floats:
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    return np.asarray(np.ldexp(np.round(mantissa, 12), exponent))
