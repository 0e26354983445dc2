"""Whether tables compile: all of a test in one document, by pdfLaTeX where it is installed."""

import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from gainboard.exhibits.latex import as_latex

POINTS_OVER = 4.0
"""By how much a line may be too wide, about the width of a digit."""


def compiles(tables):
    """Fails where LaTeX refuses a table, or one runs off its page; skips the test where there is no LaTeX."""
    compiles_text("\n\\clearpage\n".join(map(as_latex, tables)))


def compiles_text(body):
    assert body
    start = rf"\documentclass{{article}}\usepackage{{{','.join(packages_of(body))}}}\begin{{document}}\listoftables"
    compiles_document(f"{start}\n{body}\n\\end{{document}}\n")


def compiles_document(text):
    if shutil.which("pdflatex") is None:
        pytest.skip("no pdflatex is installed to compile tables with")
    with TemporaryDirectory() as folder:
        log = _compiled(Path(folder), text)
    too_wide = re.findall(r"Overfull \\hbox \((\d+\.?\d*)pt too wide\).*", log)
    assert [points for points in too_wide if float(points) > POINTS_OVER] == []
    assert "Float too large" not in log


def packages_of(body):
    return sorted(set(",".join(re.findall(r"^% \\usepackage\{(.*)\}$", body, re.MULTILINE)).split(",")))


def _compiled(folder, text):
    (folder / "t.tex").write_text(text, encoding="utf-8")
    for _ in range(2):  # the second reads the list of tables that the first wrote
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
        assert done.returncode == 0, done.stdout[-2000:]
    # Lines of the log are cut at 79 characters; what is looked for is shorter.
    return done.stdout
