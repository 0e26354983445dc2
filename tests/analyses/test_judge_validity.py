"""judge-validity: what it says of judges, against the definitions, other tools and plain loops."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.contingency_tables import SquareTable, mcnemar

from gainboard.evaluation.runs import runs
from gainboard.evaluation.scoring.score_matrices import MatrixSettings, put_matrix
from tests.world.campaigns import body
from tests.world.groves import NAME, planted

KIND = "judge-validity"
FAMILY = ["birch", "zelkova"]
"""The runs of the judge's family. The judge favours what `birch` found."""


def text(levels):
    return "".join(f"{topic} 0 {document} {level}\n" for (topic, document), level in levels.items())


def rankings(laboratory, run):
    """The documents of a run by topic, the best first."""
    found = runs.find_run(laboratory.workspace, laboratory.principal, NAME, run).run
    rows = [line.split() for line in b"".join(runs.read_file(laboratory.workspace, found)).decode().splitlines()]
    by_topic = {}
    for topic, _, document, *_ in sorted(rows, key=lambda row: (row[0], int(row[3]))):
        by_topic.setdefault(topic, []).append(document)
    return by_topic


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """A campaign with the set `model`, which favours the first documents of `birch`."""
    laboratory = planted(tmp_path_factory.mktemp("judged"))
    official, random = laboratory.levels(2), np.random.default_rng(5)
    found = rankings(laboratory, "birch")
    levels = {
        (topic, document): int(np.clip(level + (document in found[topic][:10]) + random.choice([-1, 0, 0, 0, 1]), 0, 3))
        for (topic, document), level in official.items()
    }
    laboratory.judge(text(levels), "model")
    for name in FAMILY:
        runs.change(laboratory.workspace, laboratory.principal, NAME, name, {"family": "acme"})
    return laboratory


@pytest.fixture(scope="module")
def result(judged):
    return judged.read(KIND, judges=["official", "model"], metric="P@3", resamples=200)


@pytest.fixture(scope="module")
def pairs(judged):
    """The levels that both judges give, by topic and document."""
    official, model = judged.levels(2), judged.levels(1, "model")
    return {pair: (official[pair], model[pair]) for pair in official.keys() & model.keys()}


def test_levels_and_their_flips_are_those_of_other_tools(result, pairs):
    (judge,) = result.judges
    table = np.zeros((4, 4), int)
    for levels in pairs.values():
        table[levels] += 1
    assert judge.levels.confusion == table.tolist()
    for level, at in enumerate(judge.levels.by_level):
        differences = [second - first for first, second in pairs.values() if first == level]
        assert (at.pairs, at.bias.value) == (len(differences), pytest.approx(np.mean(differences)))
    for topic in judge.levels.by_topic:
        differences = [second - first for (name, _), (first, second) in pairs.items() if name == topic.at]
        assert topic.bias.value == pytest.approx(np.mean(differences))
    first, *flips = judge.levels.flips
    assert (first.up, first.down) == (np.triu(table, 1).sum(), np.tril(table, -1).sum())
    for flip, (low, high) in zip(flips, combinations(range(4), 2), strict=True):
        two = table[np.ix_((low, high), (low, high))]
        assert (flip.lower, flip.higher, flip.up, flip.down) == (f"L{low}", f"L{high}", two[0, 1], two[1, 0])
        assert flip.asl == pytest.approx(mcnemar(two, exact=True).pvalue if two[0, 1] + two[1, 0] else 1)
    assert judge.levels.symmetry_asl == pytest.approx(SquareTable(table, shift_zeros=False).symmetry().pvalue)


def test_runs_are_put_in_the_order_of_the_judges_levels(judged, result, pairs):
    (judge,) = result.judges
    defined = {topic for side in (0, 1) for topic in {name for name, _ in pairs}}
    for side in (0, 1):
        defined &= {topic for (topic, _), levels in pairs.items() if levels[side] > 0}
    means = {name: {} for name in ("mean_trusted", "mean", "rank_trusted_reranked", "rank_reranked")}
    for run in judge.runs:
        scores = {name: [] for name in means}
        near = ([], [])
        for topic in sorted(defined):
            own = [(topic, document) for document in rankings(judged, run.run).get(topic, [])]
            again = sorted(own, key=lambda pair: -pairs.get(pair, (0, 0))[1])
            for name, order, side in zip(scores, (own, own, again, again), (0, 1, 0, 1), strict=True):
                scores[name].append(sum(pairs.get(pair, (0, 0))[side] > 0 for pair in order[:3]) / 3)
        for topic in {name for name, _ in pairs}:
            levels = [
                pairs[topic, document]
                for document in rankings(judged, run.run).get(topic, [])
                if (topic, document) in pairs
            ]
            signs = [
                [np.sign(a[side] - b[side]) for a, b in combinations(levels, 2) if a[side] != b[side]]
                for side in (0, 1)
            ]
            if all(signs):
                for side in (0, 1):
                    near[side].append(np.mean(signs[side]))
        assert (run.near_trusted, run.near_judge) == pytest.approx(list(map(np.mean, near)))
        for name, values in scores.items():
            means[name][run.run] = np.mean(values)
    for run in judge.runs:
        assert (run.mean_trusted, run.mean) == pytest.approx((means["mean_trusted"][run.run], means["mean"][run.run]))
        for name in ("rank_trusted_reranked", "rank_reranked"):
            better = sum(mean > means[name][run.run] + 1e-9 for mean in means[name].values())
            assert getattr(run, name) == 1 + better
    board = [list(means[name].values()) for name in ("rank_trusted_reranked", "rank_reranked")]
    assert judge.tau_reranked.value == pytest.approx(stats.kendalltau(*np.round(board, 9)).statistic)


def test_the_favoured_run_and_its_family_are_found(judged):
    found = judged.read(KIND, judges=["official", "model"], resamples=200)
    (judge,) = found.judges
    assert [run.run for run in judge.runs if run.suspicious] == ["birch"]
    (family,) = judge.families
    assert (family.family, family.runs) == ("acme", 2)
    assert family.shift.interval[0] > 0
    assert family.asl < 0.05
    sentences = {figure.name: figure.caption for figure in found.figures()}
    assert list(sentences) == ["boards-1", "moves-1", "families-1", "circle-1", "leniency-1", "drift-1"]
    assert "1 run (birch) gain beyond chance" in sentences["moves-1"]
    assert "acme by 0.1" in sentences["families-1"]
    assert found.verdict() == f"{sentences['boards-1']} {sentences['families-1']}"


def test_a_judge_who_changes_nothing_drifts_nowhere(judged):
    found = judged.read(KIND, judges=["model", {"judgments": "model", "qrels": 1}], resamples=20)
    (judge,) = found.judges
    assert (found.trusted, judge.judge) == ("model/1", "model/1")
    assert (judge.tau.value, judge.levels.symmetry_asl, judge.levels.flips[0].asl) == (1, 1, 1)
    assert {run.asl for run in judge.runs} == {1}


def test_a_job_is_about_the_families_of_its_time(judged):
    asked = {"judges": ["official", "model"], "resamples": 30}
    before = judged.launch(KIND, **asked)
    assert before.params["families"] == {"acme": FAMILY}
    runs.change(judged.workspace, judged.principal, NAME, "oak", {"family": "other"})
    after = judged.launch(KIND, **asked)
    runs.change(judged.workspace, judged.principal, NAME, "oak", {"family": None})
    assert after.params["families"] == {"acme": FAMILY, "other": ["oak"]}
    assert judged.launch(KIND, **asked).id == before.id != after.id
    judged.work()


def test_stored_scores_are_judges_too(judged):
    random, names = np.random.default_rng(8), ["maple", "alder", "birch", "oak"]
    tables = {"human": random.random((4, 6)).round(3)}
    tables["robot"] = (tables["human"] + random.random((4, 6)) / 4).round(3)
    for name, table in tables.items():
        rows = [",".join((run, *map(str, scores))) for run, scores in zip(names, table, strict=True)]
        csv = "run,101,102,103,104,105,106\n" + "\n".join(rows) + "\n"
        put_matrix(judged.workspace, judged.principal, NAME, name, body(csv), MatrixSettings())
    found = judged.read(KIND, judges=["custom:human", "custom:robot"], runs=names, resamples=50)
    (judge,) = found.judges
    assert (found.trusted, judge.judge) == ("custom:human(version=1)", "custom:robot(version=1)")
    assert judge.levels is None
    shifts = (tables["robot"] - tables["human"]).mean(axis=1)
    assert [run.shift.value for run in judge.runs] == pytest.approx(shifts - shifts.mean(), abs=1e-9)
    mixed = judged.read(KIND, judges=["official", "custom:robot"], runs=names, metric="AP", resamples=50)
    assert mixed.judges[0].topics == 6
    assert [run.mean for run in mixed.judges[0].runs] == pytest.approx(tables["robot"].mean(axis=1))


@pytest.fixture(scope="module")
def of_answers(judged):
    """What is found about a second judge of nuggets, and what both say, by topic: 0 is not, 2 fully."""
    names, topics = ["maple", "alder", "birch", "oak"], [str(topic) for topic in range(101, 107)]
    judged.judge_answers(topics, names)
    numbers = [(n, topic) for name in names for n, topic in enumerate(topics, start=len(name))]
    # Both nuggets of an answer have the same label.
    said = 2 * [(topic, n % 3, (n % 3 - n % 2) % 3) for n, topic in numbers]
    judges = ["nuggets:vital_strict", "nuggets:vital_strict(judge=model)"]
    return judged.read(KIND, judges=judges, runs=names, resamples=50), said


def test_judges_of_answers_have_levels_and_flips_as_well(of_answers):
    found, said = of_answers
    levels, table = found.judges[0].levels, np.zeros((3, 3), int)
    for _, first, second in said:
        table[first, second] += 1
    assert (found.level_names, levels.confusion) == (["not", "partly", "fully"], table.tolist())
    assert levels.bias.value == pytest.approx(np.mean([second - first for _, first, second in said]))
    for topic in levels.by_topic:
        assert topic.bias.value == pytest.approx(
            np.mean([second - first for at, first, second in said if at == topic.at])
        )
    flip = levels.flips[1]
    assert (flip.lower, flip.higher, flip.up, flip.down) == ("not", "partly", table[0, 1], table[1, 0])
    assert flip.asl == pytest.approx(mcnemar(table[:2, :2], exact=True).pvalue)
    assert levels.symmetry_asl == pytest.approx(SquareTable(table, shift_zeros=False).symmetry().pvalue)


def test_judges_of_answers_are_shown_without_a_circle(of_answers):
    found, said = of_answers
    sentences = {figure.name: figure.caption for figure in found.figures()}
    assert list(sentences) == ["boards-1", "moves-1", "families-1", "leniency-1", "drift-1"]
    up = sum(second > first for _, first, second in said)
    assert f"gives {up} nuggets a higher" in sentences["drift-1"]


def test_a_judge_of_answers_has_no_levels_beside_one_of_documents(judged, of_answers):
    mixed = judged.read(KIND, judges=["official", "nuggets:vital_strict"], runs=["maple", "oak", "birch"], resamples=20)
    assert mixed.judges[0].levels is None
