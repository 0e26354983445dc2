"""difficulty, against each topic's column by itself."""

from statistics import correlation, fmean, stdev

import numpy as np
import pytest

from gainboard.statistics.means import STANDARDISATIONS, standardise_scores
from tests.statistics.test_variance_components import alpha
from tests.world.groves import tables_of

KIND = "difficulty"
METRICS = ["AP", "AP(rel=2)"]


def test_topics_are_described_by_their_columns(answer, laboratory):
    found = answer(KIND, metrics=METRICS)
    judged = answer("judgments")["by_topic"]
    per_level = {each["topic"]: each["per_level"] for each in judged}
    assert (found["topics"], found["topics_left_out"]) == (10, ["111", "112"])
    for rel, metric in enumerate(found["metrics"], start=1):
        rows = list(laboratory.common(*METRICS)[metric["metric"]].values())
        assert metric["generalisability"] == pytest.approx(alpha(np.array(rows)))
        assert [each["topic"] for each in metric["by_topic"]] == sorted(set(per_level) - {"111", "112"})
        for place, each in enumerate(metric["by_topic"]):
            column = [row[place] for row in rows]
            rest = [fmean(value for topic, value in enumerate(row) if topic != place) for row in rows]
            assert each["relevant"] == sum(per_level[each["topic"]][rel:])
            assert each["mean"] == pytest.approx(fmean(column))
            assert each["standard_deviation"] == pytest.approx(stdev(column))
            assert each["discrimination"] == pytest.approx(correlation(column, rest))


def test_identical_runs_vary_in_nothing_but_topics(answer):
    found = answer(KIND, metrics=["AP"], runs=["yew", "hazel"])
    assert found["near_duplicates"] == [{"run": "hazel", "repeats": "yew", "topics": [], "first_ranks": None}]
    (metric,) = found["metrics"]
    assert metric["components"] == {"runs": 0, "topics": pytest.approx(metric["components"]["topics"]), "residual": 0}
    assert (metric["generalisability"], metric["generalisability_interval"]) == (None, [None, None])


@pytest.mark.parametrize("form", STANDARDISATIONS)
def test_runs_are_ranked_by_standardised_scores(answer, laboratory, form):
    names = ["oak", "yew", "maple"]
    found = answer(KIND, metrics=["AP"], standardise=form, reference=names)
    rows = laboratory.common("AP")["AP"]
    scores = np.array(list(rows.values()))
    table = standardise_scores(scores, np.array([list(rows).index(name) for name in sorted(names)]), form)
    assert (found["standardise"], found["reference"]) == (form, sorted(names))
    shown = found["metrics"][0]["standardised"]
    assert shown["topics_left_out"] == []
    assert np.array([run["scores"] for run in shown["runs"]]) == pytest.approx(table)
    assert [run["mean_standardised"] for run in shown["runs"]] == pytest.approx(table.mean(axis=1).tolist())
    assert [run["mean"] for run in shown["runs"]] == pytest.approx(scores.mean(axis=1).tolist())
    order = sorted(range(len(rows)), key=lambda run: -table[run].mean())
    assert [shown["runs"][run]["rank_standardised"] for run in order[:2]] == [1, 2]


@pytest.mark.parametrize("form", STANDARDISATIONS)
def test_topics_on_which_reference_runs_score_alike_are_left_out_on_both_sides(answer, laboratory, form):
    found = answer(KIND, metrics=["RR"], standardise=form, reference=["oak", "yew", "maple"])
    rows = laboratory.common("RR")["RR"]
    shown = found["metrics"][0]["standardised"]
    topics = [each["topic"] for each in found["metrics"][0]["by_topic"]]
    alike = [len({rows[name][place] for name in ("oak", "yew", "maple")}) == 1 for place in range(len(topics))]
    assert shown["topics_left_out"] == [topic for topic, same in zip(topics, alike, strict=True) if same] != []
    for run in shown["runs"]:
        kept = [value for value, same in zip(rows[run["run"]], alike, strict=True) if not same]
        assert run["mean"] == pytest.approx(fmean(kept))
        assert [value is None for value in run["scores"]] == alike
    table = tables_of(found)[2]
    assert f"on {sum(alike)} of {len(topics)} topics" in table.notes[0]
    assert ", ".join(shown["topics_left_out"]) in table.notes[0]
