"""bootstrap-sensitivity: it gives the scores on common topics to the tests, and counts what these say."""

from itertools import combinations

import numpy as np
import pytest

from gainboard.errors import InvalidRequest
from gainboard.exhibits import Marked
from gainboard.statistics import every_test, find_test
from gainboard.statistics.multiple_comparisons import differing_pairs, significance_groups
from gainboard.statistics.significance import SignificanceSettings, uncertain_pairs
from tests.world.groves import tables_of

KIND = "bootstrap-sensitivity"
METRICS = ["Q", "P@5", "AP"]
TESTS = [test.name for test in every_test()]
CORRECTED = [(test, "holm") for test in ("paired-bootstrap", "t-test", "randomisation")]
CORRECTED += [("paired-bootstrap", "max-t"), ("unpaired-bootstrap", "max-t"), ("t-test", "benjamini-hochberg")]
B, SEED, ALPHAS = 120, 11, (0.3, 0.05)


def asked(name, **more):
    drawn = {"resamples": B} if find_test(name).default_resamples else {}
    return {"metrics": METRICS, "test": name, "seed": SEED, "alphas": ALPHAS, **drawn, **more}


def by_kernel(rows, name, correction="none"):
    """The outcome of the test on a metric's scores, and the levels that decide."""
    drawn, scores = find_test(name).default_resamples and B, np.array(list(rows.values()))
    settings = SignificanceSettings(seed=SEED, resamples=drawn, alphas=ALPHAS, largest=correction == "max-t")
    outcome = find_test(name).decide(scores, settings)
    return outcome, find_test(name).corrected(outcome, correction)


@pytest.mark.parametrize(("name", "correction"), [*((name, "none") for name in TESTS), *CORRECTED])
def test_every_pair_has_the_level_of_its_test_and_pairs_are_counted_by_it(answer, laboratory, name, correction):
    found = answer(KIND, **asked(name, correction=correction))
    test, scores = find_test(name), laboratory.common(*METRICS)
    assert [metric["metric"] for metric in found["metrics"]] == list(scores)
    for metric in found["metrics"]:
        rows, pairs = scores[metric["metric"]], metric["pairs"]
        outcome, corrected = by_kernel(rows, name, correction)
        table = np.array(list(rows.values()))
        assert [tuple(pair["runs"]) for pair in pairs] == list(combinations(rows, 2))
        assert [pair["asl"] for pair in pairs] == pytest.approx(outcome.asl.tolist(), abs=1e-12)
        assert [pair.get("asl_corrected", pair["asl"]) for pair in pairs] == pytest.approx(corrected, abs=1e-12)
        (alike,) = (pair for pair in pairs if pair["runs"] == ["hazel", "yew"])
        assert (alike["difference"], alike["asl"]) == (0, 1)
        assert metric["asl_curve"] == sorted((pair["asl"] for pair in pairs), reverse=True)
        effects = test.effects(table)
        for each, column in (("difference", effects.difference), ("effect_size", effects.size)):
            own = [np.nan if pair[each] is None else pair[each] for pair in pairs]
            assert own == pytest.approx(column.tolist(), abs=1e-12, nan_ok=True)
        assert [pair["interval"][0] for pair in pairs] == pytest.approx(effects.low.tolist(), abs=1e-12)
        if correction == "max-t":
            assert metric["resamples_with_infinite_t"] == outcome.any_infinite.sum()
        for place, (level, alpha) in enumerate(zip(metric["levels"], ALPHAS, strict=True)):
            significant = int((corrected < alpha).sum())
            assert (level["alpha"], level["significant_pairs"], level["pairs"]) == (alpha, significant, 28)
            assert level["sensitivity"] == significant / 28
            check_range(level, corrected, None if test.is_exact(11) else outcome.resamples, correction)
            estimated = outcome.estimated_differences
            assert (level["estimated_difference"] is None) == (estimated is None) == (not name.endswith("bootstrap"))
            if estimated is not None:
                shares = estimated[place].max(axis=-1).tolist()
                assert level["estimated_difference"] == pytest.approx(shares[0], abs=1e-12)
                assert level["estimated_difference_printed"] == f"{shares[0]:.2f}"
                assert level["estimated_difference_range"] == pytest.approx([min(shares), max(shares)], abs=1e-12)
            if test.is_simultaneous:
                groups = significance_groups(table.mean(axis=1), differing_pairs(corrected, 8, alpha))
                assert level["groups"] == {run: [*own] for run, own in zip(rows, groups, strict=True)}
    assert tables_of(found)


def check_range(level, asl, resamples, correction):
    if correction in ("holm", "benjamini-hochberg") and resamples is not None:
        assert (level["uncertain_pairs"], level["significant_range"]) == (None, None)
        return
    near = uncertain_pairs(asl, level["alpha"], resamples)
    low = int(((asl < level["alpha"]) & ~near).sum())
    assert (level["uncertain_pairs"], level["significant_range"]) == (near.sum(), [low, low + near.sum()])


def test_too_few_resamples_for_holms_correction_are_told(answer):
    found = answer(KIND, **asked("paired-bootstrap", correction="holm", alphas=[0.05, 0.01]))
    assert found["resamples_needed"] == 2800
    assert found["note"].startswith("120 resamples are too few for Holm's correction of 28 pairs, so no pair is signif")
    assert list(tables_of(found)[0].notes) == [found["note"]]
    assert {level["significant_pairs"] for metric in found["metrics"] for level in metric["levels"]} == {0}
    assert any(pair["asl"] == 0 for metric in found["metrics"] for pair in metric["pairs"])


def test_the_table_is_sorted_by_sensitivity_and_marks_what_beats_the_baseline(answer):
    metrics = ["Q", "P@5", "AP", "nDCG@10", "RR"]
    found = answer(KIND, metrics=metrics, alphas=[0.05, 0.2], test="t-test")
    counts = {each["metric"]: [level["significant_pairs"] for level in each["levels"]] for each in found["metrics"]}
    assert found["by_sensitivity"] == sorted(counts, key=lambda label: [-count for count in counts[label]])
    assert found["baseline"] == "AP"
    assert found["beats_baseline"] == [
        label
        for label, own in counts.items()
        if all(count > other for count, other in zip(own, counts["AP"], strict=True))
    ]


SEVERAL = {"metrics": ["AP", "Q", "P@5", "nDCG@10", "RR"], "resamples": 60, "alphas": [0.3, 0.1]}


@pytest.mark.parametrize(("correction", "first"), [("none", 2**64 - 1), ("max-t", 4), ("holm", 2**64 - 2)])
def test_counts_under_several_seeds_are_those_of_jobs_with_each_seed(answer, correction, first):
    params = SEVERAL | {"correction": correction}
    found = answer(KIND, **params, seed=first, seeds=4)
    each = [answer(KIND, **params, seed=(first + step) % 2**64) for step in range(4)]
    for place, metric in enumerate(found["metrics"]):
        assert metric["pairs"] == each[0]["metrics"][place]["pairs"]
        for row, level in enumerate(metric["levels"]):
            own = [job["metrics"][place]["levels"][row] for job in each]
            assert level["significant_pairs_by_seed"] == [under["significant_pairs"] for under in own]
            assert level["estimated_difference"] == own[0]["estimated_difference"]
    assert found["first_by_seed"] == [job["by_sensitivity"][0] for job in each]
    beating = [set(job["beats_baseline"]) for job in each]
    assert set(found["beats_baseline"]) == beating[0]
    assert set(found["uncertain_marks"]) == set.union(*beating) - set.intersection(*beating)


def test_marks_and_the_first_metric_change_with_the_seed_and_the_table_says_so(answer):
    found = answer(KIND, **SEVERAL, seeds=8)
    uncertain, firsts = found["uncertain_marks"], set(found["first_by_seed"])
    assert uncertain
    assert len(firsts) > 1
    table = tables_of(found)[0]
    italic = [row[0].value for row in table.rows if isinstance(row[0], Marked) and row[0].style == "italic"]
    assert set(italic) == set(uncertain)
    assert table.second_mark == "more sensitive than AP at every level, but only under some of 8 seeds"
    note, *others = table.notes
    assert others == [found["note"]]
    assert set(note.rstrip(".").partition(": ")[2].split(" or ")) == firsts
    alone = tables_of(answer(KIND, **SEVERAL))[0]
    assert (alone.second_mark, alone.notes) == ("", [found["note"]])


@pytest.mark.parametrize("name", ["t-test", "paired-bootstrap"])
def test_levels_that_no_exchange_of_signs_gives_are_counted(answer, laboratory, name):
    found = answer(KIND, **asked(name))
    doubtful, pairs = 0, 0
    for metric in found["metrics"]:
        scores = laboratory.common(*METRICS)[metric["metric"]]
        for pair in metric["pairs"]:
            first, second = (np.array(scores[run]) for run in pair["runs"])
            level = (1 + pair["asl"] * B) / (1 + B) if name == "paired-bootstrap" else pair["asl"]
            doubtful += level < min(1, 2 / 2 ** int((abs(first - second) > 1e-12).sum()))
            pairs += 1
    assert 0 < doubtful < pairs
    assert found["note"].startswith(f"{doubtful} of {pairs} levels are below all those of the exact randomisation test")


def test_pairs_are_bounded_over_all_seeds(shelf, monkeypatch):
    monkeypatch.setattr("gainboard.analyses.pair_tests.MOST_TESTED_PAIRS", 28 * 2)
    shelf.launch(KIND, metrics=["RR"], seeds=2)
    with pytest.raises(InvalidRequest, match="84 pairs of runs"):
        shelf.launch(KIND, metrics=["RR"], seeds=3)
