"""The report in the form of TREC's Web track, beside what ndeval computes."""

import pytest

from gainboard.analyses.reports.web_track_diversity import NAMES
from tests.metrics.by_intent import text_of
from tests.metrics.test_diversity import by_ndeval, case
from tests.reports.laboratory import figures, laid, tables
from tests.world.groves import made_of

NAME = "web-track-diversity"


@pytest.fixture(scope="module")
def judged():
    return case(11)[0], {f"run-{seed}": case(seed)[1] for seed in (1, 2, 5, 8)}


@pytest.fixture(scope="module")
def laboratory(judged, tmp_path_factory):
    return diverse(tmp_path_factory.mktemp("laboratory"), *judged)


def diverse(folder, qrels_by_intent, rankings):
    runs = {
        name: ("team", {topic: documents for topic, documents in ranking.items() if documents})
        for name, ranking in rankings.items()
    }
    return made_of(folder, [text_of(qrels_by_intent).decode()], runs, intents=True, metrics=None)


def test_the_means_of_each_run_are_those_of_ndeval(laboratory, judged):
    table, (given, rankings) = tables(laid(laboratory, NAME))["Table 1"], judged
    assert [column.title for column in table.columns][1:4] == ["@5", "@10", "@20"]
    assert {row[0] for row in table.rows} == set(rankings)
    for run, *means in table.rows:
        expected = means_by_ndeval(given, rankings[str(run)])
        for (name, _), mean in zip(NAMES.items(), means, strict=True):
            assert mean == pytest.approx(expected[name], abs=1e-9), name
    first = [row[3] for row in table.rows if isinstance(row[3], float)]
    assert first == sorted(first, reverse=True)
    assert len(first) == len(rankings)


def means_by_ndeval(given, ranking):
    found = by_ndeval(list(NAMES), given, ranking)
    defined = {
        topic for topic, its in given.items() for intent, own in its.items() if intent != "0" and max(own.values()) > 0
    }
    return {name: sum(found.get(topic, {}).get(name, 0.0) for topic in defined) / len(defined) for name in NAMES}


def test_its_rankings_are_correlated_and_its_topics_drawn(laboratory):
    shown = laid(laboratory, NAME)
    table = tables(shown)["Table 2"]
    names = [column.title for column in table.columns][1:]
    assert names == ["nERR-IA@20", "alpha-nDCG@20", "P-IA@20", "MAP-IA", "strec@20"]
    taus = [value for row in table.rows for value in row[1:] if isinstance(value, float)]
    assert len(taus) == 15
    assert all(-1 <= tau <= 1 for tau in taus)
    (panel,) = figures(shown)["Figure 1"].panels
    assert [series.label for series in panel.series] == ["ERR-IA@20", "alpha-nDCG@20"]
    hardest = [float(mean or 0) for mean in panel.series[0].y]
    assert hardest == sorted(hardest)


def test_a_collection_without_intents_has_nothing_of_it(tmp_path):
    laboratory = made_of(tmp_path, ["1 0 a 1\n"], {}, metrics=None)
    (left_out,) = laid(laboratory, NAME)
    assert "no judgments by intent" in left_out.why
