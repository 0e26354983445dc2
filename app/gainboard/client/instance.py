"""Calls about the service itself, and about the token in use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TypedDict, Unpack
from urllib.parse import quote

from gainboard.api.models.admin import AuditPage, CreatedOrganiser, EntryAnswer, Me, OrganiserAnswer
from gainboard.api.models.common import Page, ProblemPage
from gainboard.api.models.service import Catalogue, DesignAnswer, Health, MyLimits, Ready
from gainboard.client.connections import call, listing
from gainboard.client.requests import Call, Pages, Request, api_path, delete, read_model, read_text, save_file
from gainboard.notation.queries import AuditOptions
from gainboard.vocabulary import DesignMethod


class DesignParameters(TypedDict, total=False):
    """Parameters of a design, as in the API."""

    difference: float
    width: float
    variance: float | Sequence[Mapping[str, float]]
    difference_variance: float
    noise: float
    runs: int
    alpha: float
    power: float
    correlation: float
    topics: int


class InstanceCalls:
    """The service's state and catalogue, its organisers, its audit log, and the token in use."""

    @call
    def health(self) -> Call[Health]:
        """Return that the service runs, and its version."""
        return read_model(Health, Request("GET", "/healthz"))

    @call
    def readiness(self) -> Call[Ready]:
        """Return that the database answers, too."""
        return read_model(Ready, Request("GET", "/readyz"))

    @call
    def telemetry(self) -> Call[str]:
        """Return counts and times of requests, and jobs by state, in Prometheus's text format (organisers)."""
        return read_text(Request("GET", "/metrics", accept="text/plain"))

    @call
    def problem_page(self, type: str) -> Call[ProblemPage]:
        """Return the explanation of a type of problem, such as `faulty-file`."""
        return read_model(ProblemPage, Request("GET", f"/problems/{quote(type, safe='')}"))

    @call
    def metrics(self) -> Call[Catalogue]:
        """Return every metric with its parameters, and every preset."""
        return read_model(Catalogue, Request("GET", api_path("metrics")))

    @call
    def design(self, method: DesignMethod, **asked: Unpack[DesignParameters]) -> Call[DesignAnswer]:
        """Return how many topics are enough for a wanted power or interval: `design("t-test", difference=0.1,
        variance=0.05)`; or the smallest difference that topics show: `design("detect", topics=50, variance=0.05)`.
        """
        sent = {"method": method, **asked}
        return read_model(DesignAnswer, Request("POST", api_path("design"), json=sent))

    @call
    def me(self) -> Call[Me]:
        """Return the holder of the token: role, collection, team."""
        return read_model(Me, Request("GET", api_path("me")))

    @call
    def limits(self) -> Call[MyLimits]:
        """Return what is left of quotas and budgets, and the limits on a file."""
        return read_model(MyLimits, Request("GET", api_path("me", "limits")))

    @listing
    def organisers(self) -> Pages[OrganiserAnswer]:
        """List the records of the instance's organisers' tokens, with revoked ones (organisers of the instance)."""
        return Pages(Page[OrganiserAnswer], api_path("tokens"))

    @call
    def create_organiser(
        self, holder: str | None = None, *, expires_at: datetime | str | None = None
    ) -> Call[CreatedOrganiser]:
        """Create a token for another organiser of the instance. Its `token` is shown only this once."""
        sent = {"holder": holder, "expires_at": expires_at}
        return read_model(CreatedOrganiser, Request("POST", api_path("tokens"), json=sent, once=True))

    @call
    def organiser(self, token_id: str) -> Call[OrganiserAnswer]:
        """Return the record of one organiser's token."""
        return read_model(OrganiserAnswer, Request("GET", api_path("tokens", token_id)))

    @call
    def revoke_organiser(self, token_id: str) -> Call[None]:
        """Revoke an organiser's token for good."""
        return delete(api_path("tokens", token_id))

    @listing
    def audit(self, collection: str | None = None, **query: Unpack[AuditOptions]) -> Pages[EntryAnswer]:
        """List changes, oldest first: those of a collection (its organisers), or all (organisers of the instance)."""
        return Pages(AuditPage, _audit(collection), query)

    @call
    def save_audit(
        self, to: str | PathLike[str], collection: str | None = None, **query: Unpack[AuditOptions]
    ) -> Call[Path]:
        """Write the changes to a path as JSON lines, which `gainboard audit verify` reads.

        The file appears when it is complete.
        """
        sent = {**query, "format": "ndjson"}
        return save_file(Request("GET", _audit(collection), sent, accept="application/x-ndjson", to=Path(to)))


def _audit(collection: str | None) -> str:
    return api_path("audit") if collection is None else api_path("collections", collection, "audit")
