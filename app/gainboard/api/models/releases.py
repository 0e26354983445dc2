"""Releases of collections."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from gainboard.api.models.common import Model
from gainboard.evaluation.releases.document import Archived, Doi
from gainboard.notation.types import JsonBody, Text


class NewRelease(JsonBody):
    """The description of a release, which cannot change later."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Web 2026", "metrics": ["nDCG@10", "AP"]}]})

    title: Text = Field("", description="By default the title of the collection")
    metrics: Annotated[list[Text], Field(max_length=50)] = Field(
        default_factory=list, description="The official metrics, whose boards are frozen; the collection's by default"
    )
    creators: Annotated[list[Text], Field(max_length=100)] = Field(
        default_factory=list, description="The people or organisations to cite, in this order"
    )
    license: Text = Field("", description="The licence of the data, such as the address of its text")
    doi: Doi | None = Field(
        None, title="DOI", description="A DOI that is reserved for the release", examples=["10.5281/zenodo.42"]
    )
    run_files: bool = Field(True, description="Whether exports have the files of runs; if not, only their hashes")


class ReleaseAnswer(Model):
    """An immutable release of a collection."""

    name: str = Field(description="The collection and the number, as in the page's address: `/r/web-1`")
    collection: str
    number: int
    title: str
    doi: str | None
    corrects: int | None = Field(description="The number of the release before, which this one corrects")
    citation: str = Field(description="A text by which to cite it")
    sha256: str = Field(description="SHA-256 of the document with all that was frozen")
    created_at: datetime


class LeftOutResult(Model):
    """A result or report of a folder that was not imported."""

    id: str
    kind: str = Field(description="The kind of job, or the name of the report")
    because: str


class ImportedRelease(ReleaseAnswer):
    """A release that was imported, with what was left out of its folder."""

    left_out: list[LeftOutResult] = Field(
        description="Results and reports that this version of Gainboard does not know, or would have to compute"
    )


class WholeRelease(ReleaseAnswer):
    """A release with all that was frozen."""

    content: Archived
    cite: dict[Literal["bibtex", "csl", "sentence"], str] = Field({}, description="How a paper cites it")
