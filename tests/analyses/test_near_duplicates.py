"""Runs that repeat another one except on a few topics, which analyses over pairs name."""

import pytest

from gainboard.analyses.job_kinds import every_kind
from gainboard.jobs.report_assembly import _remarks as remarks_of
from gainboard.jobs.results import exhibits_of
from tests.world.campaigns import run_text
from tests.world.groves import few_trusted, made_of

TOPICS = [f"{number:02d}" for number in range(1, 21)]
DOCUMENTS = [f"d{number}" for number in range(8)]
RANKED = {
    "a-base": ("one", {}),
    "b-few": ("two", {"03": "d7 d6 d0 d1", "11": "d7 d0"}),
    "c-more": ("one", dict.fromkeys(TOPICS[:3], "d7 d6 d0 d1")),
    "d-same": ("two", {}),
    "e-tail": ("one", dict.fromkeys(TOPICS, "d0 d1 d2 x9 x8")),
    "f-other": ("two", dict.fromkeys(TOPICS, "d1 d0 d2 x1")),
    "g-tenth": ("one", dict.fromkeys(TOPICS, "d1 d0 y1 y2 y3 y4 y5 y6 y7 y8 d2")),
    "h-below": ("two", dict.fromkeys(TOPICS, "d1 d0 y1 y2 y3 y4 y5 y6 y7 y8 y9 d2")),
}
"""Team of each run, and its documents on the topics where they are not `d0 d1 d2 x1`."""
EXPECTED = [
    {"run": "b-few", "repeats": "a-base", "topics": ["03", "11"], "first_ranks": None},
    {"run": "d-same", "repeats": "a-base", "topics": [], "first_ranks": None},
    {"run": "e-tail", "repeats": "a-base", "topics": [], "first_ranks": None},
    {"run": "h-below", "repeats": "g-tenth", "topics": [], "first_ranks": 10},
]
METRICS = ["AP", "nDCG@3", "RR"]
ASKED = {
    "bootstrap-sensitivity": {"metrics": METRICS, "resamples": 20},
    "concordance": {"metrics": METRICS},
    "corrected-means": {"metrics": METRICS, "trusted": "people", "sampled_at_random": True, "resamples": 20},
    "difficulty": {"metrics": METRICS},
    "gain-robustness": {"metrics": ["Q"], "trials": 5},
    "judge-agreement": {"metrics": METRICS, "sets": ["second"]},
    "judge-validity": {"judges": ["official", "second"], "resamples": 20},
    "leave-one-team-out": {"metrics": METRICS},
    "rank-correlation": {"metrics": METRICS},
    "rank-intervals": {"metrics": METRICS, "test_resamples": 5},
    "stability": {"metrics": METRICS, "trials": 5},
    "swap-rate": {"metrics": METRICS, "trials": 5},
    "test-agreement": {"metrics": METRICS, "trials": 5},
    "topic-set-size": {"metrics": METRICS, "trials": 5},
}
PAIR = {"original": "a-base", "reproduced": "d-same"}
COMPARE_NO_PAIRS = {
    "answer-agreement": {"metrics": ["nuggets:vital_strict", "nuggets:vital_strict(judge=model)"]},
    "gain-vectors": {},
    "judgments": {},
    "noise": {"metrics": METRICS, "runs": ["seeded", "a-base"], "resamples": 20},
    "pool": {},
    "reproduction": {"metrics": METRICS, "pairs": [PAIR]},
}


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    judged = [
        f"{topic} 0 {document} {max(0, 3 - place)}\n" for topic in TOPICS for place, document in enumerate(DOCUMENTS)
    ]
    runs = {
        name: (team, {topic: other.get(topic, "d0 d1 d2 x1").split() for topic in TOPICS})
        for name, (team, other) in RANKED.items()
    }
    laboratory = made_of(tmp_path_factory.mktemp("twins"), ["".join(judged)], runs, depth=15)
    laboratory.judge("".join(judged[1:]), "second")
    laboratory.judge("".join(judged[: len(judged) // 2]), "people")
    laboratory.judge_answers(TOPICS, runs)
    return laboratory


@pytest.mark.parametrize("kind", ASKED)
def test_every_analysis_over_pairs_names_them_with_their_topics(twins, kind, monkeypatch):
    few_trusted(monkeypatch)
    assert twins.answer(kind, **ASKED[kind])["near_duplicates"] == EXPECTED


def test_the_other_kinds_name_none(twins):
    others = [kind for kind in every_kind() if not kind.is_change and kind.name not in ASKED]
    assert {kind.name for kind in others} == COMPARE_NO_PAIRS.keys()
    for seed, documents in enumerate(("d1 d0", "d0 d2")):
        found = {topic: documents.split() for topic in TOPICS}
        twins.send(f"seeded-{seed}", "two", run_text(found, f"s{seed}"), system="seeded", replicate=str(seed))
    for kind, asked in COMPARE_NO_PAIRS.items():
        assert "near_duplicates" not in twins.answer(kind, **asked), kind


def test_only_selected_runs_are_named_and_in_the_order_of_the_answer(twins):
    found = twins.answer("rank-correlation", metrics=METRICS, runs=["d-same", "f-other", "b-few"])
    assert found["near_duplicates"] == [
        {"run": "b-few", "repeats": "d-same", "topics": ["03", "11"], "first_ranks": None}
    ]
    assert twins.answer("rank-correlation", metrics=METRICS, runs=["c-more", "f-other"])["near_duplicates"] == []


def test_a_table_names_them_if_there_are_any(twins):
    found = twins.read("stability", **ASKED["stability"])
    table = exhibits_of(found).tables[-1]
    assert table.name == "near-duplicates"
    assert table.rows == [
        ("b-few", "a-base", "all", 2, "03, 11"),
        ("d-same", "a-base", "all", 0, ""),
        ("e-tail", "a-base", "all", 0, ""),
        ("h-below", "g-tenth", "first 10", 0, ""),
    ]
    without = exhibits_of(found.model_copy(update={"near_duplicates": []}))
    assert [each.name for each in without.tables] == ["ties-at-5-percent", "curves"]


def test_reports_remark_on_them_once(twins):
    results = [twins.read(kind, **ASKED[kind]) for kind in ("stability", "swap-rate")]
    (remark,) = remarks_of(results)
    assert remark.text.endswith(
        ": b-few repeats a-base except on 03, 11; d-same repeats a-base on all topics; "
        "e-tail repeats a-base on all topics; h-below repeats g-tenth at the first 10 ranks on all topics."
    )
    without = [each.model_copy(update={"near_duplicates": []}) for each in results]
    assert list(remarks_of(without)) == []
