"""corrected-means: what a job answers, from the scores under both sets, and what it refuses."""

import numpy as np
import pytest
from scipy import stats

from gainboard.errors import InvalidRequest, NotFound
from gainboard.exhibits import as_csv
from gainboard.statistics.corrected_means import TwiceJudged
from gainboard.store.records import VersionName
from tests.world.groves import NO_RELEVANT, PEOPLE, planted, tables_of

KIND = "corrected-means"
RUNS = ("maple", "zelkova", "birch", "yew", "cedar")
ASKED = {"trusted": PEOPLE, "sampled_at_random": True, "resamples": 1000}


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    return planted(tmp_path_factory.mktemp("judged"), 50, RUNS)


def tables(judged, metric):
    """Trusted and cheap scores of the topics that both sets judge, and cheap ones of the others, from the service."""
    (cheap,), (trusted,) = judged.scores(metric).values(), judged.scores(metric, version=VersionName(PEOPLE)).values()
    row, truth = cheap[RUNS[0]], trusted[RUNS[0]]
    both = [topic for topic in row if row[topic] is not None and truth.get(topic) is not None]
    others = [topic for topic in row if row[topic] is not None and topic not in truth]

    def table(by_run, topics):
        return np.array([[by_run[run][topic] for topic in topics] for run in sorted(RUNS)])

    return table(trusted, both), table(cheap, both), table(cheap, others)


def test_means_and_intervals_are_those_of_the_scores_of_both_sets(judged):
    both = TwiceJudged(*tables(judged, "Q"))
    corrected, weight = both.corrected(both.weight()), both.weight()
    (found,) = judged.answer(KIND, metrics=["Q"], **ASKED)["metrics"]
    assert 0 < found["weight"] == pytest.approx(weight)
    n, u = both.trusted.shape[1], both.others.shape[1]
    assert (found["trusted_topics"], found["topics"]) == (n, n + u)
    rows, trusted = {row["run"]: row for row in found["runs"]}, both.by_trusted()
    student, normal = corrected.intervals(both.freedom), corrected.intervals(None)
    for place, run in enumerate(sorted(RUNS)):
        row = rows[run]
        assert row["corrected"]["mean"] == pytest.approx(corrected.means[place])
        assert row["corrected"]["interval"] == pytest.approx([end[place] for end in student])
        assert row["corrected"]["normal_interval"] == pytest.approx([end[place] for end in normal])
        assert row["worth"] == pytest.approx(both.worth(corrected)[place])
        assert row["trusted"]["mean"] == pytest.approx(trusted.means[place])
        assert row["cheap"]["mean"] == pytest.approx(both.all_cheap()[place].mean())
    first = found["pairs"][0]
    assert first["runs"] == sorted(RUNS)[:2]
    assert first["corrected"] == pytest.approx(corrected.means[0] - corrected.means[1])
    own = stats.ttest_1samp(both.trusted[0] - both.trusted[1], 0).confidence_interval()
    assert first["trusted_interval"] == pytest.approx([own.low, own.high])


def test_levels_groups_and_rank_sets_agree(judged):
    (found,) = judged.answer(KIND, metrics=["nDCG@5"], **ASKED)["metrics"]
    told_apart = [each for each in found["pairs"] if each["asl_range"] < 0.05]
    assert 0 < len(told_apart) == found["pairs_told_apart"] < len(found["pairs"])
    letters = {row["run"]: set(row["groups"]) for row in found["runs"]}
    for pair in found["pairs"]:
        one, other = pair["runs"]
        assert (pair in told_apart) == (not letters[one] & letters[other])
        assert pair["asl"] <= pair["asl_benjamini_hochberg"] <= pair["asl_holm"]
    for row in found["runs"]:
        losses = sum(row["run"] in pair["runs"] for pair in told_apart)
        low, high = row["rank_set"]
        assert high - low + 1 == len(RUNS) - losses


def test_without_tuning_the_weight_is_1(judged):
    trusted, cheap, others = tables(judged, "AP")
    (found,) = judged.answer(KIND, metrics=["AP"], tuning="none", **ASKED)["metrics"]
    assert found["weight"] == 1
    means = others.mean(axis=1) + (trusted - cheap).mean(axis=1)
    assert [row["corrected"]["mean"] for row in found["runs"]] == pytest.approx(means)


def test_one_run_has_a_corrected_mean_and_no_pairs(judged):
    (found,) = judged.answer(KIND, metrics=["AP"], runs=["maple"], **ASKED)["metrics"]
    assert (found["pairs"], found["difference_correlation"]) == ([], None)
    assert [row["groups"] for row in found["runs"]] == [["a"]]


def test_tables_say_under_which_condition_it_holds(judged):
    answer = judged.answer(KIND, metrics=["AP", "Q"], **ASKED)
    left_out = answer["metrics"][0]["topics_left_out"]
    assert (NO_RELEVANT in left_out, answer["metrics"][0]["topics"]) == (True, 50 - len(left_out))
    assert (answer["trusted"], answer["trusted_version"], answer["judgment_set"]) == (PEOPLE, 1, "official")
    means, samples, pairs = tables_of(answer)
    assert "random sample" in means.notes[0]
    assert len(as_csv(pairs).splitlines()) == 1 + 2 * 10
    assert [row[0] for row in samples.rows] == [metric["metric"] for metric in answer["metrics"]]


@pytest.mark.parametrize(
    ("params", "error", "place", "message"),
    [
        ({"sampled_at_random": False}, InvalidRequest, "sampled_at_random", "only then does the correction hold"),
        ({"trusted": "official"}, InvalidRequest, "trusted", "Name the cheap judgments"),
        ({"trusted": "absent"}, NotFound, "trusted", "no published judgments 'absent'"),
        ({"trusted": {"qrels": 1}}, InvalidRequest, "trusted", "topics without trusted judgments"),
        ({"trusted": "few"}, InvalidRequest, "trusted", "needs at least 20"),
        ({"metrics": ["AP(mean=geometric)"]}, InvalidRequest, "metrics", "geometric mean"),
    ],
)
def test_a_request_that_cannot_be_is_refused(judged, params, error, place, message):
    if params.get("trusted") == "few":
        judged.judge("".join(f"{topic} 0 {topic}-00 1\n" for topic in range(101, 120)), "few")
    with pytest.raises(error) as refused:
        judged.launch(KIND, **({"metrics": ["AP"]} | ASKED | params))
    (fault,) = refused.value.details["errors"]
    assert fault["location"] == f"body.params.{place}"
    assert message in fault["message"]
