"""Boards under a cheap judge, corrected by people on some topics."""

import numpy as np
import pytest

from gainboard.client import Gainboard
from gainboard.statistics.corrected_means import TwiceJudged
from tests.world.campaigns import Campaign, run_text
from tests.world.laboratories import work
from tests.world.servers import ADMIN

TOPICS = [str(number) for number in range(1, 41)]
TRUSTED = TOPICS[::2]
DOCUMENTS = [f"d{number}" for number in range(9)]
BOARD = {"metric": ["AP", "RR"], "judgments": "model", "corrected_by": "people"}


@pytest.fixture(scope="module")
def campaign(unworked):
    """Four runs, judged by a model on all topics, and by people on every other one. Both sets are hidden."""
    campaign = Campaign(unworked, topics=TOPICS)
    drawn = np.random.default_rng(8)
    truth = {(topic, document): int(drawn.random() < 0.4) for topic in TOPICS for document in DOCUMENTS}
    truth |= {(topic, DOCUMENTS[0]): 1 for topic in TOPICS}
    cheap = {pair: int(level or drawn.random() < 0.25) for pair, level in truth.items()}
    for name, judged in (("model", cheap), ("people", {p: level for p, level in truth.items() if p[0] in TRUSTED})):
        text = "".join(f"{topic} 0 {document} {level}\n" for (topic, document), level in judged.items())
        assert campaign.put_qrels(text, judgments=name).status_code == 201
    for number in range(4):
        ranked = {topic: [DOCUMENTS[place] for place in drawn.permutation(9)[: 4 + number]] for topic in TOPICS}
        campaign.submit(run_text(ranked, f"run-{number}"), name=f"run-{number}", team=f"team-{number % 2}")
    return campaign


def board(campaign, **query):
    return campaign.board(**(BOARD | query))


def by_topic(campaign, judgments):
    answer = campaign.scores("AP", topics="all", judgments=judgments)
    return {run["name"]: run["topics"]["AP"] for run in answer["runs"]}


def test_a_row_has_the_corrected_mean_and_what_it_was_under_the_model_alone(campaign):
    cheap, trusted = by_topic(campaign, "model"), by_topic(campaign, "people")
    others = [topic for topic in TOPICS if topic not in TRUSTED]
    sample = TwiceJudged(
        *(
            np.array([[scores[run][topic] for topic in topics] for run in sorted(cheap)])
            for scores, topics in ((trusted, TRUSTED), (cheap, TRUSTED), (cheap, others))
        )
    )
    found = board(campaign)
    corrected = sample.corrected(sample.weight())
    low, high = corrected.intervals(len(TRUSTED) - 1)
    rows = {row["name"]: row for row in found["rows"]}
    for place, run in enumerate(sorted(cheap)):
        assert rows[run]["mean"]["AP"] == pytest.approx(corrected.means[place])
        assert rows[run]["interval"]["AP"] == pytest.approx([low[place], high[place]])
        assert rows[run]["uncorrected"]["AP"] == pytest.approx(np.mean(list(cheap[run].values())))
    assert [row["name"] for row in found["rows"]] == sorted(rows, key=lambda run: -rows[run]["mean"]["AP"])
    shown = found["corrected"]
    assert (shown["by"], shown["qrels_version"], set(shown["metrics"])) == ("people", 1, {"AP", "RR"})
    assert shown["judges"] == {"model": 1.0, "people": 0.5}
    assert shown["metrics"]["AP"]["weight"] == pytest.approx(sample.weight())
    assert (shown["metrics"]["AP"]["trusted_topics"], shown["metrics"]["AP"]["topics"]) == (20, 40)
    assert found["groups_test"]["topics"] == 40


def test_the_board_is_that_of_the_job(campaign):
    params = {"metrics": ["AP"], "judgments": "model", "trusted": "people", "sampled_at_random": True}
    sent = campaign.organiser.post(f"{campaign.path}/jobs", json={"kind": "corrected-means", "params": params})
    assert work(campaign.service.application.state.workspace) > 0
    (metric,) = campaign.organiser.get(f"{sent.headers['location']}/result").json()["metrics"]
    found = {row["name"]: row for row in board(campaign)["rows"]}
    for row in metric["runs"]:
        same = found[row["run"]]
        assert (row["rank"], row["groups"], row["rank_set"]) == (same["rank"], same["groups"], same["rank_set"])
        assert row["corrected"]["interval"] == pytest.approx(same["interval"]["AP"])


def test_topics_that_are_not_in_the_means_are_not_counted(campaign):
    nothing, found_by = {"1", "3"}, [*TRUSTED, "2", "4"]
    cut = [f"{topic} 0 {DOCUMENTS[0]} {int(topic not in nothing)}\n" for topic in found_by]
    assert campaign.put_qrels("".join(cut), judgments="strict").status_code == 201
    found = board(campaign, corrected_by="strict", metric=["AP", "P@5"])
    for label, shown in found["corrected"]["metrics"].items():
        assert set(shown["topics_left_out"]) == nothing
        assert found["topics_scored"][label] == shown["topics"] == len(TOPICS) - len(nothing)


def test_texts_say_by_whom_means_are_corrected(campaign):
    with Gainboard(campaign.service.url, ADMIN) as gainboard:
        found = gainboard.leaderboard(campaign.name, ["AP", "RR"], judgments="model", corrected_by="people").columns()
    uncorrected = {row["name"]: row["uncorrected"] for row in board(campaign)["rows"]}
    assert found["uncorrected"] == [
        uncorrected[run][label] for run, label in zip(found["run"], found["metric"], strict=True)
    ]
    for form in ("latex", "markdown"):
        text = campaign.get("/leaderboard", **BOARD, format=form).text
        assert "corrected by people on 20 of 40 topics" in text.replace("\n", " ")


def test_both_sets_must_be_released_for_others_to_see_the_board(campaign):
    campaign.put_qrels("1 0 d0 1\n")
    campaign.release()
    reader = campaign.client("reader")

    def status():
        return campaign.get("/leaderboard", reader, **BOARD).status_code

    def change(name, state):
        campaign.organiser.patch(f"{campaign.path}/judgments/{name}", json={"state": state}).raise_for_status()

    assert status() == 404
    for first, second in (("model", "people"), ("people", "model")):
        change(first, "released")
        assert status() == 404
        change(second, "released")
        assert status() == 200
        change(first, "hidden")
        assert status() == 404
        change(second, "hidden")
