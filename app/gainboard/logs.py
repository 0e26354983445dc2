"""The log: one JSON object per line, on standard error."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

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


def configure(level: int = logging.INFO) -> None:
    """Send all log messages of Gainboard and of the server to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
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
