"""What a correction of the judgments does: counted again from the files and from two answers of scores."""

from collections import Counter
from itertools import combinations

import pytest
from scipy.stats import kendalltau, ttest_rel

from tests.world.campaigns import judged
from tests.world.laboratories import Laboratory, qrels_text

METRICS = ["AP", "Q", "nDCG@5"]
GONE, NEW = "1", "9"
"""Topics that the correction removes and adds."""


def corrected():
    """Judgments with other levels, one topic less and one more, and without one document."""
    lines = [line for line in qrels_text(shift=1).splitlines() if line.split()[0] != GONE and "2 0 d3" not in line]
    return "\n".join([*lines, f"{NEW} 0 d1 2", "2 0 new 3", ""])


@pytest.fixture(scope="module")
def campaign(shared):
    laboratory = Laboratory(shared)
    laboratory.draft(corrected())
    return laboratory


def impact(campaign, version=2, **query):
    return campaign.read(f"/qrels/{version}/impact", **query)


def _judgments(text):
    fields = (line.split() for line in text.splitlines())
    return {(topic, document): f"L{level}" for topic, _, document, level in fields}


def _common_scores(campaign, label):
    """Under both versions: each run's scores for the topics that have one under both."""
    answers = [campaign.scores(label, qrels=version, topics="all")["runs"] for version in (1, 2)]
    tables = [{run["name"]: run["topics"][label] for run in answer} for answer in answers]
    first, second = (table["run-0"] for table in tables)
    common = [topic for topic in first if first[topic] is not None and second.get(topic) is not None]
    return [{run: [scores[topic] for topic in common] for run, scores in table.items()} for table in tables]


def _said(scores, pair, alpha):
    one, other = (scores[run] for run in pair)
    level = float(ttest_rel(one, other).pvalue)
    return level, None if level >= alpha else pair[sum(one) < sum(other)]


def test_judgments_are_compared_one_by_one(campaign):
    found = impact(campaign)["judgments"]
    old, new = _judgments(qrels_text()), _judgments(corrected())
    differing = sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
    listed = [(each["topic"], each["document"], each["old"], each["new"]) for each in found["changes"]]
    assert listed == [(*key, old.get(key), new.get(key)) for key in differing][:100]
    counts = Counter((old.get(key), new.get(key)) for key in old.keys() | new.keys())
    names = found["levels"]
    assert names == [None, "L0", "L1", "L2", "L3"]
    assert found["table"] == [[counts[row, column] for column in names] for row in names]
    assert found["added"] == len(new.keys() - old.keys())
    assert found["removed"] == len(old.keys() - new.keys())
    assert found["changed"] + found["unchanged"] == len(old.keys() & new.keys())
    assert (found["topics_added"], found["topics_removed"]) == ([NEW], [GONE])
    assert found["topics_changed"] == sorted({topic for topic, _ in differing} - {NEW, GONE})


def test_means_and_ranks_are_those_of_the_scores_under_either_version(campaign):
    found = impact(campaign, metric=METRICS)
    means = [campaign.scores(*METRICS, qrels=version)["runs"] for version in (1, 2)]
    for each in found["impact"]:
        before, after = ({run["name"]: run["mean"][each["metric"]] for run in runs} for runs in means)
        for row in each["runs"]:
            was, now = before[row["name"]], after[row["name"]]
            assert (row["mean_before"], row["mean_after"], row["change"]) == (was, now, now - was)
            ranks = [
                1 + sum(round(other - own, 12) > 0 for other in of.values())
                for of, own in ((before, was), (after, now))
            ]
            assert [row["rank_before"], row["rank_after"]] == ranks
        assert each["tau_b"] == pytest.approx(kendalltau(list(before.values()), list(after.values())).statistic)
        moved = [abs(row["rank_after"] - row["rank_before"]) for row in each["runs"]]
        assert each["largest_rank_change"] == max(moved)


@pytest.mark.parametrize("alpha", [0.05, 0.4])
@pytest.mark.parametrize("metric", METRICS)
def test_pairs_of_which_something_else_is_said_are_named_with_both_levels(campaign, metric, alpha):
    (each,) = impact(campaign, metric=metric, alpha=alpha)["impact"]
    before, after = _common_scores(campaign, each["metric"])
    pairs = list(combinations(before, 2))
    said = {pair: (*_said(before, pair, alpha), *_said(after, pair, alpha)) for pair in pairs}
    flips = [
        [list(pair), pytest.approx(was), pytest.approx(now), better_was, better_now]
        for pair, (was, better_was, now, better_now) in said.items()
        if better_was != better_now
    ]
    assert [list(flip.values()) for flip in each["significance"]["flips"]] == flips
    assert flips
    counts = each["significance"]["counts"]
    assert counts["no_difference"] == sum(
        better_was is better_now is None for _, better_was, _, better_now in said.values()
    )
    assert (sum(counts.values()), each["significance"]["topics"]) == (6, len(before["run-0"]))


def test_topics_that_gain_or_lose_all_that_is_relevant_are_named(shared):
    campaign = judged(shared)
    campaign.draft("1 0 good 0\n2 0 good 1\n3 0 good 1\n")
    (found,) = impact(campaign, metric="AP")["impact"]
    assert (found["topics_become_defined"], found["topics_become_undefined"]) == (["3"], ["1"])
    assert (found["significance"], found["tau_b"]) == (None, None)
    campaign.draft("1 0 good 0\n2 0 good 0\n")
    (row,) = impact(campaign, 3, metric="AP")["impact"][0]["runs"]
    assert (row["mean_before"], row["mean_after"], row["change"], row["rank_after"]) == (0.75, None, None, 1)
    campaign.organiser.delete(f"{campaign.path}/runs/tag")
    found = impact(campaign, metric="AP")
    (each,) = found["impact"]
    assert (each["runs"], each["tau_b"], each["largest_rank_change"]) == ([], None, 0)
    assert found["judgments"]["changed"] == 1
