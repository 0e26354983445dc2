"""The way to ask for an entry besides HTTP itself: a call of the client."""

import json

import httpx

from gainboard.client import Gainboard
from tests.corpus.campaigns import ADDRESS, FILES


class IntoWorld(httpx.BaseTransport):
    """The network of a client in this process, with note of what goes over it."""

    def __init__(self, world):
        self._world, self.seen = world, []

    def handle_request(self, request):
        content = request.read()
        self.seen.append(form_of(request.method, request.url, content))
        answer = self._world.pass_on(request.method, str(request.url), request.headers.items(), content)
        headers = {name: value for name, value in answer.headers.items() if name != "content-encoding"}
        return httpx.Response(answer.status_code, headers=headers, content=answer.content)


def form_of(method, url, content):
    """Return what makes two requests the same: method, path, query, and the body, of JSON its value.

    How many items a page has is the client's own choice, and a null is what is left out.
    """
    try:
        body = json.loads(content) if content else None
    except ValueError:
        body = content
    if isinstance(body, dict):
        body = {name: value for name, value in body.items() if value is not None}
    return method, url.path, sorted(each for each in url.params.multi_items() if each[0] != "limit"), body


def ask_by_call(world, who, call):
    """Return the requests of a call such as `gb.runs("harbour")`; `file("qrels")` is the content of a file."""
    network = IntoWorld(world)
    token = world.people[who].get("token")
    with Gainboard(ADDRESS, token, transport=network) as gb:
        found = eval(world.names.filled(call), {"gb": gb, "file": lambda name: FILES[name].encode()})
        if hasattr(found, "__next__"):
            list(found)
    return network.seen
