"""Columns of values as frames of pandas or polars, if these are installed: of an answer, or of scored files."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TypeAlias

from gainboard.errors import MissingPackage

Column: TypeAlias = "list[str] | list[int] | list[float | None]"


class Framed(ABC):
    """An object with columns. An undefined number is NaN in pandas and null in polars."""

    @abstractmethod
    def columns(self) -> dict[str, Column]:
        """Return the columns by name; undefined numbers are None or NaN."""

    def to_pandas(self) -> Any:
        """Return the columns as a `pandas.DataFrame`. Raise MissingPackage without pandas."""
        return pandas_of(self.columns())

    def to_polars(self) -> Any:
        """Return the columns as a `polars.DataFrame`. Raise MissingPackage without polars."""
        return polars_of(self.columns())


def pandas_of(columns: Mapping[str, Column]) -> Any:
    """Return a `pandas.DataFrame`. Raise MissingPackage without pandas."""
    return optional_package("pandas").DataFrame({name: _array_or_list(column) for name, column in columns.items()})


def polars_of(columns: Mapping[str, Column]) -> Any:
    """Return a `polars.DataFrame`. Raise MissingPackage without polars."""
    polars = optional_package("polars")
    # polars cannot tell the type of a column that is empty or has nothing but None.
    types = {str: polars.String, int: polars.Int64, float: polars.Float64}
    series = [polars.Series(name, column, types[_type_of_column(column)]) for name, column in columns.items()]
    return polars.DataFrame(series).fill_nan(None)


def optional_package(name: str) -> Any:
    """Import a package that few people have. Raise MissingPackage without it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingPackage(f"{name} is not installed here. Run: pip install {name}") from error


def _type_of_column(column: Column) -> type[str] | type[int] | type[float]:
    kinds = {type(value) for value in column} - {type(None)}
    if str in kinds:
        return str
    return int if kinds == {int} and None not in column else float


def _array_or_list(column: Column) -> Any:
    if _type_of_column(column) is not float:
        return column
    import numpy as np  # noqa: PLC0415

    return np.array([math.nan if value is None else value for value in column], np.float64)
