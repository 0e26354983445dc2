"""Pools of runs against plain loops over their lines, in every order, by budget, and without judged documents."""

import hashlib
import json
import random
from fractions import Fraction
from pathlib import Path

import pytest

from gainboard.evaluation.judgments.pools import PoolForm, make_pool, pool_pieces, pool_sha256, read_strata
from gainboard.evaluation.runs.run_files import TopDocuments
from gainboard.statistics.draws import Draws

TEAMS = (0, 0, 1, 2, 1)


def drawn_runs(seed):
    """Runs that share documents, some of which lack a topic or end early."""
    source = random.Random(seed)
    ids = [f"d{number}" for number in range(30)]
    return [
        {
            topic: source.sample(ids, source.choice([0, 3, 12, 20]))
            for topic in ("9", "10", "t-1", "2")
            if source.random() < 0.9
        }
        for _ in TEAMS
    ]


def as_top(run, depth):
    kept = {topic: [document.encode() for document in ranking[:depth]] for topic, ranking in run.items()}
    return TopDocuments([*kept], [*map(len, kept.values())], [document for row in kept.values() for document in row])


def made(runs, form, **choice):
    return make_pool([as_top(run, form.read_depth) for run in runs], TEAMS, form, **choice)


def plainly(runs, topic, depth, order, seed=0):
    ranks = {}
    for run in runs:
        for rank, document in enumerate(run.get(topic, [])[:depth], start=1):
            ranks.setdefault(document, []).append(rank)
    by_id = sorted(ranks, key=str.encode)
    if order == "ntcir":
        return sorted(by_id, key=lambda document: (-len(ranks[document]), sum(ranks[document])))
    if order == "rrf":
        return sorted(by_id, key=lambda document: -sum(Fraction(1, 60 + rank) for rank in ranks[document]))
    if order == "random":
        block = int(hashlib.sha256(topic.encode()).hexdigest()[:8], 16)
        return [by_id[number] for number in Draws(seed, "pool", block).permutations(1, 1, len(by_id))[0, 0]]
    return by_id


def test_a_sample_by_strata_has_all_of_the_first_and_a_share_of_the_second():
    runs = drawn_runs(3)
    form = PoolForm(20, strata=read_strata("5:1,20:0.2"), seed=7)
    sampled, whole = made(runs, form), made(runs, PoolForm(20))
    for topic, every in zip(sampled.topics, whole.topics, strict=True):
        ranks = dict(zip(every.documents, every.best_ranks, strict=True))
        strata = dict(zip(topic.documents, topic.strata, strict=True)) | topic.unsampled
        assert strata == {document: 1 if rank <= 5 else 2 for document, rank in ranks.items()}
        assert set(topic.unsampled.values()) <= {2}
        of_second = sum(stratum == 2 for stratum in strata.values())
        assert topic.strata.count(2) == (max(1, round(0.2 * of_second)) if of_second else 0)
        assert topic.documents == [document for document in every.documents if document not in topic.unsampled]
    lines = "".join(pool_pieces(sampled.topics, "strata")).splitlines()
    assert sum(line.endswith(" ?") for line in lines) == sum(len(topic.documents) for topic in sampled.topics)
    assert len(lines) == sum(len(topic.documents) for topic in whole.topics)
    other = made(runs, PoolForm(20, strata=form.strata, seed=8))
    assert [topic.unsampled for topic in other.topics] != [topic.unsampled for topic in sampled.topics]


def test_strata_are_ranks_and_shares_each_deeper_than_the_last():
    assert read_strata("10:1,100:0.2") == [(10, 1.0), (100, 0.2)]
    for wrong in ("10", "10:0", "10:0.0", "10:2", "10:1,10:0.5", "10:1,", "0:1"):
        with pytest.raises(ValueError, match="last rank of each"):
            read_strata(wrong)


def every_topic(runs):
    return sorted({topic for run in runs for topic, ranking in run.items() if ranking}, key=str.encode)


@pytest.mark.parametrize("order", ["ntcir", "document", "random", "rrf"])
def test_every_order_is_that_of_plain_loops(order):
    for seed in range(20):
        runs, depth = drawn_runs(seed), 1 + seed % 13
        pool = made(runs, PoolForm(depth, order, seed=seed, depths=(2, 15)))
        assert [each.topic for each in pool.topics] == every_topic(runs)
        for each in pool.topics:
            assert each.documents == plainly(runs, each.topic, depth, order, seed)
            for document, count, teams, best in zip(
                each.documents, each.runs, each.teams, each.best_ranks, strict=True
            ):
                having = [at for at, run in enumerate(runs) if document in run.get(each.topic, [])[:depth]]
                assert (count, teams) == (len(having), len({TEAMS[at] for at in having}))
                assert best == min(runs[at][each.topic].index(document) + 1 for at in having)


def owners(runs, topic, document, depth):
    return {team for team, run in zip(TEAMS, runs, strict=True) if document in run.get(topic, [])[:depth]}


def given(runs, documents, depth):
    counts = [[0, 0] for _ in set(TEAMS)]
    for topic, document in documents:
        having = owners(runs, topic, document, depth)
        for team in having:
            counts[team][0] += 1
            counts[team][1] += len(having) == 1
    return counts


def test_counts_by_team_and_the_costs_of_other_depths_are_those_of_plain_loops():
    for seed in range(10):
        runs = drawn_runs(seed)
        judged = [{"10": {b"d1": 0, b"d2": 1}}, {"9": {b"d3": 0}, "7": {b"d4": 2}}]
        left_out = {("10", "d1"), ("10", "d2"), ("9", "d3")}
        pool = made(runs, PoolForm(6, "rrf", budget=5, depths=(1, 6, 15)), judged=judged)
        pooled = [(each.topic, document) for each in pool.topics for document in each.documents]
        own = [*zip(pool.contributed.sum(axis=0).tolist(), pool.unique.sum(axis=0).tolist(), strict=True)]
        assert [*map(list, own)] == given(runs, iter(pooled), 6)
        for cost in pool.costs:
            new = [
                (topic, document)
                for topic in every_topic(runs)
                for document in plainly(runs, topic, cost.depth, "document")
                if (topic, document) not in left_out
            ]
            assert cost.documents.tolist() == [sum(topic == each for topic, _ in new) for each in every_topic(runs)]
            found = [*zip(cost.contributed.tolist(), cost.unique.tolist(), strict=True)]
            assert [*map(list, found)] == given(runs, iter(new), cost.depth)


def test_judged_documents_are_left_out_before_the_budget_is_spent():
    runs = drawn_runs(3)
    whole = {each.topic: each.documents for each in made(runs, PoolForm(8, "ntcir")).topics}
    judged = [{topic: {document.encode(): 0 for document in row[:2]} for topic, row in whole.items()}]
    pool = made(runs, PoolForm(8, "ntcir", budget=3), judged=judged)
    assert {each.topic: each.documents for each in pool.topics} == {topic: row[2:5] for topic, row in whole.items()}
    assert pool.left_out.tolist() == [min(2, len(row)) for row in whole.values()]
    assert pool.found.tolist() == [*map(len, whole.values())]


def test_a_choice_of_topics_and_judged_documents_change_no_other_random_order():
    runs, form = drawn_runs(1), PoolForm(10, "random", seed=9)
    whole = {each.topic: each.documents for each in made(runs, form).topics}
    some = made(runs, form, topics=["t-1", "10", "none"]).topics
    assert [(each.topic, each.documents) for each in some] == [("10", whole["10"]), ("none", []), ("t-1", whole["t-1"])]
    first = whole["10"][0]
    rest = made(runs, form, judged=[{"10": {first.encode(): 1}}]).topics
    assert next(each.documents for each in rest if each.topic == "10") == whole["10"][1:]
    assert {each.topic: each.documents for each in made(runs, PoolForm(10, "random", seed=8)).topics} != whole


def test_the_hash_of_a_pool_is_that_of_its_file_of_two_columns():
    pool = made(drawn_runs(2), PoolForm(4, "document")).topics
    text = "".join(pool_pieces(pool, "trec"))
    assert text.splitlines()[0] == f"{pool[0].topic} {pool[0].documents[0]}"
    assert pool_sha256(pool) == hashlib.sha256(text.encode()).hexdigest()
    assert "".join(pool_pieces(pool, "ntcir")).splitlines()[1].endswith(f"{pool[0].documents[1]} 2")


@pytest.mark.parametrize(("strategy", "form"), [("topX=4", PoolForm(4)), ("rrf, topX=7", PoolForm(12, "rrf", 7))])
def test_pools_are_those_of_trectools(strategy, form):
    """trectools fuses whole runs, so the depth is that of the runs. `golden/pools.json` says how it was made."""
    golden = json.loads((Path(__file__).parents[1] / "golden" / "pools.json").read_text(encoding="utf-8"))
    runs = [{topic: text.split() for topic, text in run.items()} for run in golden["runs"].values()]
    pool = make_pool([as_top(run, form.depth) for run in runs], range(len(runs)), form)
    assert {each.topic: " ".join(sorted(each.documents)) for each in pool.topics} == golden[strategy]
