"""Create, list and change collections."""

from __future__ import annotations

import io
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, ClassVar

from gainboard.cli.command import Argument, Example, Option, command, refuse
from gainboard.cli.connecting import OneServer
from gainboard.cli.options import parse_pair, parse_value, with_lists
from gainboard.cli.printing import Format, print_many, print_one
from gainboard.errors import BadInput, BadSetting, UnsupportedEncoding
from gainboard.evaluation.collection_settings import Policy
from gainboard.notation.texts import read_topics
from gainboard.vocabulary import FROM_QRELS, CollectionKind

COLUMNS = ("name", "title", "levels", "gains", "policy.phase", "public", "qrels_version", "created_at")


@dataclass(frozen=True)
class ThisCollection(OneServer):
    """The options of a command about the collection that an argument names."""

    named: Annotated[str | None, Argument("its name (GAINBOARD_COLLECTION)", metavar="COLLECTION")] = None
    HOW_TO_NAME: ClassVar = "Add its name, or set GAINBOARD_COLLECTION."


def _read_levels(text: str) -> int | Sequence[str]:
    """Return names or a number. Refuse a level without a name, which would move the others to lower levels."""
    if not all(map(str.strip, text.split(","))):
        refuse(f"{text!r} has a level without a name. Write all names, for example B,A,S")
    if text.isascii() and text.isdecimal():
        return int(text)
    levels = parse_value(text)
    return levels if isinstance(levels, list) else [text]


_LEVELS = Option("names of the relevant levels, lowest first (B,A,S), or their number", read=_read_levels)


@dataclass(frozen=True)
class ChosenSettings:
    """The settings of a collection that are said."""

    title: Annotated[str | None, "a title for people"] = None
    gains: Annotated[str | None, "the default gain setting, such as 3:2:1 (the highest level first) or linear"] = None
    depth: Annotated[int | None, "the number of ranks of a run that are scored"] = None
    order_by: Annotated[
        str | None, Option("what determines the rank of a document: score, score32, rank", metavar="ORDER")
    ] = None
    ignore_identical_ids: Annotated[
        bool | None, "whether to leave out lines of runs whose document id is their topic's, as BEIR does"
    ] = None
    intents: Annotated[bool | None, "whether documents are judged for the intents (subtopics) of a topic"] = None
    topics: Annotated[
        str | None,
        Option(
            "a file with the topics, or a line for each: id, tab, text of the query; to change them, also from-qrels: "
            "those of the newest published qrels",
            metavar="FILE",
        ),
    ] = None
    metrics: Annotated[
        Sequence[str] | None, Option("a metric shown by default", "-m", "--metric", metavar="METRIC")
    ] = None
    sample_of: Annotated[str | None, Option("what the topics are a sample of, which boards say", metavar="TEXT")] = None
    public: Annotated[bool | None, "whether everyone may read it once it is released"] = None
    policy: Annotated[
        Sequence[tuple[str, Any]],
        Option(
            "part of the policy: phase=released, presets=nDCG@10,AP or closes_at=2026-12-01T12:00:00Z",
            metavar="NAME=VALUE",
            read=parse_pair,
        ),
    ] = ()

    def sent(self) -> Mapping[str, Any]:
        """Return what the service is sent, with the topics of the file. Raise BadSetting if it cannot be read."""
        said = {setting.name: value for setting in fields(self) if (value := getattr(self, setting.name)) is not None}
        if self.topics is not None and self.topics != FROM_QRELS:
            said["topics"], queries = _read_topics(self.topics)
            said |= {"queries": queries} if queries else {}
        policy = with_lists(dict(said.pop("policy")), Policy.model_json_schema()["properties"])
        return said | ({"policy": policy} if policy else {})


def _read_topics(path: str) -> tuple[list[str], dict[str, str]]:
    from gainboard.trec import FileLimits, decompress_body  # noqa: PLC0415 (with NumPy, which other commands do without)
    from gainboard.trec.bodies import other_format_of  # noqa: PLC0415  # noqa: PLC0415
    from gainboard.trec.lines import BYTE_ORDER_MARK  # noqa: PLC0415

    try:
        content = b"".join(decompress_body(io.BytesIO(Path(path).read_bytes()), None, FileLimits()))
        if other := other_format_of(content.removeprefix(BYTE_ORDER_MARK)):
            raise UnsupportedEncoding(f"The file is {other}. A file of topics has an id on each line, such as 51.")
        return read_topics(content.decode("utf-8-sig"))
    except BadInput as error:
        raise BadSetting(f"Cannot read {path}: {error}") from error
    except (OSError, UnicodeError) as error:
        raise BadSetting(f"Cannot read {path}: {getattr(error, 'strerror', None) or error}.") from error


@command(
    "create a collection",
    Example("gainboard collection create robust --levels B,A,S --gains 3:2:1"),
    Example("gainboard collection create binary --levels 1"),
    Example("gainboard collection create diverse --levels 3 --intents", "with judgments by intent"),
    Example("gainboard collection create models --kind scores", "for scores that were computed elsewhere"),
)
def create(
    at: ThisCollection,
    *,
    levels: Annotated[int | Sequence[str] | None, _LEVELS] = None,
    kind: Annotated[
        CollectionKind, Option("scores: only scores that were computed elsewhere, without levels and judgments")
    ] = "judged",
    settings: ChosenSettings,
) -> None:
    """Create a collection (organisers of the instance). One with judgments needs --levels."""
    with at.connect() as gainboard:
        print_one(gainboard.create_collection(at.collection, levels, kind=kind, **settings.sent()), "table")


@command("list collections", Example("gainboard collection list"))
def list_(at: OneServer, *, format: Format = "table") -> None:
    """List the collections that you may see."""
    with at.connect() as gainboard:
        print_many(gainboard.collections(), COLUMNS, format)


@command("show a collection", Example("gainboard collection show web"))
def show(at: ThisCollection, *, format: Format = "table") -> None:
    """Show the settings of a collection, its policy and the numbers of its judgments."""
    with at.connect() as gainboard:
        print_one(gainboard.collection(at.collection), format)


@command(
    "change the settings of a collection",
    Example("gainboard collection change web --policy phase=released --public", "show it to everyone"),
    Example(
        "gainboard collection change web --policy 'quotas={\"per_day\": 5}'", "limit the runs that a team may send"
    ),
)
def change(
    at: ThisCollection, *, levels: Annotated[int | Sequence[str] | None, _LEVELS] = None, settings: ChosenSettings
) -> None:
    """Change settings of a collection; settings that are not named stay (organisers). Levels and depth can change only
    while nothing is stored. Once runs are judged, a job changes --order-by, which must then be the only option.
    """
    with at.connect() as gainboard:
        changes = {**settings.sent(), **({"levels": levels} if levels is not None else {})}
        changed = gainboard.change_collection(at.collection, **changes)
        print_one(changed, "table")
    if settings.order_by not in (None, changed.order_by):
        again = f"gainboard job list -c {changed.name} --kind rejudge"
        print(f"A job now orders the runs by {settings.order_by}. To follow it: {again}", file=sys.stderr)


@command("delete a collection", Example("gainboard collection delete spare --yes"))
def delete(at: ThisCollection, *, yes: Annotated[bool, "do not ask"] = False) -> None:
    """Delete a collection with all its runs and judgments, after asking (organisers). Its name may then be used
    again. With --yes, the collection must be named on the command line.
    """
    with at.connect() as gainboard:
        if yes and at.named is None:
            raise BadSetting("With --yes, nothing is asked. Add the name of the collection to delete.")
        name = at.collection
        if not yes:
            if not sys.stdin.isatty():
                raise BadSetting("There is no terminal to ask on. Add --yes to delete the collection.")
            question = f"To delete {name} with all its runs and judgments, type its name: "
            print(question, end="", file=sys.stderr, flush=True)
            if sys.stdin.readline().strip() != name:
                raise BadSetting(f"{name} was not deleted.")
        gainboard.delete_collection(name)
    print(f"{name}: deleted")
