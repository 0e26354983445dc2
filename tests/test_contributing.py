"""docs/contributing.md names what is there, and its metric works."""

import re
import subprocess
import sys
import textwrap

import pytest

from tests.outside import ROOT, outside
from tests.world.pages import DOCS, block

PAGE = DOCS["contributing.md"]


def test_every_file_and_test_that_the_page_names_is_there():
    named = {name for name in re.findall(r"`((?:app|tests|docs)/[\w./]+)`", PAGE) if "NAME" not in name}
    assert len(named) > 20
    assert sorted(name for name in named if not (ROOT / name).exists()) == []
    texts = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py"))
    named = set(re.findall(r"`(test_\w+)`", PAGE))
    assert len(named) > 8
    assert sorted(name for name in named if f"def {name}(" not in texts) == []


@pytest.mark.outer
def test_the_metric_of_the_page_is_one():
    example = block(PAGE, "example: metric")
    program = f"""from gainboard.metrics.precision import *
from gainboard.metrics.catalogue import metric
from gainboard.metrics.values import Value
from gainboard.metrics.views import BinaryRankings
{textwrap.dedent(example)}
from gainboard.metrics import Scale, resolve
from tests.metrics.judged import judged, scores_of
print(scores_of(resolve("Hit@2", Scale(1)), judged({{"t": {{"a": 1, "b": 1}}}}, {{"t": ["x", "a", "b"]}})))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=outside(), capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("[1.]", "")
