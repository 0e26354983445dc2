"""The gallery as a part of the documentation: the pictures of `docs/gallery`, and what `made.json` says of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from gainboard.documentation.pages import root


def gallery_page() -> str:
    """Return every kind of job and report with its figure, or a part of its table, and the request for it."""
    gallery: dict[str, Any] = json.loads((root() / "docs/gallery/made.json").read_text(encoding="utf-8"))
    return "\n".join(line for name, kind in gallery.items() for line in _section(name, kind))


def _section(name: str, kind: dict[str, Any]) -> Iterator[str]:
    yield f"### {name}\n"
    yield f"{kind['summary']} [All about it]({kind['page']}#{name})\n"
    if "caption" in kind:
        yield f"![{kind['caption']}](gallery/{name}.svg)\n"
        yield f"{kind['caption']}\n"
    for line in kind.get("table", ()):
        yield f"| {' | '.join(line)} |"
    yield f"\n```http\nPOST {kind['path']}\n{json.dumps(kind['body'])}\n```\n"
