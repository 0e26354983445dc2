"""Pages: templates with everything escaped, and the headers that keep a browser from running anything else.

Static files are at addresses that hold their hash, so that browsers keep them for good.
"""

from __future__ import annotations

import gzip
import hashlib
import math
import mimetypes
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from importlib.util import find_spec
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from gainboard import __version__
from gainboard.api.answers import address, server_address, takes_gzip
from gainboard.api.routes import CheckedRoute, PageRoute
from gainboard.dashboard.sessions import Place, Visitor
from gainboard.errors import NotFound
from gainboard.evaluation.boards.pair_statistics import PairTest
from gainboard.exhibits import Level
from gainboard.metrics import query_parameters
from gainboard.notation.texts import order_topics
from gainboard.store.records import Collection

FOLDER = Path(__file__).parent / "static"
SERVED = (".css", ".js", ".svg")
"""Licences and the manifest of what others wrote are in the folder, too, but nobody needs them in a browser."""
FOREVER = "public, max-age=31536000, immutable"


class AssetRoute(CheckedRoute):
    """A route of static files."""

    reads_tokens, is_static = False, True


router = APIRouter(include_in_schema=False, route_class=AssetRoute)


@dataclass(frozen=True)
class Asset:
    """A static file: its bytes, plain and compressed, and their hash."""

    name: str
    media_type: str
    plain: bytes
    packed: bytes
    etag: str


@cache
def _assets() -> Mapping[str, Asset]:
    """Return all static files by name. Their number is fixed when the package is built, so they stay in memory."""
    assets = {}
    for path in sorted(FOLDER.rglob("*")):
        if path.suffix in SERVED:
            plain, name = path.read_bytes(), path.relative_to(FOLDER).as_posix()
            media_type = f"{mimetypes.types_map[path.suffix]}; charset=utf-8"
            # Without a time, so that two servers give the same bytes under the same ETag.
            packed = gzip.compress(plain, mtime=0)
            assets[name] = Asset(name, media_type, plain, packed, hashlib.sha256(plain).hexdigest()[:16])
    return assets


@cache
def version() -> str:
    """Return the hash of all static files together.

    Scripts import each other by relative addresses, so one version is part of every address.
    """
    return hashlib.sha256("".join(asset.etag for asset in _assets().values()).encode()).hexdigest()[:16]


def address_of(name: str) -> str:
    """Return the address of a static file. Raise KeyError if it does not exist."""
    return f"/static/{version()}/{_assets()[name].name}"


def read(name: str) -> bytes:
    """Return a static file. Raise KeyError if it does not exist."""
    return _assets()[name].plain


@router.get("/static/{version}/{name:path}")
async def read_asset(version: str, name: str, request: Request) -> Response:
    """Return a static file. An address of another version gets the file of today, which browsers do not keep."""
    if (asset := _assets().get(name)) is None:
        raise NotFound(f"There is no static file {name!r}.")
    is_packed = takes_gzip(request.headers)
    headers = {
        # The parameter hides the function of the same name.
        "Cache-Control": FOREVER if version == globals()["version"]() else "no-cache",
        # A strong ETag stands for bytes, and those of the two forms differ.
        "ETag": f'"{asset.etag}{"-gzip" if is_packed else ""}"',
        "Vary": "Accept-Encoding",
        **({"Content-Encoding": "gzip"} if is_packed else {}),
    }
    return Response(asset.packed if is_packed else asset.plain, headers=headers, media_type=asset.media_type)


@router.get("/favicon.ico")
async def read_icon(request: Request) -> Response:
    """Return a redirect to the icon. Browsers ask for it where a document names none, such as a picture or JSON."""
    return RedirectResponse(address(request, address_of("icon.svg")), 307)


PLOT_STYLE = "'sha256-+TfQir1nvDucAdvE6XUQBt4ayUjpAWkbw2kCdSfekHM='"
"""The style that Plot puts into each drawing: the browser says its hash where it refuses it."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' {style}; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors {frames}; base-uri 'none'"
)
ENVIRONMENT = Environment(
    loader=PackageLoader("gainboard.dashboard"),
    # Names of runs, teams and topics may hold anything.
    autoescape=True,
    # A misspelt name in a template is an error, and not a gap in a page.
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def _score(value: float | None, digits: int = 4) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def _level(test: PairTest) -> str:
    # If no resample reached the difference, the level is below the share of one, and 0 would claim too much.
    return (Level(test.asl, test.resamples).bound if test.asl is not None else None) or _score(test.asl)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def in_words(time: datetime) -> str:
    """Return a time for people."""
    return f"{time:%Y-%m-%d %H:%M} UTC"


def _when(time: datetime) -> Markup:
    return Markup('<time datetime="{:%Y-%m-%dT%H:%MZ}">{}</time>').format(time, in_words(time))


def _due(time: datetime, now: datetime) -> Markup:
    """Return a date of a campaign, also in the zone of most deadlines, and how long it is until then."""
    anywhere = f"{time - timedelta(hours=12):%Y-%m-%d %H:%M} AoE"
    days, minutes = divmod(int((time - now).total_seconds()) // 60, 24 * 60)
    left = f"in {days} d {minutes // 60} h" if days else f"in {minutes // 60} h {minutes % 60} min"
    return Markup('{} <small class="due">({}{})</small>').format(
        _when(time), anywhere, f", {left}" if time > now else ""
    )


def _phase(collection: Collection, now: datetime) -> str:
    """Return the phase of a collection and the next of its dates: `hidden, closes in 3 d`."""
    if collection.is_released(now):
        return "released"
    dates = (("opens", collection.opens_at), ("closes", collection.closes_at), ("released", collection.releases_at))
    for verb, time in dates:
        if time is not None and time > now:
            minutes = int((time - now).total_seconds()) // 60
            size, unit = (24 * 60, "d") if minutes >= 24 * 60 else (60, "h") if minutes >= 60 else (1, "min")
            return f"hidden, {verb} in {minutes // size} {unit}"
    return "hidden"


def _segment(text: str) -> str:
    # Names of topics may hold anything, also a slash.
    return quote(text, safe="")


def _mark_code(text: str) -> Markup:
    # Texts of the API are written for terminals, too, with `code` in backquotes.
    parts = text.split("`")
    coded = [f"<code>{escape(part)}</code>" if number % 2 else escape(part) for number, part in enumerate(parts)]
    return Markup("".join(coded))


def _breakable(text: str) -> Markup:
    # A narrow column may break the label of a metric before the cut-off and between parameters, and nowhere else.
    return Markup("<wbr>").join(re.split(r"(?=[@(])|(?<=,)", text))


def under_shared_words(headings: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return headings without the words with which neighbours begin, and these words before them (else an empty text).

    `mean low, mean high, rank` are `low, high` under `mean`, and `rank` under nothing.
    """
    groups = []
    while headings:
        words = zip(headings[0].split(" "), " ".join(headings[1:2]).split(" "), strict=False)
        begin = "".join(f"{word} " for word, _ in takewhile(lambda pair: pair[0] == pair[1], words))
        count = next((at for at, heading in enumerate(headings) if not heading.startswith(begin)), len(headings))
        if not begin or count < 2:
            begin, count = "", 1
        groups.append((begin.strip(), [heading.removeprefix(begin) for heading in headings[:count]]))
        headings = headings[count:]
    return groups


def in_order(topics: Sequence[str], declared: Sequence[str] | None) -> list[str]:
    """Return topics in the order for people."""
    return [topics[index] for index in order_topics(topics, declared)]


ENVIRONMENT.filters |= {
    "breakable": _breakable,
    "in_order": in_order,
    "level": _level,
    "marked": _mark_code,
    "percent": _percent,
    "phase": _phase,
    "score": _score,
    "under_shared_words": under_shared_words,
    "segment": _segment,
    "when": _when,
    "in_words": in_words,
    "due": _due,
}


@dataclass(frozen=True)
class PageLook:
    """The parts of a page beside its own values: title, place in the navigation, and how it may be framed."""

    title: str
    place: Place | None = None
    here: str = ""
    """The entry of the navigation that is current."""
    may_be_framed: bool = False
    style: str = PLOT_STYLE
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    help: str = ""
    """The part of the documentation, if it is a nearer one than that of the template."""


HELP: Mapping[str, str] = {
    "analyses.html": "jobs.html",
    "analysis_form.html": "jobs.html#kinds",
    "answers.html": "answers.html",
    "board.html": "dashboard.html#the-board",
    "board_empty.html": "dashboard.html#a-campaign-in-a-browser",
    "card.html": "dashboard.html",
    "compare.html": "comparing-runs.html",
    "compare_baselines.html": "comparing-runs.html",
    "design.html": "quality.html#how-many-topics",
    "docs.html": "api.html",
    "documentation.html": "index.html",
    "documentation_search.html": "index.html",
    "error.html": "api.html#errors",
    "home.html": "dashboard.html",
    "join.html": "security.html#invitations",
    "joined.html": "security.html#invitations",
    "judgments.html": "judgments.html#correct-the-judgments",
    "me.html": "security.html#sessions-of-browsers",
    "metric.html": "metrics.html#every-metric",
    "metrics.html": "metrics.html",
    "new.html": "dashboard.html#a-campaign-in-a-browser",
    "pool.html": "judgments.html#pools",
    "problem.html": "api.html#errors",
    "release.html": "archive.html",
    "run.html": "dashboard.html#topics-and-runs",
    "settings.html": "campaigns.html#the-policy",
    "signing_in.html": "dashboard.html#sign-in",
    "submissions.html": "formats.html",
    "teams.html": "security.html#invitations",
    "topic.html": "dashboard.html#topics-and-runs",
    "topics.html": "dashboard.html#topics-and-runs",
    "version.html": "judgments.html#correct-the-judgments",
    "work.html": "jobs.html#read",
}
"""The part of the documentation that each page leads to, by the template of the page."""


def help_of_problem(type: str) -> str:
    """Return the part of the documentation that explains a type of problem, such as `/problems/not-found`."""
    return f"api.html#{type.rpartition('/')[2]}"


def headers_of_page(style: str = PLOT_STYLE, may_be_framed: bool = False) -> dict[str, str]:
    """Return the headers that keep a browser from running or loading anything else."""
    frames = "*" if may_be_framed else "'none'"
    return {
        # Without a style of its own, a page would have a blank before the semicolon.
        "Content-Security-Policy": POLICY.format(style=style, frames=frames).replace(" ;", ";"),
        "Cross-Origin-Opener-Policy": "same-origin",
    }


SETTING = {"metric", "judgments", "qrels", "names", "topics", *query_parameters()}
"""The part of a query that links to other pages carry: metrics, their parameters, topics and judgments."""


def page(visitor: Visitor, template: str, look: PageLook, **values: Any) -> Response:
    """Return a template as a page with its headers. `values` are what the template shows."""
    request = visitor.request

    def to(path: str, *more: tuple[str, Any], **query: Any) -> str:
        pairs = [*more, *((name, value) for name, value in query.items() if value is not None)]
        return address(request, path) + (f"?{urlencode(pairs)}" if pairs else "")

    path: str = request.scope["path"].removeprefix(request.scope.get("root_path", ""))
    here = path + (f"?{request.url.query}" if request.url.query else "")
    # The address of a form cannot be asked for, so whoever signs in there goes on with a page near it.
    collection = request.path_params.get("collection")
    near = f"/c/{collection}" if collection else "/"
    # A setting that was refused leads from no page to another.
    is_carried = look.status != 422
    setting = [(name, value) for name, value in parse_qsl(request.url.query) if is_carried and name in SETTING]
    content = ENVIRONMENT.get_template(template).render(
        values,
        look=look,
        visitor=visitor,
        csrf=Markup('<input type="hidden" name="csrf" value="{}">').format(visitor.csrf),
        version=__version__,
        server=server_address(request),
        here=here,
        back=here if request.method in ("GET", "HEAD") else near,
        setting=urlencode(setting),
        setting_pairs=setting,
        to=to,
        now=visitor.workspace.now(),
        help=f"/help/{look.help or HELP.get(template, 'index.html')}",
        asset=lambda name: address(request, address_of(name)),
    )
    headers = headers_of_page(look.style, look.may_be_framed) | dict(look.headers)
    return Response(content, look.status, headers, "text/html")


def page_of(
    place: Place, template: str, title: str, here: str = "", *, status: int = 200, help: str = "", **values: Any
) -> Response:
    """Return a page of a collection. `here` is the entry of the navigation that is current."""
    look = PageLook(title, place, here, status=status, help=help)
    return page(place.visitor, template, look, **values)


def is_for_people(request: Request) -> bool:
    """Return whether the request was for a page."""
    accepted = request.headers.get("accept")
    if isinstance(request.scope.get("route"), PageRoute):
        return accepted is None or "text/html" in accepted or "*/*" in accepted
    # Addresses of the API have problem documents in browsers, too.
    is_known = request.scope.get("route") is not None or request.url.path.startswith("/v1/")
    return not is_known and "text/html" in (accepted or "")


def lead_to(request: Request, path: str) -> Response:
    """Send a browser from its form to a page."""
    return RedirectResponse(address(request, path), 303)


def pages(route: type[PageRoute] = PageRoute) -> APIRouter:
    """Return a router for pages."""
    return APIRouter(include_in_schema=False, route_class=route)


Pairs = Sequence[tuple[str, str]]
SEVERAL = {"metric": "metrics", "run": "runs", "baseline": "baselines", "by_group": "by_group"}
"""Names that may be repeated in a query, and what the client calls the list."""
NUMBERS = {"qrels": int, "margin": float}
"""Names with numbers in a query."""


def pairs_of(query: Mapping[str, Any]) -> Pairs:
    """Return a query's names and values. None and empty lists are left out."""
    return [
        (name, str(member))
        for name, value in query.items()
        for member in (value if isinstance(value, list | tuple) else [value])
        if member is not None
    ]


def query_of(query: Mapping[str, Any]) -> str:
    """Return the text of a query."""
    return urlencode(pairs_of(query))


@dataclass(frozen=True)
class PrintedRequest:
    """One request in two forms."""

    curl: str
    python: str

    @classmethod
    def of(cls, place: Place, resource: str, query: str, method: str = "", names: Sequence[str] = ()) -> PrintedRequest:
        """Return the request for a resource of a collection, such as `leaderboard`.

        The client's method has the same name, unless it is given. It takes `names` after the collection, in place of
        the parts of the query that have them.
        """
        server = server_address(place.request)
        path = f"{server}/v1/collections/{place.name}/{resource}"
        keywords: dict[str, Any] = {}
        for name, value in parse_qsl(query):
            # The method takes these by position.
            if value in names:
                continue
            if name in SEVERAL:
                keywords.setdefault(SEVERAL[name], []).append(value)
            else:
                keywords[name] = NUMBERS.get(name, str)(value)
        arguments = "".join(f", {name}={value!r}" for name, value in keywords.items())
        python = (
            "from gainboard.client import Gainboard\n\n"
            f"with Gainboard({server!r}) as gainboard:\n"
            f"    answer = gainboard.{method or resource}({', '.join(map(repr, (place.name, *names)))}{arguments})\n"
        )
        return cls(f"curl {shlex.quote(f'{path}?{query}' if query else path)}", python)


Form = Literal["json", "csv", "tex", "md", "svg", "png"]
DRAWS = find_spec("matplotlib") is not None
"""Pictures are offered where the `figures` extra draws."""
FORMS = (
    ("csv", "CSV, for spreadsheets"),
    ("tex", "LaTeX, for papers"),
    ("md", "Markdown"),
    *((("png", "PNG, for slides"), ("svg", "SVG, for slides")) if DRAWS else ()),
    ("json", "JSON"),
)
"""The forms of a page's numbers, by the end of their address."""
FORMATS: Mapping[str, Literal["json", "csv", "latex", "markdown"]] = {
    "json": "json",
    "csv": "csv",
    "tex": "latex",
    "md": "markdown",
}
