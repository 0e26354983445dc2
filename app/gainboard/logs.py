"""The log, on standard error: text on a terminal, else one JSON object per line."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Any

ACCESS = "gainboard.access"
"""The logger whose messages are complete lines of JSON."""


class JsonLines(logging.Formatter):
    """A formatter that writes a record as JSON, with the id of its request."""

    def format(self, record: logging.LogRecord) -> str:
        if record.name == ACCESS:
            return record.getMessage()
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if hasattr(record, "request_id"):
            line["request_id"] = record.request_id
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


class TextLines(logging.Formatter):
    """A formatter that writes a record for people: the local time, the level if it is a warning or worse, the message.

    A line of the access log becomes `12:00:00 GET /v1/collections 200, 3 ms`.
    """

    def format(self, record: logging.LogRecord) -> str:
        if record.name == ACCESS:
            return "\n".join(_request_line(json.loads(line)) for line in record.getMessage().split("\n"))
        level = f"{record.levelname}: " if record.levelno >= logging.WARNING else ""
        line = _text_line(datetime.fromtimestamp(record.created, UTC), level + record.getMessage())
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def _request_line(request: dict[str, Any]) -> str:
    took = f"{1000 * request['seconds']:,.0f} ms"
    answered = f"{request['method']} {request['path']} {request['status']}, {took}"
    return _text_line(datetime.fromisoformat(request["time"]), answered)


def _text_line(time: datetime, text: str) -> str:
    # A path is from outside. Its escape sequences must not control the terminal.
    shown = "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)
    return f"{time.astimezone():%H:%M:%S} {shown}"


def configure(level: int = logging.INFO) -> None:
    """Send all log messages of Gainboard and of the server to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(TextLines() if sys.stderr.isatty() else JsonLines())
    root = logging.getLogger()
    root.handlers = [handler]
    root.setLevel(logging.WARNING)
    for name in ("gainboard", "uvicorn.error"):
        logging.getLogger(name).setLevel(level)
    # A server that was started as `uvicorn --factory` has handlers of its own. Its access log contains queries.
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logging.getLogger(name).handlers = []
        logging.getLogger(name).propagate = True
    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
