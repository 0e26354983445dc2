"""Hidden judgments cannot be downloaded through scores: attacks that work where nothing is bounded get nowhere."""

import pytest

from tests.trust.attacks import ATTACKS, PRESET, crafted_run, means_of_one_topic
from tests.trust.target import WIDE_OPEN, Target
from tests.trust.weighing import METRIC, weigh

BY_GUESSING = 0.02
PRESETS = [PRESET, METRIC, "AP", "nDCG@10", "Q"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_under_an_open_policy_each_attack_downloads_the_judgments(shared, attack):
    found = ATTACKS[attack](Target.of(shared, WIDE_OPEN))
    assert found.share > 0.95
    assert found.guess < 0.75


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize(
    "policy",
    [{}, {"presets": PRESETS, "decimals": 15, "coverage": 0, "answers": 1_000_000}],
    ids=["nothing named", "means under presets, else unbounded"],
)
def test_under_means_and_presets_no_attack_beats_guessing(shared, attack, policy):
    target = Target.of(shared, policy)
    assert ATTACKS[attack](target).gained <= BY_GUESSING
    assert target.refused.total() > 0


def test_means_tell_a_topic_where_cutoffs_are_free_and_coverage_is_not_asked_for(shared):
    free = {"scores": "own-mean", "parameters": "free", "coverage": 0, "decimals": 4}
    assert means_of_one_topic(Target.of(shared, free)).share > 0.95
    assert means_of_one_topic(Target.of(shared, {**free, "coverage": 0.9})).gained <= BY_GUESSING


def test_scores_of_topics_tell_three_judgments_each_even_under_one_preset(shared):
    policy = {"scores": "own-per-topic", "presets": [PRESET], "decimals": 4}
    assert crafted_run(Target.of(shared, policy)).share > 0.95


def test_what_the_default_gives_away_is_bounded_by_the_budget_alone(shared):
    target = Target.of(shared, {"presets": [METRIC], "answers": 40})
    found, answers = weigh(target, answers=45, documents=60)
    assert (answers, target.refused) == (40, {"budget-exhausted": 1})
    assert found.share > 0.95  # of 60 documents that the participant chose
    told = target.client.get("/v1/me/limits").json()["team"]
    assert found.documents <= answers * told["bits_an_answer"]
    whole = len(target.truth)
    assert found.gained * found.documents / whole <= BY_GUESSING


def test_a_smaller_budget_tells_less(shared):
    target = Target.of(shared, {"presets": [METRIC], "answers": 8})
    found, answers = weigh(target, answers=9, documents=60)
    assert answers == 8
    assert found.share < 0.9
