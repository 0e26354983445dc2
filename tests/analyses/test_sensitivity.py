"""bootstrap-sensitivity, against every test worked pair by pair with loops over resamples."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from gainboard.errors import InvalidRequest
from gainboard.exhibits import Marked, Table
from gainboard.statistics import every_test
from tests.analyses.plain_tests import (
    SEED,
    B,
    asls,
    estimated,
    holm,
    mean,
    reaches,
    resampled_t,
    resampled_welch,
    stdev,
)
from tests.world.groves import NO_RELEVANT, ONLY_LOW, tables_of

METRICS = ["Q", "P@5", "AP"]
RUNS = ["yew", "maple", "hazel", "oak"]
TESTS = [test.name for test in every_test()]


def asked(name, **more):
    drawn = {"resamples": B} if name not in ("t-test", "wilcoxon", "sign") else {}
    return {"metrics": METRICS, "test": name, "seed": SEED, **drawn, **more}


@pytest.mark.parametrize("name", TESTS)
def test_every_pair_has_the_level_of_its_test(answer, laboratory, name):
    found = answer("bootstrap-sensitivity", **asked(name, runs=RUNS))
    scores = laboratory.common(*METRICS, runs=RUNS)
    assert [metric["metric"] for metric in found["metrics"]] == list(scores)
    for metric in found["metrics"]:
        rows = scores[metric["metric"]]
        levels = asls(name, list(rows.values()))
        assert [pair["runs"] for pair in metric["pairs"]] == [[*pair] for pair in combinations(rows, 2)]
        # Runs that rank alike never differ.
        alike = metric["pairs"][1]
        assert (alike["runs"], alike["difference"], alike["asl"]) == (["yew", "hazel"], 0, 1)
        assert [pair["asl"] for pair in metric["pairs"]] == pytest.approx(levels, abs=1e-12)
        assert metric["asl_curve"] == sorted((pair["asl"] for pair in metric["pairs"]), reverse=True)
        for level, alpha in zip(metric["levels"], (0.05, 0.01), strict=True):
            significant = sum(each < alpha for each in levels)
            assert (level["alpha"], level["significant_pairs"], level["pairs"]) == (alpha, significant, 6)
            assert level["sensitivity"] == significant / 6
            # Only bootstraps estimate differences.
            estimates = [level["estimated_difference"], level["estimated_difference_printed"]]
            assert [each is None for each in estimates] == [not name.endswith("bootstrap")] * 2


@pytest.mark.parametrize("name", ["randomisation", "wilcoxon", "sign", "t-test"])
def test_more_topics_than_can_be_enumerated(many_topics, name):
    found = many_topics.answer("bootstrap-sensitivity", **asked(name))
    scores = many_topics.common(*METRICS)
    assert (found["topics"], found["topics_left_out"]) == (19, [NO_RELEVANT])
    for metric in found["metrics"]:
        levels = asls(name, list(scores[metric["metric"]].values()))
        assert [pair["asl"] for pair in metric["pairs"]] == pytest.approx(levels, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "resampled"), [("paired-bootstrap", resampled_t), ("unpaired-bootstrap", resampled_welch)]
)
def test_the_estimated_difference_is_the_largest_of_all_pairs(answer, laboratory, name, resampled):
    found = answer("bootstrap-sensitivity", **asked(name, alphas=[0.1, 0.05, 0.01]))
    for label, rows in laboratory.common(*METRICS).items():
        drawn = [resampled(x, y)[1] for x, y in combinations(rows.values(), 2)]
        (metric,) = (each for each in found["metrics"] if each["metric"] == label)
        for level in metric["levels"]:
            theirs = max(estimated(each, level["alpha"]) for each in drawn)
            assert level["estimated_difference"] == pytest.approx(theirs, abs=1e-12)
            assert level["estimated_difference_printed"] == f"{theirs:.2f}"
            error = 2 * math.sqrt(level["alpha"] * (1 - level["alpha"]) / B)
            ends = [max(estimated(each, level["alpha"] + sign * error) for each in drawn) for sign in (-1, 0, 1)]
            assert level["estimated_difference_range"] == pytest.approx([min(ends), max(ends)], abs=1e-12)


def test_effects_and_intervals_are_students(answer, laboratory):
    found = answer("bootstrap-sensitivity", **asked("t-test"))
    for metric in found["metrics"]:
        rows = laboratory.common(*METRICS)[metric["metric"]]
        for pair in metric["pairs"]:
            z = [a - b for a, b in zip(*(rows[run] for run in pair["runs"]), strict=True)]
            low, high = stats.t.interval(0.95, len(z) - 1, mean(z), stdev(z) / len(z) ** 0.5) if any(z) else (0, 0)
            assert pair["difference"] == pytest.approx(mean(z), abs=1e-12)
            assert pair["interval"] == pytest.approx([low, high], abs=1e-12)
            assert pair["effect_size"] == (pytest.approx(mean(z) / stdev(z), abs=1e-12) if any(z) else None)


def test_tukeys_effects_are_in_residual_standard_deviations(answer, laboratory):
    found = answer("bootstrap-sensitivity", **asked("randomised-tukey-hsd"))
    for metric in found["metrics"]:
        rows = laboratory.common(*METRICS)[metric["metric"]]
        table = np.array(list(rows.values()))
        residuals = table - table.mean(axis=1)[:, None] - table.mean(axis=0) + table.mean()
        spread = math.sqrt(float((residuals**2).sum()) / ((table.shape[0] - 1) * (table.shape[1] - 1)))
        theirs = [(mean(rows[x]) - mean(rows[y])) / spread for x, y in combinations(rows, 2)]
        assert [pair["effect_size"] for pair in metric["pairs"]] == pytest.approx(theirs, abs=1e-12)


@pytest.mark.parametrize("name", ["randomised-tukey-hsd", "bootstrap-range"])
def test_groups_are_all_largest_sets_of_runs_that_do_not_differ(answer, laboratory, name):
    found = answer("bootstrap-sensitivity", **asked(name, alphas=[0.3, 0.05]))
    for metric in found["metrics"]:
        rows = laboratory.common(*METRICS)[metric["metric"]]
        order = sorted(rows, key=lambda run: -round(mean(rows[run]), 12))
        for level in metric["levels"]:
            differing = {frozenset(pair["runs"]) for pair in metric["pairs"] if pair["asl"] < level["alpha"]}
            sets = [
                set(some)
                for size in range(1, 9)
                for some in combinations(order, size)
                if not any(frozenset(pair) in differing for pair in combinations(some, 2))
            ]
            largest = [some for some in sets if not any(some < other for other in sets)]
            largest.sort(key=lambda some: min(order.index(run) for run in some))
            theirs = {run: ["abcdefgh"[place] for place, some in enumerate(largest) if run in some] for run in rows}
            assert level["groups"] == theirs
    assert len({letter for own in found["metrics"][0]["levels"][0]["groups"].values() for letter in own}) > 1


@pytest.mark.parametrize("name", ["paired-bootstrap", "t-test", "randomisation"])
def test_holms_correction_decides_about_significance(answer, laboratory, name):
    plain = answer("bootstrap-sensitivity", **asked(name))
    found = answer("bootstrap-sensitivity", **asked(name, correction="holm"))
    for metric, same in zip(found["metrics"], plain["metrics"], strict=True):
        levels = [pair["asl"] for pair in metric["pairs"]]
        corrected = [pair["asl_corrected"] for pair in metric["pairs"]]
        assert levels == [pair["asl"] for pair in same["pairs"]]
        above = [(1 + level * B) / (1 + B) for level in levels] if name == "paired-bootstrap" else levels
        assert corrected == pytest.approx(holm(above), abs=1e-12)
        assert [level["significant_pairs"] for level in metric["levels"]] == [
            sum(each < alpha for each in corrected) for alpha in (0.05, 0.01)
        ]
    assert found["resamples_needed"] == (None if name == "t-test" else 2800)
    too_few = "120 resamples are too few for Holm's correction of 28 pairs, so no pair is significant"
    assert (found["note"] or "").startswith(too_few) == (name == "paired-bootstrap")
    table = tables_of(found)[0]
    assert isinstance(table, Table)
    assert list(table.notes) == ([found["note"]] if found["note"] else [])
    if name == "paired-bootstrap":
        assert {level["significant_pairs"] for metric in found["metrics"] for level in metric["levels"]} == {0}
        assert any(pair["asl"] == 0 for metric in found["metrics"] for pair in metric["pairs"])


@pytest.mark.parametrize(
    ("name", "resampled"), [("paired-bootstrap", resampled_t), ("unpaired-bootstrap", resampled_welch)]
)
def test_the_max_t_correction_compares_with_the_largest_finite_t_of_all_pairs(answer, laboratory, name, resampled):
    found = answer("bootstrap-sensitivity", **asked(name, correction="max-t"))
    for metric in found["metrics"]:
        rows = laboratory.common(*METRICS)[metric["metric"]]
        worked = [resampled(x, y) for x, y in combinations(rows.values(), 2)]
        largest = [max((t for _, drawn in worked if math.isfinite(t := drawn[b][0])), default=0) for b in range(B)]
        counts = [
            sum(math.isinf(t) or reaches(most, observed) for (t, _), most in zip(drawn, largest, strict=True))
            for observed, drawn in worked
        ]
        theirs = [(1 + count) / (1 + B) for count in counts]
        assert [pair["asl_corrected"] for pair in metric["pairs"]] == theirs
        infinite = [any(math.isinf(drawn[b][0]) for _, drawn in worked) for b in range(B)]
        assert metric["resamples_with_infinite_t"] == sum(infinite)
        assert all(pair["asl_corrected"] >= pair["asl"] for pair in metric["pairs"])


def test_the_table_is_sorted_by_sensitivity_and_marks_what_beats_the_baseline(answer):
    metrics = ["Q", "P@5", "AP", "nDCG@10", "RR"]
    found = answer("bootstrap-sensitivity", metrics=metrics, alphas=[0.05, 0.2], test="t-test")
    counts = {each["metric"]: [level["significant_pairs"] for level in each["levels"]] for each in found["metrics"]}
    assert found["by_sensitivity"] == sorted(counts, key=lambda label: [-count for count in counts[label]])
    assert found["baseline"] == "AP"
    assert found["beats_baseline"] == [
        label
        for label, own in counts.items()
        if all(count > other for count, other in zip(own, counts["AP"], strict=True))
    ]


def test_a_named_baseline_is_one_of_the_metrics(answer, laboratory):
    found = answer("bootstrap-sensitivity", metrics=["Q"], baseline="RR", test="sign")
    assert [metric["metric"] for metric in found["metrics"]] == [laboratory.label("Q"), "RR"]
    assert found["baseline"] == "RR"
    assert answer("bootstrap-sensitivity", metrics=["Q"], test="sign")["baseline"] is None


def test_one_set_of_resamples_serves_the_topics_defined_for_all_metrics(answer, laboratory):
    found = answer("bootstrap-sensitivity", metrics=["AP", "AP(rel=2)"], resamples=50)
    assert (found["topics"], found["topics_left_out"]) == (10, [ONLY_LOW, NO_RELEVANT])
    assert "nothing relevant" in found["left_out_because"]
    rows = laboratory.common("AP", "AP(rel=2)")["AP"]
    first = found["metrics"][0]["pairs"][0]
    assert first["difference"] == pytest.approx(mean(rows["alder"]) - mean(rows["birch"]), abs=1e-12)


@pytest.mark.parametrize(
    ("name", "drawn"),
    [
        ("paired-bootstrap", 1000),
        ("randomised-tukey-hsd", 5000),
        ("bootstrap-range", 10_000),
        ("randomisation", 2048),
        ("sign", None),
    ],
)
def test_each_test_has_its_own_number_of_resamples(answer, name, drawn):
    assert answer("bootstrap-sensitivity", metrics=["AP"], test=name)["resamples"] == drawn


SEVERAL = {"metrics": ["AP", "Q", "P@5", "nDCG@10", "RR"], "resamples": 60, "alphas": [0.3, 0.1]}


@pytest.mark.parametrize(("correction", "first"), [("none", 2**64 - 1), ("max-t", 4), ("holm", 2**64 - 2)])
def test_counts_under_several_seeds_are_those_of_jobs_with_each_seed(answer, correction, first):
    params = SEVERAL | {"correction": correction}
    found = answer("bootstrap-sensitivity", **params, seed=first, seeds=4)
    each = [answer("bootstrap-sensitivity", **params, seed=(first + step) % 2**64) for step in range(4)]
    for place, metric in enumerate(found["metrics"]):
        assert metric["pairs"] == each[0]["metrics"][place]["pairs"]
        for row, level in enumerate(metric["levels"]):
            counts = [job["metrics"][place]["levels"][row]["significant_pairs"] for job in each]
            assert level["significant_pairs_by_seed"] == counts
            assert level["estimated_difference"] == each[0]["metrics"][place]["levels"][row]["estimated_difference"]
    assert found["first_by_seed"] == [job["by_sensitivity"][0] for job in each]
    assert found["beats_baseline"] == each[0]["beats_baseline"]
    beating = [set(job["beats_baseline"]) for job in each]
    assert set(found["uncertain_marks"]) == set.union(*beating) - set.intersection(*beating)
    assert (found["seed"], found["seeds"], each[0]["seeds"]) == (first, 4, 1)


def test_marks_and_the_first_metric_change_with_the_seed_and_the_table_says_so(answer):
    found = answer("bootstrap-sensitivity", **SEVERAL, seeds=8)
    uncertain, firsts = found["uncertain_marks"], set(found["first_by_seed"])
    assert uncertain
    assert len(firsts) > 1
    table = tables_of(found)[0]
    assert isinstance(table, Table)
    italic = [row[0].value for row in table.rows if isinstance(row[0], Marked) and row[0].style == "italic"]
    assert set(italic) == set(uncertain)
    assert table.second_mark == "more sensitive than AP at every level, but only under some of 8 seeds"
    note, *others = table.notes
    assert others == [found["note"]]
    assert set(note.rstrip(".").partition(": ")[2].split(" or ")) == firsts
    alone = tables_of(answer("bootstrap-sensitivity", **SEVERAL))[0]
    assert isinstance(alone, Table)
    assert (alone.second_mark, alone.notes) == ("", [found["note"]])


@pytest.mark.parametrize("name", ["t-test", "paired-bootstrap"])
def test_levels_that_no_exchange_of_signs_gives_are_counted(answer, laboratory, name):
    found = answer("bootstrap-sensitivity", **asked(name))
    doubtful, pairs = 0, 0
    for metric in found["metrics"]:
        scores = laboratory.common(*METRICS)[metric["metric"]]
        for pair in metric["pairs"]:
            first, second = (scores[run] for run in pair["runs"])
            differing = sum(abs(one - other) > 1e-12 for one, other in zip(first, second, strict=True))
            level = (1 + pair["asl"] * B) / (1 + B) if name == "paired-bootstrap" else pair["asl"]
            doubtful += level < min(1, 2 / 2**differing)
            pairs += 1
    assert 0 < doubtful < pairs
    assert found["note"].startswith(f"{doubtful} of {pairs} levels are below all those of the exact randomisation test")


@pytest.mark.parametrize("name", ["randomisation", "sign", "wilcoxon", "randomised-tukey-hsd"])
def test_tests_that_exchange_runs_have_no_such_levels(answer, name):
    assert answer("bootstrap-sensitivity", **asked(name))["note"] is None


@pytest.mark.parametrize("name", TESTS)
def test_a_count_has_a_range_without_and_with_the_uncertain_pairs(answer, name):
    found = answer("bootstrap-sensitivity", **asked(name, alphas=[0.3, 0.05]))
    resamples = None if name == "randomisation" else found["resamples"]
    widths = []
    for metric in found["metrics"]:
        for level in metric["levels"]:
            alpha = level["alpha"]
            bound = 2 * math.sqrt(alpha * (1 - alpha) / resamples) if resamples else -1.0
            near = [pair["asl"] for pair in metric["pairs"] if abs(pair["asl"] - alpha) <= bound + 1e-12]
            low = sum(pair["asl"] < alpha and pair["asl"] not in near for pair in metric["pairs"])
            assert level["uncertain_pairs"] == len(near)
            assert level["significant_range"] == [low, low + len(near)]
            assert low <= level["significant_pairs"] <= low + len(near)
            widths.append(len(near))
    assert any(widths) == (resamples is not None)


def test_holms_correction_of_resampled_levels_has_no_range(answer):
    for name in ("paired-bootstrap", "t-test", "randomisation"):
        found = answer("bootstrap-sensitivity", **asked(name, correction="holm"))
        levels = [level for metric in found["metrics"] for level in metric["levels"]]
        is_drawn = name == "paired-bootstrap"
        assert all((level["uncertain_pairs"] is None) == is_drawn for level in levels)
        assert all((level["significant_range"] is None) == is_drawn for level in levels)
        assert tables_of(found)


def test_seeds_of_a_test_that_draws_nothing_are_not_part_of_the_request(shelf):
    drawn = shelf.launch("bootstrap-sensitivity", metrics=["AP"], test="sign", seeds=2)
    assert drawn.id == shelf.launch("bootstrap-sensitivity", metrics=["AP"], test="sign").id


def test_pairs_are_bounded_over_all_seeds(shelf, monkeypatch):
    monkeypatch.setattr("gainboard.analyses.pair_tests.MOST_TESTED_PAIRS", 28 * 2)
    shelf.launch("bootstrap-sensitivity", metrics=["RR"], seeds=2)
    with pytest.raises(InvalidRequest, match="84 pairs of runs"):
        shelf.launch("bootstrap-sensitivity", metrics=["RR"], seeds=3)
