"""What the type checker knows of calls, which it is asked with all other code; and that nothing heavy is imported."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import assert_type

from gainboard.analyses.bootstrap_sensitivity import SensitivityResult
from gainboard.analyses.result_models import JobResult, ReportResult
from gainboard.api.models.jobs import JobAnswer
from gainboard.api.models.runs import RunAnswer
from gainboard.client import AsyncGainboard, AsyncJob, Gainboard, Job, Report
from gainboard.client.answers import Scores
from tests.outside import outside


def known_of_the_blocking(gb: Gainboard) -> None:
    """Never called: only read by the type checker."""
    assert_type(gb.run("web", "lemur-1"), RunAnswer)
    assert_type(gb.runs("web"), Iterator[RunAnswer])
    assert_type(gb.scores("web", "AP", gains="3:2:1"), Scores)
    assert_type(gb.job("web", "stability", metrics=["AP"]), Job)
    assert_type(gb.job("web", "stability").wait(), JobAnswer)
    result = gb.job("web", "bootstrap-sensitivity").result()
    assert_type(result, JobResult)
    assert isinstance(result, SensitivityResult)
    assert_type(result.metrics[0].levels[0].sensitivity, float)
    assert_type(gb.reports(), Iterator[Report])
    assert_type(gb.report("q-measure-appendix", "web").result(), ReportResult)
    gb.run("web")  # type: ignore[call-arg]
    gb.scores("web", gians="3:2:1")  # type: ignore[call-arg]
    gb.leaderboard("web", top="3")  # type: ignore[arg-type]
    gb.submit("web", b"", taem="lemur")  # type: ignore[call-arg]
    gb.create_collection("web", 3, gains=3)  # type: ignore[arg-type]


async def known_of_the_asynchronous(gb: AsyncGainboard) -> None:
    """Never called either."""
    assert_type(await gb.run("web", "lemur-1"), RunAnswer)
    assert_type(gb.runs("web"), AsyncIterator[RunAnswer])
    assert_type(gb.jobs(), AsyncIterator[AsyncJob])


def test_importing_the_client_imports_neither_the_service_nor_numpy() -> None:
    program = "import sys, gainboard.client; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=outside())
    loaded = set(done.stdout.split())
    assert "httpx" in loaded
    assert not loaded & {"fastapi", "starlette", "sqlalchemy", "numpy", "scipy", "pandas", "polars"}
