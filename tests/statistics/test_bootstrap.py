"""The bootstrap: the worked examples, and loops over pairs and resamples written from the definition."""

import json
import math
from itertools import combinations, product
from pathlib import Path
from statistics import mean, stdev, variance

import numpy as np
import pytest

from gainboard.statistics.bootstrap import PairedBootstrap, paired_bootstrap, unpaired_bootstrap
from gainboard.statistics.draws import Draws, resample_counts
from gainboard.statistics.means import pair_differences
from gainboard.statistics.multiple_comparisons import max_t
from gainboard.statistics.significance import SignificanceSettings

from .matrices import EVERY_KIND, tenths

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "statistics-examples.json").read_text())
ALPHAS = (0.01, 0.05, 0.2, 0.6)
kinds = pytest.mark.parametrize("scores", EVERY_KIND.values(), ids=EVERY_KIND)


@pytest.mark.parametrize("name", ["bootstrap_exact_n5", "bootstrap_exact_n4", "bootstrap_fixed10"])
def test_worked_examples_have_their_levels_and_differences(name):
    case = GOLDEN[name]
    n = len(case["x"])
    resamples = np.array(case.get("samples") or list(product(range(n), repeat=n)))
    z = np.array([case["x"]]) - case["y"]
    found = paired_bootstrap(z, resample_counts(resamples, n), [float(alpha) for alpha in case["diff"]])
    assert len(resamples) == case["B"]
    assert found["asl"].tolist() == [case["ASL"]]
    assert found["estimated_differences"][:, 0, 0] == pytest.approx(list(case["diff"].values()), abs=1e-14)


@pytest.mark.parametrize(("pair", "own"), [("XY", 0.04995), ("YZ", 0.5245), ("XZ", 0.12475)])
def test_the_books_levels_are_met_within_what_drawing_leaves_open(pair, own):
    case = GOLDEN[f"sakai_book_{pair}"]
    asl = PairedBootstrap().decide(np.array([case["x"], case["y"]]), SignificanceSettings(resamples=20_000)).asl
    assert asl == pytest.approx([case["asl_mc20k_seed0"]], abs=4 * math.sqrt(2 * 0.25 / 20_000))
    assert asl.tolist() == [own]


@kinds
def test_pairs_and_resamples_one_by_one_give_the_same(scores):
    resamples = Draws(3, "test").resamples(90, scores.shape[1])
    z = pair_differences(scores)
    found = paired_bootstrap(z, resample_counts(resamples, z.shape[1]), ALPHAS, largest=True)
    asl, estimated = zip(*(plain_paired(row, resamples) for row in z), strict=True)
    assert found["asl"].tolist() == list(asl)
    assert found["estimated_differences"] == pytest.approx(np.moveaxis(np.array(estimated), 0, -1), abs=1e-12)


@kinds
def test_unpaired_pairs_and_resamples_one_by_one_give_the_same(scores):
    n = scores.shape[1]
    drawn = (Draws(3, "first").resamples(60, n), Draws(3, "second").resamples(60, n))
    found = unpaired_bootstrap(scores, (resample_counts(drawn[0], n), resample_counts(drawn[1], n)), ALPHAS)
    plain = [plain_unpaired(x, y, *drawn) for x, y in combinations(scores, 2)]
    assert found["asl"].tolist() == [asl for asl, _ in plain]
    assert found["estimated_differences"] == pytest.approx(
        np.moveaxis(np.array([found for _, found in plain]), 0, -1), abs=1e-12
    )


@kinds
def test_max_t_counts_the_resamples_whose_own_t_is_infinite_or_whose_largest_finite_t_is_as_large(scores):
    resamples = Draws(3, "test").resamples(90, scores.shape[1])
    z = pair_differences(scores)
    found = paired_bootstrap(z, resample_counts(resamples, z.shape[1]), largest=True)
    drawn = np.array([[abs(t(row - row.mean(), resample)) for resample in resamples] for row in z])
    largest = np.where(np.isinf(drawn), 0, drawn).max(axis=0)
    own = [abs(t(row, np.arange(len(row)))) for row in z]
    counts = [
        sum(math.isinf(each) or reaches(most, observed) for each, most in zip(row, largest, strict=True))
        for row, observed in zip(drawn, own, strict=True)
    ]
    adjusted = max_t(found["observed"], found["largest"], found["infinite_counts"], found["infinite_resamples"])
    assert adjusted.tolist() == [(1 + count) / 91 for count in counts]
    assert (adjusted >= found["asl"]).all()


def test_as_many_pairs_as_need_several_pieces_give_what_each_gives_alone():
    z = pair_differences(tenths(16, 20))
    counts = resample_counts(Draws(0, "test").resamples(2000, 20), 20)
    together = paired_bootstrap(z, counts, (0.05,))
    alone = [paired_bootstrap(z[pair : pair + 1], counts, (0.05,)) for pair in range(len(z))]
    assert together["asl"].tolist() == [found["asl"][0] for found in alone]
    assert together["estimated_differences"][0] == pytest.approx(
        np.concatenate([found["estimated_differences"][0] for found in alone], axis=-1), abs=1e-14
    )


def t(z, resample):
    drawn = [float(z[topic]) for topic in resample]
    spread = stdev(drawn)
    if abs(mean(drawn)) <= 1e-12:
        return 0.0
    return mean(drawn) / (spread / math.sqrt(len(drawn))) if spread > 1e-12 else math.inf


def reaches(each, observed):
    return each >= observed * (1 - 1e-9)


def plain_paired(z, resamples):
    w = z - mean(z.tolist())
    drawn = [(abs(t(w, resample)), abs(mean(w[resample].tolist()))) for resample in resamples]
    return plain_summary(abs(t(z, np.arange(len(z)))), drawn)


def plain_unpaired(x, y, first, second):
    u, v = x - mean(x.tolist()), y - mean(y.tolist())
    drawn = [welch(u[one].tolist(), v[two].tolist()) for one, two in zip(first, second, strict=True)]
    return plain_summary(welch(x.tolist(), y.tolist())[0], drawn)


def welch(x, y):
    difference, error = abs(mean(x) - mean(y)), math.sqrt(variance(x) / len(x) + variance(y) / len(y))
    if difference <= 1e-12:
        return 0.0, difference
    return (difference / error if error > 1e-12 else math.inf), difference


def plain_summary(observed, drawn):
    asl = sum(reaches(each, observed) for each, _ in drawn) / len(drawn)
    order = sorted(range(len(drawn)), key=lambda place: (-float(f"{drawn[place][0]:.9g}"), place))
    errors = [2 * math.sqrt(alpha * (1 - alpha) / len(drawn)) for alpha in ALPHAS]
    shares = [(alpha, alpha - error, min(1, alpha + error)) for alpha, error in zip(ALPHAS, errors, strict=True)]
    ranks = [[max(1, math.ceil(len(drawn) * share - 1e-9)) for share in own] for own in shares]
    return asl, [[drawn[order[rank - 1]][1] for rank in own] for own in ranks]
