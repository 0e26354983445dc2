"""A parameter of one metric that a request varies."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StrictFloat, StrictInt

from gainboard.work.labels import Labels, as_value
from gainboard.work.params import Expression


class AskedSweep(BaseModel):
    """A parameter of one metric that is varied: tau against beta, tau against the log base."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        json_schema_extra={
            "examples": [{"metric": "Q", "parameter": "beta", "values": [0, 1, 10, 100, 1000], "against": ["AP", "Q"]}]
        },
    )

    metric: Expression
    parameter: Annotated[str, Field(max_length=100)]
    values: Annotated[list[str | StrictInt | StrictFloat], Field(min_length=1, max_length=200)]
    against: Annotated[list[Expression], Field(min_length=1, max_length=20)]
    labels: list[str] = Field([], description="Filled in: the metric under each value")

    def settled(self, label: Labels) -> Self:
        """The sweep with labels in the place of expressions, that of the metric without the parameter."""
        metric = label.without(self.metric, self.parameter, "sweep")
        values = [as_value(label.written(metric, self.parameter, value)) for value in self.values]
        settled = {"values": values, "labels": label.swept(metric, self.parameter, values, "sweep")}
        return self.model_copy(update={"metric": metric, "against": label.each(self.against)} | settled)
