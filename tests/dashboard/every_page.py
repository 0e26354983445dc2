"""Every page, found from the routers, with something to put into its address."""

import re

from gainboard.dashboard.installing import PAGES

VALUES = {
    "collection": "demo-small",
    "run": "otter-1",
    "topic": "001",
    "name": "nDCG",
    "slug": "not-found",
    "page_name": "index",
    "noun": "job",
    "kind": "stability",
    "version": "1",
    "release": "demo-small-1",
}
"""What stands for each parameter of an address on the demo's server."""
FILES = re.compile(r"\.(json|csv|ndjson|svg|tar|tex|txt)$|\{form\}|/events$|^/help$|^/help/\{file\}$")
"""Addresses below a page that are no pages, and the documentation, which has tests of its own."""


def addresses():
    """The addresses of all pages as the routers have them: `/c/{collection}`."""
    return [
        route.path_format
        for module in PAGES
        for route in module.router.routes
        if "GET" in route.methods and not FILES.search(route.path_format)
    ]


def filled(address, values=VALUES):
    """An address with a value for each parameter. A new parameter needs a value in `VALUES`."""
    return re.sub(r"\{(\w+)(?::path)?\}", lambda found: values[found[1]], address)
