"""Nuggets and verdicts on answers: stored in versions, and metrics of boards beside those of rankings."""

import json

import numpy as np
import pytest

from gainboard.cli import main
from gainboard.statistics.corrected_means import TwiceJudged
from gainboard.statistics.judging import coincidences, krippendorff_alpha
from tests.api.changes import log
from tests.jobs.test_importing import changed, send
from tests.world.campaigns import Campaign, codes, refused
from tests.world.files import contents_of, unpacked
from tests.world.laboratories import TOPICS, Laboratory
from tests.world.servers import new_settings, serving

STRICT = "nuggets:vital_strict"
TEXTS = {topic: ["river", "bridge", "tower"] for topic in TOPICS}


def lines(*records):
    return "".join(f"{json.dumps(record)}\n" for record in records)


def nuggets(texts=TEXTS, importance=("vital", "vital", "okay")):
    """Two vital nuggets and an okay one for each topic."""
    return lines(
        *(
            {"qid": topic, "nuggets": [{"text": t, "importance": i} for t, i in zip(of_topic, importance, strict=True)]}
            for topic, of_topic in texts.items()
        )
    )


def assigned(digits, run="run-0", topics=TOPICS, texts=TEXTS):
    """A line for each topic; digits are 0, 1 and 2 for not, partly and fully, the same for each topic."""
    labels = ("not_support", "partial_support", "support")
    importance = ("vital", "vital", "okay")
    return lines(
        *(
            {
                "qid": topic,
                "run_id": run,
                "nuggets": [
                    {"text": text, "importance": weight, "assignment": labels[int(digit)]}
                    for text, weight, digit in zip(texts[topic], importance, digits, strict=True)
                ],
            }
            for topic in topics
        )
    )


def cited(run, sentences, topics=TOPICS):
    answer = [{"text": "One.", "citations": list(range(len(each))), "support": each} for each in sentences]
    return lines(*({"qid": topic, "run_id": run, "answer": answer} for topic in topics))


def put(lab, path, content, **query):
    return lab.organiser.put(f"{lab.path}/{path}", content=content, params=query)


def judge(lab, content, name="official", **query):
    answer = put(lab, f"answers/{name}", content, **query)
    assert answer.status_code == 201, answer.text
    return answer.json()


def laboratory(service, **settings):
    lab = Laboratory(service, **settings)
    assert put(lab, "nuggets", nuggets()).status_code == 201
    return lab


@pytest.fixture
def lab(shared):
    return laboratory(shared)


@pytest.fixture
def lab_on_both(on_both):
    """For what the databases store; the rest is the same on each."""
    return laboratory(on_both)


def board(lab, *metrics, **query):
    answer = lab.get("/leaderboard", metric=list(metrics), **query)
    assert answer.status_code == 200, answer.text
    return answer.json()


def means(lab, metric=STRICT, **query):
    shown = board(lab, metric, **query)
    return {row["name"]: row["mean"][shown["by"]] for row in shown["rows"]}


def test_answers_stand_beside_rankings_on_a_board(lab_on_both):
    lab = lab_on_both
    said = judge(lab, assigned("210") + assigned("110", "run-1", TOPICS[:4]) + assigned("222", "rag only"))
    assert said["new_runs"] == ["rag-only"]
    assert said["unanswered"] == {"run-1": 4}
    assert said["metrics"][0] == STRICT
    shown = board(lab, "nDCG@10", STRICT)
    assert shown["metrics"] == ["nDCG@10(gains=linear,base=2)", f"{STRICT}(version=1)"] or len(shown["metrics"]) == 2
    by_name = {row["name"]: row["mean"] for row in shown["rows"]}
    of_answers = {name: mean[f"{STRICT}(version=1)"] for name, mean in by_name.items()}
    assert of_answers == {"run-0": 0.5, "run-1": 0.0, "run-2": None, "run-3": None, "rag-only": 1.0}
    # A run with answers alone has no mean of its ranking, and is last by it.
    assert shown["rows"][-1]["name"] == "rag-only"
    assert by_name["rag-only"][shown["by"]] is None
    # Partial verdicts count half, and the four topics without an answer are 0: (1 + 0) / 2 x .5.
    assert means(lab, "nuggets:vital")["run-1"] == 0.25
    assert means(lab, "nuggets:weighted")["run-0"] == pytest.approx(1.5 / 2.5)
    # New judgments meet a run that has no ranking.
    assert lab.put_qrels("".join(f"{topic} 0 d1 1\n" for topic in TOPICS)).status_code == 201
    assert board(lab, "nDCG@10")["rows"][-1]["mean"] == {board(lab, "nDCG@10")["by"]: None}


def test_verdicts_of_several_judges_are_metrics_of_their_own(lab):
    judge(lab, assigned("200") + assigned("220", "run-1"))
    judge(lab, assigned("220") + assigned("200", "run-1"), "model-a")
    assert means(lab)["run-0"] == 0.5
    assert means(lab, f"{STRICT}(judge=model-a)")["run-0"] == 1.0
    label = f"{STRICT}(judge=model-a,version=1)"
    assert board(lab, label)["by"] == label
    # The same file again is no new version; another one of the same run replaces it.
    assert put(lab, "answers/model-a", assigned("220") + assigned("200", "run-1")).status_code == 200
    judge(lab, assigned("000"), "model-a")
    assert board(lab, f"{STRICT}(judge=model-a)")["by"] == f"{STRICT}(judge=model-a,version=2)"
    assert means(lab, f"{STRICT}(judge=model-a)") == {"run-0": 0.0, "run-1": 0.5, "run-2": None, "run-3": None}
    assert means(lab, label)["run-0"] == 1.0
    judges = lab.get("/answers").json()["items"]
    assert [(each["judge"], each["runs"]) for each in judges] == [("model-a", 2), ("official", 2)]
    assert refused(lab.get("/scores", metric=f"{STRICT}(judge=nobody)")) == (422, "bad-expression")
    assert [each["action"] for each in log(lab.organiser, lab.path)][-3:] == ["answers-judged"] * 3


def test_support_is_over_the_topics_that_were_judged(lab):
    judge(lab, cited("run-0", [["full", "none"], []], TOPICS[:2]) + cited("run-1", [["partial"]], TOPICS[:1]))
    assert means(lab, "support:precision") == {"run-0": 0.5, "run-1": 0.25, "run-2": None, "run-3": None}
    assert means(lab, "support:recall")["run-0"] == 0.5
    # Verdicts on nuggets come beside those on citations, and replace none of them.
    judge(lab, assigned("200"))
    assert means(lab, "support:precision")["run-0"] == means(lab)["run-0"] == 0.5


def test_a_sample_has_no_score_where_nothing_was_judged(lab):
    sampled = assigned("220", topics=TOPICS[:3]) + assigned("200", "run-1", TOPICS[:2])
    judge(lab, sampled, "people", sample=True)
    (people,) = (each for each in lab.get("/answers").json()["items"] if each["judge"] == "people")
    assert (people["topics"], people["unanswered"]) == (3, {"run-1": 1})
    scores = lab.get("/scores", metric=f"{STRICT}(judge=people)", topics="all").json()
    (label,) = scores["metrics"]
    assert scores["topics_undefined"][label] == TOPICS[3:]
    assert scores["runs"][1]["topics"][label][TOPICS[2]] is None
    assert means(lab, f"{STRICT}(judge=people)")["run-0"] == 1.0


def test_a_new_version_of_nuggets_scores_the_answers_again_and_says_what_does_not_fit(lab):
    judge(lab, assigned("202") + assigned("022", "run-1", TOPICS[:4]))
    demoted = nuggets(importance=("okay", "vital", "vital"))
    drafted = put(lab, "nuggets", demoted, draft=True).json()
    assert (drafted["version"], drafted["state"]) == (2, "draft")
    assert means(lab)["run-0"] == 0.5
    published = lab.organiser.post(f"{lab.path}/nuggets/2/publish").json()
    assert (published["state"], published["unfit"]) == ("published", [])
    assert board(lab, STRICT)["by"] == f"{STRICT}(version=2)"
    assert means(lab) == {"run-0": 0.5, "run-1": 0.5, "run-2": None, "run-3": None}
    changed = {topic: ["river", "bridge", "gate" if topic == "1" else "tower"] for topic in TOPICS}
    third = put(lab, "nuggets", nuggets(changed)).json()
    assert [sentence.split(":")[0] for sentence in third["unfit"]] == [
        f"1 topics of the answers of {run!r} have no score by 'official'" for run in ("run-0", "run-1")
    ]
    shown = lab.get("/scores", metric=STRICT, topics="all").json()
    assert shown["topics_undefined"][shown["metrics"][0]] == ["1"]
    # Nothing is lost: an earlier version counts again, with the same verdicts.
    assert lab.organiser.post(f"{lab.path}/nuggets/1/publish").json()["unfit"] == []
    assert means(lab)["run-0"] == 0.5
    assert lab.get("/nuggets/3").text == nuggets(changed)
    assert lab.organiser.delete(f"{lab.path}/nuggets/3").status_code == 409
    assert put(lab, "nuggets", nuggets(changed)[:-1], draft=True).json()["version"] == 4
    assert lab.organiser.delete(f"{lab.path}/nuggets/4").status_code == 204
    assert [each["version"] for each in lab.get("/nuggets").json()["items"]] == [1, 2, 3]


def test_which_nuggets_nobody_has_and_everybody_has(lab):
    judge(lab, assigned("201") + assigned("200", "run-1", TOPICS[:1]))
    counted = lab.get("/answers/official").json()
    first = [(each["text"], each["full"], each["partial"], each["none"]) for each in counted["by_topic"]["1"]]
    assert first == [("river", 2, 0, 0), ("bridge", 0, 0, 2), ("tower", 0, 1, 1)]
    assert counted["unanswered"] == {"run-1": len(TOPICS) - 1}


def test_a_faulty_file_stores_nothing(lab):
    judge(lab, assigned("200"))
    bad = assigned("222") + lines({"qid": "99", "run_id": "new", "nuggets": []})
    answer = put(lab, "answers/official", bad)
    assert (answer.status_code, codes(answer)) == (422, ["unknown-topic"])
    assert means(lab)["run-0"] == 0.5
    assert refused(lab.get("/runs/new"))[0] == 404
    assert codes(put(lab, "nuggets", lines({"qid": "99", "nuggets": [{"text": "x", "importance": "vital"}]}))) == [
        "unknown-topic"
    ]
    assert refused(put(lab, "score-matrices/nuggets--all", "run,1\nrun-0,1\n")) == (422, "invalid-request")


def test_metrics_of_answers_are_official_ones_as_soon_as_they_have_scores(lab):
    assert lab.change(metrics=[STRICT, "nDCG@10", "support:recall"]).status_code == 200
    assert board(lab)["by"].startswith("nDCG")
    judge(lab, assigned("220") + assigned("200", "run-1"))
    shown = board(lab)
    assert (shown["by"], len(shown["metrics"])) == (f"{STRICT}(version=1)", 2)
    assert [row["name"] for row in shown["rows"]][:2] == ["run-0", "run-1"]
    assert codes(lab.change(metrics=["nuggets:recall"])) == ["uploaded-scores"]
    assert codes(lab.change(metrics=["custom:other"])) == ["uploaded-scores"]
    assert codes(lab.change(policy={"presets": [STRICT]})) == ["uploaded-scores"]
    # They have no parameters to sweep, and go with their judge.
    swept = lab.get("/sweep", base=["2", "10"]).json()["points"]
    assert len(swept) == 2, "nDCG under both bases"
    assert lab.organiser.delete(f"{lab.path}/answers/official").status_code == 204
    assert board(lab)["by"].startswith("nDCG")


def test_teams_see_official_metrics_of_answers_once_the_judgments_are_released(shared):
    lab = laboratory(shared, policy={"phase": "hidden", "scores": "all", "parameters": "free"})
    judge(lab, assigned("220") + assigned("200", "run-1"))
    assert lab.change(metrics=[STRICT, "nDCG@10"]).status_code == 200
    own = lab.client("participant", "team-0")
    assert [metric[:4] for metric in lab.get("/leaderboard", own).json()["metrics"]] == ["nDCG"]
    assert board(lab)["by"] == f"{STRICT}(version=1)"
    lab.release()
    assert lab.get("/leaderboard", own).json()["by"] == f"{STRICT}(version=1)"


def test_answers_are_compared_and_analysed_as_rankings_are(lab):
    judge(lab, "".join(assigned(f"{n % 3}{n // 2}2", f"run-{n}") for n in range(4)) + assigned("222", "rag"))
    pair = lab.get("/compare", run=["run-0", "rag"], metric=STRICT)
    assert pair.status_code == 200, pair.text
    assert refused(lab.get("/compare", run=["run-0", "rag"], metric="AP")) == (422, "invalid-request")
    # Without names, an analysis of rankings is about the runs that have one.
    job = lab.worked(lab.ask("rank-correlation", metrics=["AP", "nuggets:all"]))
    result = lab.organiser.get(f"/v1/jobs/{job['id']}/result").json()
    assert result["metrics"] == ["AP", "nuggets:all(version=1)"] or len(result["metrics"]) == 2
    assert lab.worked(lab.ask("stability", metrics=["AP"], trials=20))["state"] == "succeeded"


def test_hidden_judgments_hide_nuggets_and_answers(shared):
    lab = laboratory(shared, policy={"phase": "hidden"})
    judge(lab, assigned("200"))
    own = lab.client("participant", "team-0")
    for path in ("/nuggets", "/nuggets/1", "/answers", "/answers/official"):
        assert refused(lab.get(path, own)) == (403, "judgments-hidden")
    assert refused(lab.get("/leaderboard", own, metric=STRICT)) == (403, "judgments-hidden")


def _many(service):
    """Four runs on 60 topics: a model errs in favour of each run alike, and people judge half of the topics."""
    topics = [f"t{number}" for number in range(60)]
    texts = {topic: ["river", "bridge", "tower"] for topic in topics}
    lab = Campaign(service, topics=topics)
    assert put(lab, "nuggets", nuggets(texts)).status_code == 201
    drawn = np.random.default_rng(7)
    truth = {(run, topic): int(drawn.random() < 0.2 + 0.2 * run) for run in range(4) for topic in topics}
    model = {pair: int(verdict or drawn.random() < 0.3) for pair, verdict in truth.items()}
    for name, verdicts, judged in (("model", model, topics), ("people", truth, topics[:30])):
        content = "".join(
            assigned(f"{2 * verdicts[run, topic]}00", f"run-{run}", [topic], texts)
            for run in range(4)
            for topic in judged
        )
        judge(lab, content, name, sample=name == "people")
    lab.put_qrels("".join(f"{topic} 0 d 1\n" for topic in topics))
    scores = [np.array([[verdicts[run, t] / 2 for t in topics] for run in range(4)]) for verdicts in (truth, model)]
    return lab, scores


def test_people_on_a_sample_of_topics_correct_a_model(shared):
    lab, (truth, model) = _many(shared)
    metric = f"{STRICT}(judge=model)"
    shown = board(lab, metric, corrected_by="people")
    sample = TwiceJudged(truth[:, :30], model[:, :30], model[:, 30:])
    corrected = sample.corrected(sample.weight())
    for row in shown["rows"]:
        run = int(row["name"][-1])
        assert row["mean"][shown["by"]] == pytest.approx(corrected.means[run])
        assert row["uncorrected"][shown["by"]] == pytest.approx(model[run].mean())
    assert shown["corrected"]["judges"] == {"model": 1.0, "people": 0.5}
    assert shown["groups_test"]["topics"] == 60
    table = lab.get("/leaderboard", metric=metric, corrected_by="people", format="markdown").text
    assert ", uncorrected |" in table
    assert "Means are under model, corrected by people on 30 of 60 topics" in table
    assert refused(lab.get("/leaderboard", metric=metric, corrected_by="nobody")) == (422, "bad-expression")
    assert codes(lab.get("/leaderboard", metric=metric, corrected_by="model")) == ["same-set"]


def test_scores_of_people_correct_uploaded_ones(shared):
    lab, (truth, model) = _many(shared)
    for name, table, count in (("cheap", model, 60), ("people", truth, 30)):
        rows = [",".join([f"run-{run}", *map(str, table[run, :count])]) for run in range(4)]
        header = ",".join(["run", *(f"t{number}" for number in range(count))])
        assert put(lab, f"score-matrices/{name}", "\n".join([header, *rows])).status_code == 201
    answers = board(lab, f"{STRICT}(judge=model)", corrected_by="people")
    uploaded = board(lab, "custom:cheap", corrected_by="people")
    assert [row["mean"][uploaded["by"]] for row in uploaded["rows"]] == [
        row["mean"][answers["by"]] for row in answers["rows"]
    ]


def test_two_judges_agree_by_importance(lab):
    judge(lab, assigned("210") + assigned("002", "run-1") + assigned("000", "run-2"))
    judge(lab, assigned("200") + assigned("002", "run-1", TOPICS[:4]), "model")
    metrics = [STRICT, f"{STRICT}(judge=model)"]
    job = lab.worked(lab.ask("answer-agreement", metrics=metrics, resamples=100))
    result = lab.organiser.get(f"/v1/jobs/{job['id']}/result").json()
    # Without names, it is about the runs that both have judged.
    assert result["runs"] == ["run-0", "run-1"]
    by_importance = {each["importance"]: each for each in result["judges"]}
    # Of 8 x 2 + 4 x 2 vital nuggets, 8 differ: one says partly, the other one not.
    vital = by_importance["vital"]
    assert (vital["verdicts"], vital["agreement"]["value"]) == (24, pytest.approx(16 / 24))
    assert vital["confusion"] == [[8, 0, 0], [8, 0, 0], [0, 0, 8]]
    # Kappa by hand: observed .667, expected (8 x 16 + 8 x 0 + 8 x 8) / 24^2 = 1/3.
    assert vital["kappa"]["value"] == pytest.approx((16 / 24 - 1 / 3) / (1 - 1 / 3))
    assert vital["kappa"]["interval"][0] <= vital["kappa"]["value"] <= vital["kappa"]["interval"][1]
    assert by_importance["okay"]["kappa"]["value"] == 1.0
    assert by_importance["all"]["verdicts"] == 36
    both = np.array([[2, 2], [1, 0], [0, 0]] * 4 + [[2, 2], [1, 0], [0, 0]] * 4 + [[0, 0], [0, 0], [2, 2]] * 4, np.int8)
    alpha = krippendorff_alpha(coincidences(both, 3), "ordinal")
    assert by_importance["all"]["alpha"]["value"] == pytest.approx(float(alpha))
    for wrong in ("nuggets:all", "AP"):
        assert codes(lab.ask("answer-agreement", metrics=[STRICT, wrong])) == ["no-judge"]


def test_judges_of_citations_agree_and_verdicts_of_before_are_compared(lab):
    judge(lab, cited("run-0", [["full", "none"], ["partial"]]))
    judge(lab, cited("run-0", [["full", "full"], ["partial"]], TOPICS[:2]), "model")
    asked = {"metrics": ["support:precision", "support:precision(judge=model)"], "resamples": 10}
    job = lab.worked(lab.ask("answer-agreement", **asked))
    row = lab.organiser.get(f"/v1/jobs/{job['id']}/result").json()["judges"][-1]
    assert (row["verdicts"], row["confusion"]) == (6, [[0, 0, 2], [0, 2, 0], [0, 0, 2]])
    judge(lab, cited("run-0", [["full", "none"], ["partial"]]), "model")
    again = lab.worked(lab.ask("answer-agreement", **asked))
    assert again["id"] != job["id"]
    assert lab.organiser.get(f"/v1/jobs/{again['id']}/result").json()["judges"][-1]["agreement"]["value"] == 1.0


def test_a_collection_of_scores_has_answers_alone(service_of_scores):
    lab = service_of_scores
    assert put(lab, "nuggets", nuggets()).status_code == 201
    judge(lab, assigned("220", "rag one") + assigned("200", "other"))
    shown = board(lab)
    assert shown["by"] == f"{STRICT}(version=1)"
    assert [(row["name"], row["mean"][shown["by"]]) for row in shown["rows"]] == [("rag-one", 1.0), ("other", 0.5)]
    assert next(iter(shown["asked"])) == STRICT
    assert "Its metrics: nuggets:all, nuggets:all_strict, " in lab.get("/leaderboard", metric="AP").json()["detail"]
    # The topics follow the nuggets.
    fewer = {topic: TEXTS[topic] for topic in TOPICS[:5]}
    assert put(lab, "nuggets", nuggets(fewer)).json()["unfit"] == []
    assert len(lab.get("/scores", topics="all", metric=STRICT).json()["runs"][0]["topics"][f"{STRICT}(version=2)"]) == 5
    later = assigned("222", "third", TOPICS[:5])
    assert judge(lab, later)["new_runs"] == ["third"]
    assert len(board(lab)["rows"]) == 3


@pytest.fixture
def service_of_scores(shared):
    return Campaign(shared, kind="scores", levels=None)


def test_a_release_keeps_nuggets_and_verdicts_and_an_import_has_them(tmp_path):
    with serving(new_settings(tmp_path / "here", job_slots=0)) as service:
        lab = laboratory(service)
        judge(lab, "".join(assigned(f"{n % 3}{n // 2}2", f"run-{n}") for n in range(4)), "model")
        judge(lab, assigned("222", "barge") + cited("run-0", [["full"]]), "model")
        put(lab, "nuggets", nuggets({"1": ["zeppelin", "a", "b"]}), draft=True).raise_for_status()
        frozen_means, counted = means(lab, f"{STRICT}(judge=model)"), lab.get("/answers/model").json()
        lab.release(public=True)
        lab.change(metrics=["nDCG@10", f"{STRICT}(judge=model)"])
        lab.organiser.post(f"{lab.path}/releases", json={}).raise_for_status()
        # What comes later changes nothing of the release.
        judge(lab, assigned("000", "barge"), "model")
        assert put(lab, "nuggets", nuggets(importance=("okay", "okay", "vital"))).status_code == 201
        packed = lab.organiser.get(f"{lab.path}/releases/1/archive").content
        released = lab.get("/releases/1").json()["content"]
    files = contents_of(packed)
    assert "data/score-matrices/nuggets--vital_strict--model-2.csv" in files
    assert files["data/nuggets/1.jsonl"].decode() == nuggets()
    assert not any(b"zeppelin" in content for content in files.values())
    label = f"{STRICT}(judge=model,version=2)"
    board_of_answers = next(each for each in released["boards"] if each["by"] == label)
    assert {row["run"]: row["means"][label] for row in board_of_answers["rows"]} == frozen_means
    with serving(new_settings(tmp_path / "elsewhere", job_slots=0)) as elsewhere:
        headers = {"Content-Type": "application/x-tar"}
        made = elsewhere.organiser.post("/v1/imports", content=packed, headers=headers)
        assert made.status_code == 201, made.text
        there = elsewhere.organiser.get(f"{lab.path}/answers/model").json()
        assert there == counted
        assert elsewhere.organiser.get(f"{lab.path}/nuggets/1").text == nuggets()
        assert elsewhere.organiser.delete(f"{lab.path}/answers/model").status_code == 204  # of the whole instance
    folder = unpacked(packed, tmp_path / "folder")
    assert main(["verify", str(folder)]) == 0


@pytest.mark.parametrize("digits", ["000", "22", "22-", "2222"])
def test_verdicts_of_a_folder_must_give_its_scores(tmp_path, digits):
    with serving(new_settings(tmp_path / "here", job_slots=0)) as service:
        lab = laboratory(service)
        judge(lab, assigned("221"))
        lab.release(public=True)
        lab.organiser.post(f"{lab.path}/releases", json={}).raise_for_status()
        packed = lab.organiser.get(f"{lab.path}/releases/1/archive").content

    def replaced(content):
        return content.replace(b'"221"', f'"{digits}"'.encode())

    changed_folder = changed(packed, "data/release.json", replaced, sums=True)
    with serving(new_settings(tmp_path / "elsewhere", job_slots=0)) as elsewhere:
        refusal = send(elsewhere, changed_folder)
        assert refusal.status_code == 422, refusal.text
        assert "do not follow from its verdicts" in refusal.json()["detail"]


def test_what_a_judge_says_can_be_deleted(lab):
    judge(lab, assigned("220"))
    judge(lab, assigned("200") + cited("run-0", [["full"]]), "model")
    assert lab.organiser.delete(f"{lab.path}/answers/model").status_code == 204
    assert refused(lab.organiser.delete(f"{lab.path}/answers/model")) == (404, "not-found")
    assert refused(lab.get("/scores", metric=f"{STRICT}(judge=model)")) == (422, "bad-expression")
    assert [each["judge"] for each in lab.get("/answers").json()["items"]] == ["official"]
    assert log(lab.organiser, lab.path)[-1]["action"] == "answers-deleted"
    # The scores that follow go with the judge alone.
    assert codes(lab.organiser.delete(f"{lab.path}/score-matrices/nuggets--all")) == ["reserved-name"]
    lab.release()
    lab.organiser.post(f"{lab.path}/releases", json={}).raise_for_status()
    own = lab.client("organiser")
    assert refused(own.delete(f"{lab.path}/answers/official")) == (409, "held-by-release")
