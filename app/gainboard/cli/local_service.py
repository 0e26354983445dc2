"""A service for one other process: on a socket in a folder that only its user may enter, until that process ends.

    python -m gainboard.cli.local_process

It reads one line of JSON from standard input, `Wishes`, and prints a line once it takes requests: the port for
browsers, or 0. The end of standard input means that the owner has ended, for any reason. Then the service ends as well,
and removes the folder of the socket.
"""

from __future__ import annotations

import errno
import gc
import hmac
import json
import logging
import os
import shutil
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import Any

import uvicorn
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from gainboard import acceleration, logs
from gainboard.api.problems import problem
from gainboard.cli.options import LAST_PORT, environment_here
from gainboard.dashboard.sessions import give_cookie
from gainboard.dashboard.signing_in import is_here
from gainboard.errors import BadSetting, GainboardError, NotAuthenticated, WrongHost
from gainboard.evaluation.access.principals import Sender
from gainboard.evaluation.access.sessions import sign_in
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app, open_workspace
from gainboard.settings import Settings
from gainboard.store.machine import UMASK

STOP_SECONDS = 9
"""Seconds that requests may take to end when the server stops: with what follows, it has stopped after ten."""
KEEP_ALIVE_SECONDS = 75
"""Seconds for which the server keeps an idle connection: longer than clients do, so that the client closes it. A server
that closes first may do so just as a request arrives. httpx keeps connections for 5 seconds, nginx for 60."""
SWITCH_SECONDS = 0.0005
"""Seconds after which a thread that reads an upload lets others go on. Python's own 0.005 would make every step of a
short request wait for all readers in turn."""


class Server(uvicorn.Server):
    """A server that ends open event streams and waits for jobs before it waits for its connections to close."""

    def __init__(
        self, application: FastAPI, root_path: str = "", once_listening: Callable[[], object] | None = None
    ) -> None:
        """Prepare to serve the application. `once_listening` is called when the server takes requests."""
        super().__init__(
            uvicorn.Config(
                application,
                root_path=root_path,
                log_config=None,  # `logs.configure` has set up the log
                access_log=False,  # the middleware writes it
                timeout_graceful_shutdown=STOP_SECONDS,
                timeout_keep_alive=KEEP_ALIVE_SECONDS,
            )
        )
        self._watch = application.state.watch
        self._once_listening = once_listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start as usual, then do what must not delay the first answers."""
        sys.setswitchinterval(SWITCH_SECONDS)
        await super().startup(sockets)
        if self._once_listening is not None:
            self._once_listening()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the event streams, then shut down as usual."""
        self._watch.close()
        await super().shutdown(sockets)


def address_of(listener: socket.socket) -> str:
    """Return the address at which a server on this socket answers."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def listen(host: str, port: int, tried: int = 1) -> socket.socket:
    """Return a socket at the port, or at the first free port after it. Raises BadSetting."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    last = min(port + tried - 1, LAST_PORT)
    for candidate in range(port, last + 1):
        try:
            return socket.create_server((host, candidate), family=family)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise BadSetting(
                    f"Cannot listen on {host}, port {port}: {error.strerror or error}. Choose another address with "
                    "--host or --port."
                ) from error
    taken = f"Port {port} is" if tried == 1 else f"Ports {port} to {last} are"
    raise BadSetting(f"{taken} taken. Choose another port with --port; --port 0 takes any free port.")


HOST = "127.0.0.1"


@dataclass(frozen=True)
class Wishes:
    """The wishes of the owner: where the database is and the socket, and the organiser's token."""

    data: str
    socket: str
    token: str
    job_slots: int | None = None
    entrance: str = ""
    """The secret that lets one browser in, once. With one, the service also listens on a port of this machine."""


class OnlyHere:
    """A middleware that refuses requests for another host: pages of other sites, whose names lead to this machine."""

    def __init__(self, app: ASGIApp, hosts: frozenset[str]) -> None:
        self.app, self._hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        if scope["type"] == "http" and dict(scope["headers"]).get(b"host", b"").decode("latin-1") not in self._hosts:
            app = problem(WrongHost(f"This service answers at http://{min(self._hosts)} only."))
        await app(scope, receive, send)


class Entrance:
    """A page that begins a session for whoever has the secret, once, and leads to a page of the service."""

    def __init__(self, workspace: Workspace, wishes: Wishes) -> None:
        self._workspace, self._wishes, self._use = workspace, wishes, Lock()
        self._is_used = False

    def enter(self, request: Request) -> Response:
        """Return a redirection with the session's cookie. Raise NotAuthenticated if the secret is wrong or was used."""
        with self._use:
            is_right = hmac.compare_digest(request.path_params["secret"], self._wishes.entrance)
            enters = is_right and not self._is_used
            self._is_used = self._is_used or is_right
        if not enters:
            raise NotAuthenticated("This address lets one browser in, once. End the service, and start it again.")
        target = request.query_params.get("to", "/")
        answer = RedirectResponse(target if is_here(target) else "/", 303)
        give_cookie(request, answer, sign_in(self._workspace, Sender.of(self._wishes.token)))
        return answer


def main() -> None:
    """Serve until standard input ends."""
    wishes = Wishes(**json.loads(sys.stdin.readline()))
    # Whatever a library prints must not get before the line that the owner waits for.
    told = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    os.umask(UMASK)
    logs.configure(logging.ERROR)  # the owner tells of what is refused, in its own words
    try:
        _serve(wishes, told)
    except GainboardError as error:
        print(f"gainboard: {error.message}", file=sys.stderr)
        sys.exit(1)
    finally:
        shutil.rmtree(Path(wishes.socket).parent, ignore_errors=True)


def _serve(wishes: Wishes, told: Any) -> None:
    settings = Settings.read(
        environment_here(),
        data=Path(wishes.data),
        admin_token=wishes.token,
        job_slots=wishes.job_slots,
        access_log="off",
    )
    listeners = [socket.socket(socket.AF_UNIX)]
    listeners[0].bind(wishes.socket)
    listeners[0].listen()
    if wishes.entrance:
        listeners.append(listen(HOST, 0))
    port = listeners[1].getsockname()[1] if wishes.entrance else 0
    workspace, _ = open_workspace(settings)
    application = create_app(workspace, settings)
    if wishes.entrance:
        application.router.routes.append(Route("/enter/{secret}", Entrance(workspace, wishes).enter))
    application.add_middleware(OnlyHere, hosts=frozenset({f"{HOST}:{port}", f"localhost:{port}", "gainboard.local"}))

    def listening() -> None:
        gc.freeze()
        gc.enable()  # local_process.py has disabled it
        print(port, file=told, flush=True)
        if settings.fast == "on":
            # It is not compiled here: that takes longer than most services of this kind live.
            Thread(target=acceleration.load_kept, daemon=True).start()

    server = Server(application, "", listening)
    Thread(target=_end_with_owner, args=(server,), daemon=True).start()
    server.run(listeners)


def _end_with_owner(server: Server) -> None:
    sys.stdin.read()
    server.should_exit = True
