"""A server on a port of this machine, for the commands that run one."""

from __future__ import annotations

import errno
import socket
import sys
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from gainboard.cli.options import LAST_PORT
from gainboard.errors import BadSetting

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
