"""A real nginx of a test's own, with the site that the test gives."""

import os
import shutil
import socket
import subprocess
from contextlib import contextmanager

from tests.waiting import until

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


@contextmanager
def running(folder, site, port):
    """Run nginx with this part of its configuration until the end of the block. It listens on the port."""
    assert NGINX is not None
    temporary = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    user = "user root;" if os.geteuid() == 0 else ""  # another user could not enter pytest's folder
    (folder / "site.conf").write_text(site, encoding="utf-8")
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;\n"
        "events { worker_connections 256; }\nhttp {\naccess_log off;\n"
        + "".join(f"{each}_temp_path {folder}/{each};\n" for each in temporary)
        + f"include {folder}/site.conf;\n}}\n",
        encoding="utf-8",
    )
    process = subprocess.Popen([NGINX, "-p", str(folder), "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"])
    try:
        until(lambda: process.poll() is not None or _listens(port))
        assert process.poll() is None, (folder / "error.log").read_text(encoding="utf-8")
        yield
    finally:
        process.terminate()
        process.wait(30)


def _listens(port):
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
