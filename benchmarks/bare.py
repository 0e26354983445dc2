"""A FastAPI application without middleware that sends bytes from memory: HTTP alone costs this much."""

from __future__ import annotations

import argparse
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Response


def create_app(body: bytes, encoding: str) -> FastAPI:
    """Return an application whose `/` sends the body as it is; `/unchanged` answers 304."""
    application = FastAPI(openapi_url=None)
    headers = {"Content-Encoding": encoding} if encoding else {}

    @application.get("/")
    async def send() -> Response:
        return Response(body, 200, headers, "application/json")

    @application.get("/unchanged")
    async def unchanged() -> Response:
        return Response(status_code=304)

    return application


def main() -> None:
    """Serve until the process is stopped."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bare")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--body", type=Path, required=True)
    parser.add_argument("--encoding", required=True)
    parsed = parser.parse_args()
    application = create_app(parsed.body.read_bytes(), parsed.encoding)
    uvicorn.run(application, host="127.0.0.1", port=parsed.port, log_level="warning", access_log=False)


if __name__ == "__main__":
    main()
