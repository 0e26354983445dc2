"""Calls about the service itself, and who asks."""

from __future__ import annotations

from datetime import datetime
from os import PathLike
from pathlib import Path
from urllib.parse import quote

from gainboard.api.models.answers import Page, ProblemPage
from gainboard.api.models.audit import AuditPage, ShownEntry
from gainboard.api.models.health import Health, Ready
from gainboard.api.models.limits import MyLimits
from gainboard.api.models.metrics import Catalogue
from gainboard.api.models.tokens import CreatedOrganiser, Me, ShownOrganiser
from gainboard.client.calling import call, listing
from gainboard.client.requests import Call, Pages, Request, model, path, removed, saved, text
from gainboard.store.records import Action


class InstanceCalls:
    """The service's state and catalogue, its organisers, its audit log, and the token that is used."""

    @call
    def health(self) -> Call[Health]:
        """That the service runs, and its version."""
        return model(Health, Request("GET", "/healthz"))

    @call
    def readiness(self) -> Call[Ready]:
        """That its database answers too."""
        return model(Ready, Request("GET", "/readyz"))

    @call
    def telemetry(self) -> Call[str]:
        """Requests counted and timed, and jobs by state, in Prometheus's text format (organisers)."""
        return text(Request("GET", "/metrics", accept="text/plain"))

    @call
    def problem_page(self, type: str) -> Call[ProblemPage]:
        """What a type of problem means, such as `faulty-file`."""
        return model(ProblemPage, Request("GET", f"/problems/{quote(type, safe='')}"))

    @call
    def metrics(self) -> Call[Catalogue]:
        """Every metric with its parameters, and every preset."""
        return model(Catalogue, Request("GET", path("metrics")))

    @call
    def me(self) -> Call[Me]:
        """Who the token is."""
        return model(Me, Request("GET", path("me")))

    @call
    def limits(self) -> Call[MyLimits]:
        """What is left of quotas and budgets, and the bounds on a file."""
        return model(MyLimits, Request("GET", path("me", "limits")))

    @listing
    def organisers(self) -> Pages[ShownOrganiser]:
        """The records of the tokens of organisers of the instance, revoked ones too (they alone)."""
        return Pages(Page[ShownOrganiser], path("tokens"))

    @call
    def create_organiser(
        self, holder: str | None = None, *, expires_at: datetime | str | None = None
    ) -> Call[CreatedOrganiser]:
        """Make a token of a further organiser of the instance. Its `token` is shown this once."""
        sent = {"holder": holder, "expires_at": expires_at}
        return model(CreatedOrganiser, Request("POST", path("tokens"), json=sent, once=True))

    @call
    def organiser(self, token_id: str) -> Call[ShownOrganiser]:
        """The record of one of them."""
        return model(ShownOrganiser, Request("GET", path("tokens", token_id)))

    @call
    def revoke_organiser(self, token_id: str) -> Call[None]:
        """Revoke one for good."""
        return removed(path("tokens", token_id))

    @listing
    def audit(
        self,
        collection: str | None = None,
        *,
        action: Action | None = None,
        since: datetime | str | None = None,
    ) -> Pages[ShownEntry]:
        """Changes, oldest first: of a collection (its organisers), or all (organisers of the instance)."""
        return Pages(AuditPage, _audit(collection), {"action": action, "since": since})

    @call
    def save_audit(
        self,
        to: str | PathLike[str],
        collection: str | None = None,
        *,
        action: Action | None = None,
        since: datetime | str | None = None,
    ) -> Call[Path]:
        """Write them to a path as JSON lines, which `gainboard audit` verifies; the file is there when it is whole."""
        query = {"action": action, "since": since, "format": "ndjson"}
        return saved(Request("GET", _audit(collection), query, accept="application/x-ndjson", to=Path(to)))


def _audit(collection: str | None) -> str:
    return path("audit") if collection is None else path("collections", collection, "audit")
