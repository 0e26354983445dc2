"""The steps of an organiser until a collection has runs with scores, each with its state and its page."""

from __future__ import annotations

from dataclasses import dataclass

from gainboard.dashboard.places import Place
from gainboard.evaluation.access.teams import list_teams
from gainboard.evaluation.judgments.qrels import SeenQrels, list_versions
from gainboard.evaluation.runs.runs import list_runs
from gainboard.evaluation.workspace import Workspace
from gainboard.store.records import CollectionPolicy
from gainboard.vocabulary import OFFICIAL

MOST = 1000


@dataclass(frozen=True)
class ChecklistStep:
    """A step: whether it is done, what is there, and the page to do it, below that of the collection."""

    title: str
    is_done: bool
    state: str
    path: str
    button: str


def steps(workspace: Workspace, place: Place) -> list[ChecklistStep]:
    """Return the steps, in the order in which most campaigns take them."""
    principal, name, collection = place.view.principal, place.name, place.view.collection
    versions = list_versions(workspace, principal, name, OFFICIAL, None, MOST)
    teams = list_teams(workspace, principal, name, None, MOST)[1]
    runs = list_runs(workspace, principal, name, None, MOST)
    topics, presets = collection.topics or [], CollectionPolicy.of(collection).presets
    is_open = place.phase == "released"
    published = any(each.in_use for each in versions)
    return [
        ChecklistStep("Judgments", published, _judgments(versions), "/judgments", "Upload judgments"),
        ChecklistStep(
            "Topics",
            bool(topics),
            f"{len(topics)} are declared" if topics else "none are declared yet",
            "/judgments#topics",
            "Declare topics",
        ),
        ChecklistStep("Policy", bool(presets) or is_open, _policy(is_open, presets), "/settings", "Set the policy"),
        ChecklistStep("Teams", bool(teams), _count(len(teams), "team"), "/teams", "Invite teams"),
        ChecklistStep("Runs", bool(runs), _count(len(runs), "run"), "/submissions", "Send runs"),
    ]


def _judgments(versions: list[SeenQrels]) -> str:
    in_use = next((each.qrels for each in versions if each.in_use), None)
    if in_use is not None:
        return f"version {in_use.version} is published: {in_use.judged:,} judgments of {in_use.topics:,} topics"
    return f"{_count(len(versions), 'draft')}, and none is published" if versions else "none yet"


def _policy(is_open: bool, presets: tuple[str, ...]) -> str:
    if is_open:
        return "the judgments are released"
    if not presets:
        return "hidden; teams see no scores, because no preset is set"
    return f"hidden; teams see scores of {', '.join(presets)}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
