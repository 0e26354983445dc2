"""The catalogue of metrics and presets."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from gainboard.api.models.answers import Model


class ShownParameter(Model):
    """A parameter of a metric expression."""

    name: str
    default: Any = Field(description="Null if it depends on the collection's levels")
    limits: str
    schema_: dict[str, Any] = Field(alias="schema")
    description: str
    only_in_expressions: bool = Field(description="Whether requests cannot give a default for it")


class ShownMetric(Model):
    """A metric."""

    name: str
    title: str
    aliases: list[str]
    implied: dict[str, dict[str, str]] = Field(
        description="The values of parameters that an alias stands for, by alias, if it stands for any",
        examples=[{"gm_map": {"mean": "geometric"}}],
    )
    definition: str
    reference: str
    graded: bool = Field(description="Whether the gain setting changes its scores")
    bounded: bool = Field(description="Whether all its scores lie in [0, 1]")
    needs_intents: bool = Field(description="Whether it needs a collection with judgments by intent")
    takes_cutoff: bool
    parameters: list[ShownParameter]


class ShownPreset(Model):
    """A short name for several metrics; it is allowed wherever metrics are listed."""

    name: str
    title: str
    definition: str
    reference: str
    expressions: list[str] = Field(
        description="The metrics that replace it in a collection with three relevance levels"
    )


class Catalogue(Model):
    """Every metric and every preset."""

    items: list[ShownMetric]
    presets: list[ShownPreset]
