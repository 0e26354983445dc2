"""Every route that the interface describes, so that a new one is tested unasked."""

import json
import re
from dataclasses import dataclass
from functools import cache

from starlette.routing import Route as StarletteRoute

from gainboard.api.routes import CheckedRoute
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app
from gainboard.store.database import Database

VARIATIONS = {
    "qrels": ("1", "2"),
    "against": ("1",),
    "judgments": ("official", "second", "third"),
    "metric": ("AP", "P@1", "Nonsense", "custom:nuggets", "custom:absent"),
    "format": ("csv",),
    "topics": ("all", "half"),
    "by_group": ("all", "half"),
    "run": ("absent",),
    "ties": ("range", "expected"),
    "baseline": ("mine", "absent"),
    "margin": ("0.1",),
    "standardise": ("linear",),
    "corrected_by": ("official", "second", "third", "absent"),
    "reference": ("absent",),
    "draft": ("true",),
    "stray": ("count",),
    "sample": ("true",),
    "limit": ("1",),
    "collection": ("NAME",),
}
"""Queries to try where a route has the parameter; `NAME` stands for the collection's."""
BODIES = {
    "jobs": {"kind": "stability", "params": {"metrics": ["AP"], "trials": 5}},
    "reports": {"name": "q-measure-appendix", "collections": ["NAME"]},
    "tokens": {"role": "reader"},
    "teams": {"name": "new"},
    "{judgments}": {"state": "hidden"},
    "{run}": {"priority": 2},
    "metadata": "method: {automatic: true}\n",
    "design": {"method": "t-test", "difference": 0.1, "variance": 0.05},
    "runs": "nonsense\n",
    "qrels": "1 0 good 1\n",
    "survey": "1 0 good 1\n",
    "imports": "nonsense",
    "releases": {},
    "topic-groups": "topic,group\n1,half\n",
    "{group}": ["1"],
    "{matrix}": "run,1,2\ntag,0.5,1\n",
    "nuggets": '{"qid": "1", "nuggets": [{"text": "river", "importance": "vital"}]}\n',
    "{judge}": '{"qid": "1", "run_id": "tag", "answer": [{"citations": [0], "support": ["full"]}]}\n',
}


def answer_of(run):
    """What a judge says of the answer of a run to topic 1: all that it cites supports it."""
    return json.dumps({"qid": "1", "run_id": run, "answer": [{"citations": [0], "support": ["full"]}]})


OWN_TO_EACH = ("date", "x-request-id")


@dataclass(frozen=True)
class Route:
    """A method and a path with parameters in braces, and the names of its query parameters."""

    method: str
    path: str
    queries: tuple[str, ...]

    @property
    def title(self):
        return f"{self.method} {self.path}"

    @property
    def parameters(self):
        return re.findall(r"{(\w+)}", self.path)

    def ask(self, client, fill, query=None, headers=None, body=None):
        """The answer; fails where a parameter is new and `fill` does not say what to put for it.

        The body is text, or a value for JSON; without one, an example that suits the path is sent.
        """
        path = self.filled(fill)
        body = BODIES.get(self.path.rsplit("/")[-1], {}) if body is None else body
        sent = {"content": body} if isinstance(body, str) else {"json": _named(body, fill)}
        if self.method in ("GET", "HEAD"):
            sent = {}
        asked = {name: fill["collection"] if value == "NAME" else value for name, value in (query or {}).items()}
        return client.request(self.method, path, params=asked, headers=dict(headers or {}), **sent)

    def filled(self, fill):
        path = self.path
        for name in self.parameters:
            path = path.replace(f"{{{name}}}", fill[name])
        return path

    def variations(self):
        yield {}
        for name in self.queries:
            for value in VARIATIONS.get(name, ()):
                yield {name: value}


def _named(body, fill):
    return json.loads(json.dumps(body).replace("NAME", fill.get("collection", "")))


def every_route(*methods):
    return [route for route in _described() if not methods or route.method in methods]


@cache
def _described():
    # Not from the description itself, which takes every process that reads the tests a second to make.
    database = Database("sqlite://")
    routes = [each for each in create_app(Workspace(database)).routes if isinstance(each, CheckedRoute)]
    database.close()
    return [
        Route(method, route.path_format, tuple(route.query_names))
        for route in sorted((each for each in routes if each.include_in_schema), key=lambda each: each.path_format)
        for method in sorted(route.methods or ())
    ]


def operations(routes):
    """Yield the method and the path of every route of an application or a router, described or not."""
    for route in routes:
        if router := getattr(route, "original_router", None):
            yield from operations(router.routes)
        else:
            assert isinstance(route, StarletteRoute), f"{route} may have operations of its own: look at them here"
            yield from ((method, route.path_format) for method in (route.methods or set()) - {"HEAD"})


def seen(answer, names=None):
    """All that a client sees of an answer, but for the time and the request's id.

    `names` are replaced in it, so that answers about different things can be compared. Their lengths may differ.
    """
    unlike = (*OWN_TO_EACH, "content-length")

    def common(text):
        for name, replacement in (names or {}).items():
            text = text.replace(name, replacement)
        return text

    headers = {name: common(value) for name, value in answer.headers.items() if name not in unlike}
    return answer.status_code, common(answer.content.decode()), headers
