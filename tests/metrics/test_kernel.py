"""The compiled loop of scoring, run as the Python that it is written in: no test of the first part compiles it."""

import subprocess
import sys

import pytest

from gainboard.acceleration import is_installed
from tests.outside import ROOT, outside

SCRIPT = """
import numpy as np
from gainboard.metrics import score_all
from gainboard.metrics.scoring import SCORING
from tests.metrics.test_ways import every_way
from tests.metrics.judged import judged

qrels = {f"t{size}": {f"d{number}": number * 7 % 5 - 1 for number in range(size)} for size in (9, 130)}
run = {}
for topic, levels in qrels.items():
    run[topic] = [*dict.fromkeys([*sorted(levels, key=lambda name: name[::-1])[::2], "u1", *levels, "u2"])]
for gains, condensed in (("0.3:0.2:0.1", "false"), ("exp", "true")):
    metrics = every_way(gains, condensed)
    plainly = score_all(metrics, judged(qrels, run))
    SCORING.load()
    assert SCORING.get() is not None
    looped = score_all(metrics, judged(qrels, run))
    SCORING.unload()
    different = (plainly.view(np.int64) != looped.view(np.int64)).any(axis=(1, 2))
    assert not different.any(), [metrics[at].label for at in np.flatnonzero(different)[:5]]
"""


@pytest.mark.outer
@pytest.mark.skipif(not is_installed(), reason="the fast extra is not installed")
def test_the_loop_gives_the_bits_of_plain_scoring():
    command = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(
        command, cwd=ROOT, env=outside(NUMBA_DISABLE_JIT="1"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
