"""Topic set size designs: requests and answers."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from gainboard.api.models.answers import Model
from gainboard.notation.types import JsonBody

DesignMethod = Literal["t-test", "anova", "interval"]


class KnownVariance(JsonBody):
    """The variance of scores in one collection, to be pooled with others."""

    variance: float
    degrees_of_freedom: int = Field(description="Runs x (topics - 1)")


class AskedDesign(JsonBody):
    """A request for a design. `t-test` and `anova` need `difference`, `anova` also `runs`; `interval` needs `width`.

    `t-test` and `interval` take one of `variance` and `difference_variance`, and `anova` takes `variance`.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"method": "t-test", "difference": 0.1, "variance": 0.05}]}
    )

    method: DesignMethod = Field(
        description="What should succeed: the paired t-test of two runs, the analysis of variance of several, or a "
        "narrow confidence interval of the difference of two runs"
    )
    difference: float | None = Field(
        None,
        description="The smallest difference of means to find; for `anova`, that of the best and the worst",
    )
    width: float | None = Field(None, description="The wanted width of the interval, with level 1 - alpha")
    variance: float | Annotated[list[KnownVariance], Field(min_length=1, max_length=100)] | None = Field(
        None,
        description="Variance of scores within runs, as a job of kind `topic-set-size` reports it; those of several "
        "collections are pooled by their degrees of freedom",
    )
    difference_variance: float | None = Field(
        None, description="Variance of the differences of two runs by topic; twice `variance` if that is given"
    )
    runs: int | None = Field(None, description="Number of runs that are compared")
    alpha: float = Field(0.05, description="Significance level")
    power: float | None = Field(
        None, description="Probability with which the difference should be found; 0.8 by default"
    )


class ShownDesign(Model):
    """The smallest number of topics that is enough (Sakai, Information Retrieval Journal 19(3), 2016)."""

    method: str
    topics: int
    power: float | None = Field(description="The power with so many topics; null for `interval`")
    width: float | None = Field(description="The expected width of the interval; null for the tests")
    variance: float = Field(description="The variance that was used: of scores for `anova`, else of differences")
    at_most: bool = Field(
        description="Whether fewer topics may suffice: the variance of differences was taken to be twice that of "
        "scores, although two runs share the hard and the easy topics"
    )
