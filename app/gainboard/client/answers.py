"""The answers with scores and results, as JSON, columns, arrays and frames. In an array, undefined is NaN."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from gainboard.api.models.scores import (
    BOARD_COLUMNS,
    COMPARE_COLUMNS,
    CompareAnswer,
    LeaderboardAnswer,
    ScoresAnswer,
    SweepAnswer,
)
from gainboard.notation.sources import Column, Framed, pandas_of, polars_of
from gainboard.notation.texts import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


# No leading zeros: `001` is a name, such as that of a topic.
_INTEGER = re.compile(r"-?(0|[1-9]\d*)\Z")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?\Z", re.IGNORECASE)

_TEXTS = ("marked", "second marked")
"""The columns of a table that hold headings, often none."""


@dataclass(frozen=True)
class Labelled:
    """Numbers with labels: `axes` are in the order of the array's axes, each with its labels."""

    values: NDArray[np.float64]
    axes: Mapping[str, Sequence[str]]

    def __repr__(self) -> str:
        return f"<Labelled: {', '.join(counted(len(labels), axis) for axis, labels in self.axes.items())}>"


class Picture(str):
    """A figure as the text of its SVG, which notebooks draw."""

    def _repr_svg_(self) -> str:
        return str(self)


def columns_of(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Column]:
    """Turn rows into columns with these names."""
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def array(rows: Sequence[Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Turn nested numbers into an array of this shape, with NaN for None."""
    import numpy as np  # noqa: PLC0415

    return np.array(rows, np.float64).reshape(shape)


class ResultTable(Framed):
    """A table of a result. `csv` is its text. A column that has only numbers is a column of numbers."""

    def __init__(self, text: str) -> None:
        self.csv = text

    def __repr__(self) -> str:
        columns = self.columns()
        rows = len(next(iter(columns.values())))
        return f"<ResultTable: {counted(rows, 'row')}, {counted(len(columns), 'column')}>"

    def columns(self) -> dict[str, Column]:
        """Return the columns by heading; an empty cell among numbers is None."""
        headings, *rows = csv.reader(io.StringIO(self.csv, newline=""))
        columns = {heading: [row[place] for row in rows] for place, heading in enumerate(headings)}
        return {heading: cells if heading in _TEXTS else parse_column(cells) for heading, cells in columns.items()}

    def to_dict(self) -> dict[str, Column]:
        """Return the columns by heading, as `columns` does."""
        return self.columns()

    def to_numpy(self) -> Labelled:
        """Return the numbers, rows x columns of numbers. A row's label is its texts; an empty cell is NaN."""
        found = self.columns()
        texts = [column for column in found.values() if _is_text(column)]
        numbers = {heading: column for heading, column in found.items() if not _is_text(column)}
        count = len(next(iter(found.values())))
        labels = [", ".join(str(column[row]) for column in texts) for row in range(count)]
        values = array(list(numbers.values()), (len(numbers), count)).T
        return Labelled(values, {"row": labels, "column": list(numbers)})


def _is_text(column: Column) -> bool:
    return any(isinstance(value, str) for value in column)


def parse_column(cells: list[str]) -> Column:
    """Return the cells as whole numbers, as numbers with None for an empty cell, or as they are.

    A column of empty cells alone is one of undefined numbers.
    """
    filled = [cell for cell in cells if cell]
    if len(filled) == len(cells) and all(map(_INTEGER.match, cells)):
        return [int(cell) for cell in cells]
    if all(map(_NUMBER.match, filled)):
        return [float(cell) if cell else None for cell in cells]
    return cells


ALL = "all"
"""The name that stands for the topic of a mean, as in CSV and in trec_eval."""


class FramedAnswer(BaseModel, Framed):
    """An answer that consists mainly of numbers. It is printed as one line with its counts."""

    collection: str

    def __repr__(self) -> str:
        counts = ", ".join(counted(number, noun) for noun, number in self._counts().items())
        return f"<{type(self).__name__} of {self.collection}: {counts}>"

    def __str__(self) -> str:
        return repr(self)

    def _counts(self) -> dict[str, int]:
        """Return how many things of each kind the answer has, by their singular."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the answer as its JSON."""
        return self.model_dump(mode="json", exclude_unset=True)


class Scores(ScoresAnswer, FramedAnswer):
    """Scores of runs: means, and the scores of single topics if they were requested."""

    def _counts(self) -> dict[str, int]:
        topics = {"topic": len(names)} if (names := self.topic_names()) else {}
        return {"run": len(self.runs), "metric": len(self.metrics)} | topics

    def topic_names(self) -> list[str]:
        """Return the topics of the answer; none if the request did not ask for topics."""
        return next((list(each) for run in self.runs for each in (run.topics or {}).values()), [])

    def to_numpy(self, *, topics: bool | None = None) -> Labelled:
        """Return the scores of topics, runs x topics x metrics, if the answer has them.

        Otherwise, or with `topics=False`, return the means, runs x metrics.
        """
        runs = [run.name for run in self.runs]
        names = self.topic_names()
        if topics if topics is not None else names:
            rows = [[[run.topics[m][t] for m in self.metrics] for t in names] for run in self.runs if run.topics]
            axes = {"run": runs, "topic": names, "metric": self.metrics}
            return Labelled(array(rows, (len(rows), len(names), len(self.metrics))), axes)
        means = [[run.mean[label] for label in self.metrics] for run in self.runs]
        return Labelled(array(means, (len(runs), len(self.metrics))), {"run": runs, "metric": self.metrics})

    def columns(self) -> dict[str, Column]:
        """Return the columns `run`, `topic`, `metric`, `value`, as in CSV. The topic of a mean is `all`."""
        rows = [
            (run.name, topic, label, value)
            for run in self.runs
            for label in self.metrics
            for topic, value in [*(run.topics or {}).get(label, {}).items(), (ALL, run.mean[label])]
        ]
        return columns_of(("run", "topic", "metric", "value"), rows)


class Leaderboard(LeaderboardAnswer, FramedAnswer):
    """Runs ranked by the mean of one metric."""

    def _counts(self) -> dict[str, int]:
        return {"run": len(self.rows), "metric": len(self.metrics)}

    def to_numpy(self) -> Labelled:
        """Return the means, runs x metrics, the best run first."""
        means = [[row.mean[label] for label in self.metrics] for row in self.rows]
        axes = {"run": [row.name for row in self.rows], "metric": self.metrics}
        return Labelled(array(means, (len(self.rows), len(self.metrics))), axes)

    def columns(self) -> dict[str, Column]:
        """Return columns `rank`, `run`, `team`, `metric`, `mean`, its interval (`low`, `high`), `groups`, `late`, and
        the rank set (`best_rank`, `worst_rank`). Each topic group of the answer has a column: `mean:NAME`. A corrected
        board has the column `uncorrected`.

        `rank`, the rank set and `groups`, which are letters, are those under `by`. The column `late` is `yes` or `no`.
        """
        groups = [str(each.name) for each in self.by_group]
        rows = [
            (row.rank, row.name, row.team, label, row.mean[label], *ends, letters, late, *places, *by_group)
            for row in self.rows
            for late, letters in [("yes" if row.late else "no", "".join(row.groups or ()))]
            for places in [row.rank_set or (None, None)]
            for label in self.metrics
            for by_group in [
                [row.uncorrected[label]] if self.corrected else [row.by_group[name][label] for name in groups]
            ]
            for ends in [row.interval[label] or (None, None)]
        ]
        more = ["uncorrected"] if self.corrected else [f"mean:{name}" for name in groups]
        return columns_of((*BOARD_COLUMNS, *more), rows)

    def to_pandas(self, *, wide: bool = False) -> Any:
        """Return the columns as a `pandas.DataFrame`; with `wide`, a row for each run. Raise MissingPackage."""
        return pandas_of(self._wide() if wide else self.columns())

    def to_polars(self, *, wide: bool = False) -> Any:
        """Return the columns as a `polars.DataFrame`; with `wide`, a row for each run. Raise MissingPackage."""
        return polars_of(self._wide() if wide else self.columns())

    def _wide(self) -> dict[str, Column]:
        """Return columns `rank`, `run`, `team`, the means under the label of each metric, and `groups`."""
        rows = [
            (row.rank, row.name, row.team, *(row.mean[label] for label in self.metrics), "".join(row.groups or ()))
            for row in self.rows
        ]
        return columns_of(("rank", "run", "team", *self.metrics, "groups"), rows)


class Comparison(CompareAnswer, FramedAnswer):
    """Pairs of runs compared topic by topic."""

    def _counts(self) -> dict[str, int]:
        pairs = len(self._pairs())
        return {**({"pair": pairs} if pairs > 1 else {}), "metric": len(self.metrics), "topic": len(self._topics())}

    def _pairs(self) -> list[str]:
        return list(dict.fromkeys(f"{each.run} - {each.baseline}" for each in self.comparisons))

    def _topics(self) -> list[str]:
        """Return the topics that count for any metric, in the order of the first comparison for which they count."""
        return list(dict.fromkeys(row.topic for each in self.comparisons for row in each.topics))

    def to_numpy(self) -> Labelled:
        """Return the differences, metrics x topics, in the order of the first metric: its largest difference first.

        With more than one pair, they are metrics x pairs x topics.
        """
        topics, pairs = self._topics(), self._pairs()
        by_topic = [{row.topic: row.difference for row in each.topics} for each in self.comparisons]
        rows = [[found.get(topic) for topic in topics] for found in by_topic]
        if len(pairs) == 1:
            return Labelled(array(rows, (len(rows), len(topics))), {"metric": self.metrics, "topic": topics})
        shape = (len(self.metrics), len(pairs), len(topics))
        return Labelled(array(rows, shape), {"metric": self.metrics, "pair": pairs, "topic": topics})

    def columns(self) -> dict[str, Column]:
        """Return the columns `topic`, `metric`, `a`, `b` (the two scores), `difference`, `run` and `baseline`."""
        rows = [
            (row.topic, each.metric, row.a, row.b, row.difference, each.run, each.baseline)
            for each in self.comparisons
            for row in each.topics
        ]
        return columns_of(COMPARE_COLUMNS, rows)


class Sweep(SweepAnswer, FramedAnswer):
    """Mean scores of runs at every point of a grid of parameters."""

    def _counts(self) -> dict[str, int]:
        return {"run": len(self.runs), "point": len(self.points)}

    def to_numpy(self) -> Labelled:
        """Return the means, runs x points."""
        means = array([run.means for run in self.runs], (len(self.runs), len(self.points)))
        return Labelled(means, {"run": [run.name for run in self.runs], "point": [each.label for each in self.points]})

    def columns(self) -> dict[str, Column]:
        """Return the columns `run`, `metric`, each parameter that a point has, and `mean`.

        A parameter with numbers is a column of numbers. It is empty for points without the parameter.
        """
        varied = list(dict.fromkeys(name for point in self.points for name in point.parameters))
        rows = [
            (run.name, point.label, *(point.parameters.get(name, "") for name in varied), mean)
            for run in self.runs
            for point, mean in zip(self.points, run.means, strict=True)
        ]
        columns = columns_of(("run", "metric", *varied, "mean"), rows)
        return columns | {name: parse_column([str(value) for value in columns[name]]) for name in varied}
