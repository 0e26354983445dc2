"""Pages know visitors by their cookie, the API knows senders by their token, and no route takes both."""

from typing import get_args

from gainboard.api.dependencies import PrincipalDep, SenderDep
from gainboard.dashboard.installing import PAGES
from gainboard.dashboard.sessions import FormDep, OpenFormDep, UploaderDep, VisitorDep
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app
from gainboard.store.database import Database

TOKENS, VISITORS = (PrincipalDep, SenderDep), (VisitorDep,)
CHECKED = (FormDep, OpenFormDep, UploaderDep)
"""Dependencies that look at the origin of a request and, but for the form to sign in, at the text of the session."""


def depends_on(route, among):
    """Returns whether a route, or what it depends on, asks for one of these dependencies."""
    wanted = {get_args(each)[1].dependency for each in among}

    def calls(dependant):
        yield dependant.call
        for each in dependant.dependencies:
            yield from calls(each)

    return not wanted.isdisjoint(calls(route.dependant))


def test_no_page_asks_for_a_token_and_the_api_asks_for_no_cookie():
    on_pages = [route for module in PAGES for route in module.router.routes]
    assert [route.path for route in on_pages if depends_on(route, TOKENS)] == []
    routes = [route for route in create_app(Workspace(Database("sqlite://"))).routes if route.path.startswith("/v1")]
    assert any(depends_on(route, TOKENS) for route in routes)
    assert [route.path for route in routes if depends_on(route, VISITORS)] == []


def test_every_page_that_changes_something_looks_where_the_request_comes_from():
    changing = [route for module in PAGES for route in module.router.routes if route.methods != {"GET"}]
    assert len(changing) > 20
    assert [route.path for route in changing if not depends_on(route, CHECKED)] == []
