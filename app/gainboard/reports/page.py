"""The kinds of reports as a section of docs/reports.md.

`python -m gainboard.reports.page docs/reports.md` renews that section.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from gainboard.jobs.page import between, parameters_table
from gainboard.reports import papers  # noqa: F401 (importing it fills the catalogue)
from gainboard.reports.describe import example, schema
from gainboard.reports.kind import ReportKind, ReportParams, every_report_kind

BEGIN: Final = "<!-- reports: begin; to renew it: python -m gainboard.reports.page docs/reports.md -->\n"
END: Final = "<!-- reports: end -->\n"


def reports_page() -> str:
    """Markdown: the parameters that every report has in a table, then every kind with its own."""
    common = ReportParams.model_json_schema()
    lines = ["Every report takes:\n", *parameters_table(common["properties"], common), ""]
    return "\n".join([*lines, *(line for kind in every_report_kind() for line in _section(kind))])


def renewed(page: str) -> str:
    """The page with what stands between its two markers made anew. Raises ValueError where they are not there."""
    return between(page, BEGIN, reports_page(), END)


def _section(kind: ReportKind[Any]) -> Iterator[str]:
    described, common = schema(kind), ReportParams.model_json_schema()["properties"]
    own = {name: field for name, field in described["properties"].items() if field != common.get(name)}
    yield f"### {kind.name}\n"
    yield f"{kind.reference}.\n"
    yield f"{kind.definition}\n"
    if own:
        yield from parameters_table(own, described)
        yield ""
    yield f"```json\n{json.dumps(example(kind))}\n```\n"


def _renew(path: Path) -> None:
    path.write_text(renewed(path.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    _renew(Path(sys.argv[1]))
