"""Answers as columns, and as the frames of pandas and polars, where these are installed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias

from gainboard.client.errors import MissingPackage

if TYPE_CHECKING:  # commands use the client and no array: NumPy would take a third of the time of their start
    import numpy as np
    from numpy.typing import NDArray

Column: TypeAlias = "list[str] | list[int] | list[float | None]"


@dataclass(frozen=True)
class Labelled:
    """Numbers with the names of what they are about: `axes` in the order of the array's, each with its labels."""

    values: NDArray[np.float64]
    axes: Mapping[str, Sequence[str]]


class Framed:
    """What has columns. An undefined number is NaN in pandas and null in polars."""

    def columns(self) -> dict[str, Column]:
        """The columns by name; undefined numbers are None."""
        raise NotImplementedError

    def to_pandas(self) -> Any:
        """The columns as a `pandas.DataFrame`; raises MissingPackage without pandas."""
        return _package("pandas").DataFrame({name: _array(column) for name, column in self.columns().items()})

    def to_polars(self) -> Any:
        """The columns as a `polars.DataFrame`; raises MissingPackage without polars."""
        polars = _package("polars")
        types = {str: polars.String, int: polars.Int64, float: polars.Float64}
        return polars.DataFrame(
            [polars.Series(name, column, types[_kind(column)]) for name, column in self.columns().items()]
        )


def columns_of(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Column]:
    """Rows as columns of these names."""
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def array(rows: Sequence[Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Nested numbers as an array of this shape, None as NaN."""
    import numpy as np  # noqa: PLC0415

    return np.array(rows, np.float64).reshape(shape)


def _kind(column: Column) -> type[str] | type[int] | type[float]:
    kinds = {type(value) for value in column} - {type(None)}
    if str in kinds:
        return str
    return int if kinds == {int} and None not in column else float


def _array(column: Column) -> Any:
    if _kind(column) is not float:
        return column
    import numpy as np  # noqa: PLC0415

    return np.array([math.nan if value is None else value for value in column], np.float64)


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackage(f"{name} is not installed where this runs: `pip install {name}`.") from error
