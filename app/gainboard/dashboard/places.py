"""The place of a page: a collection as its visitor sees it, and so which entries the navigation has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, NamedTuple

from fastapi import Depends, Request

from gainboard.api.dependencies import CollectionName
from gainboard.dashboard.sessions import Visitor, VisitorDep
from gainboard.evaluation.access.principals import Principal, Sender
from gainboard.evaluation.access.visibility import View, open_collection
from gainboard.evaluation.workspace import Workspace


class NavigationEntry(NamedTuple):
    """An entry of the navigation: its text, and its address below that of the collection."""

    title: str
    path: str
    takes_setting: bool = False
    """True if its page shows scores under the metrics and parameters of the query."""


@dataclass(frozen=True)
class Place:
    """A collection as a visitor sees it now."""

    visitor: Visitor
    view: View
    now: datetime

    @property
    def request(self) -> Request:
        return self.visitor.request

    @property
    def workspace(self) -> Workspace:
        return self.visitor.workspace

    @property
    def principal(self) -> Principal:
        return self.view.principal

    @property
    def sender(self) -> Sender:
        """The sender, for use cases that look up the token together with the collection."""
        return self.visitor.sender

    @property
    def name(self) -> str:
        """The name of the collection, which is harmless in a path."""
        return self.view.collection.name

    @property
    def title(self) -> str:
        return self.view.collection.title or self.name

    @property
    def path(self) -> str:
        """The address of the collection's board."""
        return f"/c/{self.name}"

    @property
    def phase(self) -> str:
        return "released" if self.is_released else "hidden"

    @property
    def is_released(self) -> bool:
        return self.view.collection.is_released(self.now)

    @property
    def entries(self) -> Sequence[NavigationEntry]:
        """The pages of the collection that this visitor may use."""
        view = self.view
        takes_part = view.principal.role in ("participant", "organiser")
        offered = (
            (True, NavigationEntry("Board", "", takes_setting=True)),
            (view.sees_free_scores, NavigationEntry("Topics", "/topics", takes_setting=True)),
            (view.sees_free_scores, NavigationEntry("Compare", "/compare", takes_setting=True)),
            (view.organises or view.sees_judgments, NavigationEntry("Pool", "/pool")),
            (view.organises or view.sees_judgments, NavigationEntry("Judgments", "/judgments")),
            (view.sees_free_scores, NavigationEntry("Analyses", "/analyses")),
            (takes_part, NavigationEntry("Submissions", "/submissions")),
            (view.organises, NavigationEntry("Teams", "/teams")),
            (view.organises, NavigationEntry("Settings", "/settings")),
        )
        return [entry for is_offered, entry in offered if is_offered]


def enter(visitor: Visitor, name: str) -> Place:
    """Return the collection as this visitor sees it. Raise NotFound or NotAuthenticated as the API does."""
    with visitor.workspace.database.reading() as tx:
        return Place(visitor, open_collection(tx, visitor.principal, name), visitor.workspace.now())


def _place(collection: CollectionName, visitor: VisitorDep) -> Place:
    return enter(visitor, collection)


PlaceDep = Annotated[Place, Depends(_place)]
"""The dependency of pages of a collection."""
