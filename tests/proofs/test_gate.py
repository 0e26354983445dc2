import resource
import subprocess
import sys

import numpy as np
import pytest

from gainboard.statistics.gates import ALPHA, one_sided_tests
from tests import real
from tests.outside import outside
from tests.proofs.gate import POPULATIONS, SKEWED, rows, shares


@pytest.mark.proof
def test_the_gate_errs_in_no_more_than_its_share_where_differences_are_not_skewed():
    # With 2,000 changes, two standard errors are 1 %; the command has 10,000 and all numbers of topics.
    found = dict(rows(POPULATIONS, 2000, (20, 60)))
    assert {name: both for name, of_topics in found.items() for both in of_topics if max(both) > ALPHA + 0.015} == {}
    skewed = dict(rows(SKEWED, 2000, (20, 60)))
    # A bootstrap beside Student's t halves what skewed differences do to it.
    assert max(max(both) for _, both in skewed.values()) < 0.08 < max(max(both) for both, _ in skewed.values())


@pytest.mark.proof
def test_the_proof_leaves_out_only_what_cannot_be_significant_and_a_margin_is_a_shift():
    sample, topics, margin = SKEWED["exponential, fails on some"], 60, 0.03
    differences = sample(np.random.default_rng([0, topics]), (500, topics))
    every = one_sided_tests(differences, np.zeros(500))
    assert shares(sample, topics, 500) == [np.mean(levels < ALPHA) for levels in (every.worse, every.not_worse)]
    lost = one_sided_tests(differences - margin, np.full(500, margin))
    np.testing.assert_allclose(lost.not_worse, every.not_worse)


@pytest.mark.proof
def test_a_verdict_on_real_runs_takes_a_second_and_a_half_from_the_start_of_the_process():
    data = real.folder()
    runs = [data / "runs" / f"input.{name}.gz" for name in ("TUA1-1", "TUW19-p1-f")]
    words = [sys.executable, "-m", "gainboard", "gate", data / "qrels.dl19-passage.txt", *runs, "-mnDCG@10"]
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([*words, "--margin", "0.01"], env=outside(), capture_output=True, text=True, check=False)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert (done.returncode, "worse by 0.0541" in done.stdout) == (1, True), done.stderr
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    # Of the processor, because others use the machine, too; and on one that is three times slower.
    assert min(seconds) < 3 * 1.5
