"""Services of one command, in this process: another one takes two seconds of CPU to start."""

import secrets
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import patch

import httpx

from gainboard.cli.options import environment_here
from gainboard.settings import Settings
from tests.world.servers import NO_AUTHORITIES, new_settings, serving


class _Here(httpx.HTTPTransport):
    def __init__(self, url):
        super().__init__(verify=NO_AUTHORITIES)
        self._port = httpx.URL(url).port

    def handle_request(self, request):
        """Sends it to this port, whatever its address."""
        request.url = request.url.copy_with(host="127.0.0.1", port=self._port)
        return super().handle_request(request)


class ServiceHere:
    """In place of `gainboard.client.connections.LocalService`, where no browser is let in."""

    def __init__(self, data=None, *, job_slots=None, for_browsers=False):
        assert not for_browsers
        self.token = secrets.token_urlsafe(32)
        self._stack = ExitStack()
        if data is None:
            data = Path(tempfile.mkdtemp(prefix="gainboard-"))
            self._stack.callback(shutil.rmtree, data)
            new_settings(data)
        given = {"data": data, "admin_token": self.token, "job_slots": job_slots, "access_log": "off"}
        service = self._stack.enter_context(serving(Settings.read(environment_here(), **given)))
        self.transport = _Here(service.url)

    def close(self):
        self._stack.close()


def served_here():
    """As long as this lasts, commands that need a service of their own have one in this process."""
    return patch("gainboard.client.gainboard.LocalService", ServiceHere)
