"""Collections of scores: systems and topics come from score matrices, and whatever needs judgments is refused."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from gainboard.analyses.job_kinds import every_kind, find_kind
from gainboard.cli import main
from gainboard.statistics.draws import Draws
from tests.world.campaigns import codes, refused
from tests.world.files import contents_of, unpacked
from tests.world.laboratories import FEW, TOPICS, Laboratory, after_work, request_of
from tests.world.servers import new_settings, serving

SYSTEMS = [f"run-{number}" for number in range(4)]
KINDS = (
    "rank-correlation bootstrap-sensitivity stability swap-rate test-agreement concordance rank-intervals difficulty "
    "topic-set-size"
)
RELEASED = {"policy": {"phase": "released"}, "public": True}


class Scores(Laboratory):
    """A collection of scores."""

    def __init__(self, service, **settings):
        super(Laboratory, self).__init__(service, **{"kind": "scores", "levels": None} | settings)

    def put(self, content, name="accuracy", client=None, **query):
        return (client or self.organiser).put(f"{self.path}/score-matrices/{name}", content=content, params=query)


def csv_of(scores, systems=SYSTEMS, topics=TOPICS):
    rows = [
        [name, *("" if math.isnan(score) else repr(score) for score in row)]
        for name, row in zip(systems, scores.tolist(), strict=True)
    ]
    return "".join(",".join(row) + "\n" for row in [["system", *topics], *rows])


def drawn(seed, systems=4, topics=8):
    return np.round(np.random.default_rng(seed).random((systems, topics)) + np.arange(systems)[:, None] / 3, 6)


def rows_of(board):
    return [
        {name: row[name] for name in ("rank", "name", "mean", "interval", "groups", "rank_set")}
        for row in board["rows"]
    ]


def test_the_same_matrix_of_runs_gives_the_same_numbers_to_the_last_digit(shared):
    judged, alone = Laboratory(shared), Scores(shared)
    for name, seed in {"first": 1, "second": 2}.items():
        content = csv_of(drawn(seed)).replace("system", "run", 1)
        for lab in (judged, alone):
            answer = lab.organiser.put(
                f"{lab.path}/score-matrices/{name}", content=content, params={"low": 0, "high": 2}
            )
            assert answer.status_code == 201, answer.text
    both = ["custom:first", "custom:second"]
    ours, theirs = (lab.read("/leaderboard", metric=both) for lab in (alone, judged))
    assert rows_of(ours) == rows_of(theirs)
    assert ours["groups_test"] == theirs["groups_test"]
    assert len({tuple(row["groups"]) for row in ours["rows"]}) > 1
    pairs = {"metric": both, "baseline": "run-0", "margin": 0.1}
    ours, theirs = (lab.read("/compare", **pairs)["comparisons"] for lab in (alone, judged))
    assert ours == theirs
    for kind in KINDS.split():
        example = request_of(find_kind(kind))["params"]
        few = {name: example[name] for name in ("trials", "resamples") if name in example}
        results = []
        for lab in (alone, judged):
            asked = lab.ask(kind, metrics=both, **few)
            assert asked.is_success, asked.text
            job = lab.worked(asked)
            result = lab.organiser.get(job["result_url"]).json()
            # Rankings that nearly repeat others, and relevant documents, are those of the judged collection alone.
            for name in ("near_duplicates", "collection", "id", "qrels", "environment"):
                result.pop(name, None)
            for metric in result["metrics"] if kind == "difficulty" else ():
                for topic in metric["by_topic"]:
                    topic.pop("relevant")
            results.append(result)
        assert results[0] == results[1], kind


def test_a_bare_name_means_a_matrix_and_all_are_shown_by_default(shared):
    lab = Scores(shared)
    assert refused(lab.get("/leaderboard")) == (409, "no-qrels")
    for name in ("f1", "accuracy"):
        assert lab.put(csv_of(drawn(3)), name).status_code == 201
    assert lab.read("/leaderboard")["metrics"] == ["custom:accuracy(version=1)", "custom:f1(version=1)"]
    assert lab.read("/leaderboard", metric="f1")["by"] == "custom:f1(version=1)"
    assert lab.organiser.patch(lab.path, json={"metrics": ["f1", "later"]}).status_code == 200
    assert lab.read("/leaderboard")["metrics"] == ["custom:f1(version=1)"]
    job = {"kind": "rank-correlation", "params": {"metrics": ["custom:f1", "custom:later"]}}
    absent = lab.organiser.post(f"{lab.path}/jobs", json=job)
    assert [error["location"] for error in absent.json()["errors"]] == ["body.params.metrics.1"]
    assert f"'{lab.name}' has no scores custom:later" in absent.json()["detail"]
    wrong = lab.get("/scores", metric="nDCG@10")
    assert refused(wrong) == (409, "scores-alone")
    assert wrong.json()["detail"] == (
        f"'{lab.name}' is a collection of scores: it has no judgments, so nDCG@10 cannot be computed. Its metrics: "
        "accuracy, f1."
    )
    assert wrong.json()["metrics"] == ["accuracy", "f1"]


def test_what_needs_judgments_or_rankings_is_refused_in_one_sentence(shared):
    lab = Scores(shared, **RELEASED)
    assert lab.put(csv_of(drawn(4))).status_code == 201
    asked = {
        "run": lab.submit(),
        "qrels": lab.put_qrels(),
        "versions": lab.get("/qrels"),
        "version": lab.get("/qrels/1"),
        "publish": lab.publish(1),
        "sets": lab.get("/judgments"),
        "file": lab.organiser.get(f"{lab.path}/runs/run-1", headers={"Accept": "text/plain"}),
        "rankings": lab.get("/topics/1/rankings"),
        "judged": lab.get("/judged-shares"),
        "profile": lab.get("/runs/run-1/profile"),
        "sweep": lab.get("/sweep", metric="accuracy"),
        "report": lab.report("q-measure-appendix"),
        "order": lab.organiser.patch(lab.path, json={"order_by": "rank"}),
    }
    for kind in every_kind():
        if kind.needs_judgments:
            asked[kind.name] = lab.organiser.post(f"{lab.path}/jobs", json=kind.example())
    for what, answer in asked.items():
        assert refused(answer) == (409, "scores-alone"), (what, answer.status_code, answer.text)
        assert answer.json()["detail"].count(". ") == 0, what
    for name, value in {"levels": 2, "depth": 1000, "gains": "linear", "topics": ["1"]}.items():
        sent = {"name": "no-such", "kind": "scores", name: value}
        assert codes(lab.organiser.post("/v1/collections", json=sent)) == ["not-for-scores"]
    assert codes(lab.organiser.post("/v1/collections", json={"name": "no-such"})) == ["missing"]


def test_systems_and_topics_follow_the_newest_matrices(on_both):
    lab = Scores(on_both)
    first = lab.put("model,a b,t2,t3\nvendor/large,1,0,1\nvendor large,0,0,1\nplain,1,1,1\n")
    assert (first.status_code, first.json()["runs"], first.json()["topics"]) == (201, 3, 3)
    names = {run["tag"]: run["name"] for run in lab.read("/runs")["items"]}
    assert names == {"vendor/large": "vendor-large", "vendor large": "vendor-large-2", "plain": "plain"}
    assert lab.put("model,t4\nvendor/large,1\nnew,0\n", "other").status_code == 201
    board = lab.read("/leaderboard", metric="accuracy")
    assert {row["name"]: row["topics_missing"] for row in board["rows"]} == {
        **dict.fromkeys(("vendor-large", "vendor-large-2", "plain"), 0),
        "new": 3,
    }
    assert board["rows"][-1]["mean"] == {"custom:accuracy(version=1)": None}
    again = lab.put("model,t2,t3\nplain,1,1\n")
    assert again.json()["version"] == 2
    assert [run["name"] for run in lab.read("/runs")["items"]] == ["new", "plain", "vendor-large"]
    scores = lab.read("/scores", metric="other", topics="all")
    assert list(scores["runs"][0]["topics"]["custom:other(version=1)"]) == ["t2", "t3", "t4"]
    assert lab.organiser.delete(f"{lab.path}/score-matrices/other").status_code == 204
    assert [run["name"] for run in lab.read("/runs")["items"]] == ["plain"]
    assert lab.put("model,t2,t3\nplain,1,1\n").status_code == 200
    doubled = lab.put("system,topic,value\na,1,0.5\na,1,0.25\n")
    assert codes(doubled) == ["duplicate-score"]


def test_missing_scores_follow_the_rule_of_their_matrix(shared):
    lab, content = Scores(shared), "system,1,2\na,1,\nb,0.5,0.25\n"
    left = lab.put(content)
    assert (left.json()["missing"], left.json()["filled"]) == ("leave-out", 1)
    means = {row["name"]: row["mean"]["custom:accuracy(version=1)"] for row in lab.read("/leaderboard")["rows"]}
    assert means == {"a": 1.0, "b": 0.375}
    assert lab.read("/score-matrices/accuracy")["scores"] == [[1.0, None], [0.5, 0.25]]
    assert codes(lab.put(content, missing="refuse")) == ["missing-score"]
    assert lab.put(content, missing=0).json()["filled"] == 1
    assert lab.read("/score-matrices/accuracy")["scores"] == [[1.0, 0.0], [0.5, 0.25]]
    assert lab.put(content, missing="drop-topic").json()["dropped"] == ["2"]


def gappy():
    scores = drawn(5, systems=5, topics=14)
    scores[0, :4] = scores[2, 5] = scores[3, [1, 7, 9]] = math.nan
    return scores, [f"s{number}" for number in range(5)], [f"{topic:02}" for topic in range(14)]


def test_missing_scores_are_tested_as_the_definition_says(shared):
    scores, systems, topics = gappy()
    lab = Scores(shared)
    assert lab.put(csv_of(scores, systems, topics)).status_code == 201
    board = lab.read("/leaderboard")
    assert (board["groups_test"]["topics"], board["groups_test"]["missing"]) == (14, 8)
    n, there = scores.shape[1], [[topic for topic in range(14) if row[topic] == row[topic]] for row in scores]
    means = [math.fsum(row[topic] for topic in of_run) / len(of_run) for row, of_run in zip(scores, there, strict=True)]
    known, all_there = list(map(set, there)), stats.t.ppf(0.975, n - 1)
    factors = [math.sqrt(m / (m - 1)) * stats.t.ppf(0.975, m - 1) / all_there for m in map(len, there)]
    ranges = []
    for part in range(10):
        for resample in Draws(0, "bootstrap-range", part).resamples(1000, n).tolist():
            deviations = []
            for row, of_run, mean, factor in zip(scores.tolist(), known, means, factors, strict=True):
                kept = [row[topic] - mean for topic in resample if topic in of_run]
                deviations.append(factor * math.fsum(kept) / len(kept) if kept else 0.0)
            ranges.append(max(deviations) - min(deviations))
    ranges.sort(reverse=True)
    tails = [min(place / 10_001, 0.999) / 2 for place in range(1, 10_001)]
    stretched = np.array(ranges) * stats.t.isf(tails, n - 1) / stats.norm.isf(tails)
    # Of B ranges, the level of a difference is (1 + those that reach it) / (B + 1), which must be below 0.05.
    critical = stretched[math.ceil(0.05 * 10_001 - 1) - 1]
    for row in board["rows"]:
        mean = means[systems.index(row["name"])]
        better, worse = (sum(sign * (other - mean) > critical for other in means) for sign in (1, -1))
        assert row["rank_set"] == [better + 1, len(means) - worse]
        assert row["mean"]["custom:accuracy(version=1)"] == pytest.approx(mean, rel=1e-12)
        known = scores[systems.index(row["name"])][there[systems.index(row["name"])]]
        low, high = stats.t.interval(0.95, len(known) - 1, known.mean(), stats.sem(known))
        assert row["interval"]["custom:accuracy(version=1)"] == pytest.approx([low, high])
        assert row["topics_missing"] == 14 - len(known)
    assert 0 < board["groups_test"]["different_pairs"] < 10


def test_a_pair_is_compared_on_the_topics_that_both_have(shared):
    scores, systems, topics = gappy()
    lab = Scores(shared)
    assert lab.put(csv_of(scores, systems, topics)).status_code == 201
    pairs = lab.read("/compare", baseline="s0")["comparisons"]
    levels = []
    for pair in pairs:
        rows = [scores[systems.index(pair[name])] for name in ("run", "baseline")]
        both = ~np.isnan(rows[0]) & ~np.isnan(rows[1])
        assert pair["topics_undefined"] == [topic for topic, is_there in zip(topics, both, strict=True) if not is_there]
        assert pair["topics_scored"] == both.sum()
        levels.append(stats.ttest_rel(rows[0][both], rows[1][both]).pvalue)
        assert pair["tests"][0]["asl"] == pytest.approx(levels[-1])
        assert pair["mean"] == pytest.approx([row[both].mean() for row in rows])
        assert pair["difference"] == pytest.approx((rows[0] - rows[1])[both].mean())
        assert pair["interval"] == pytest.approx(stats.ttest_1samp((rows[0] - rows[1])[both], 0).confidence_interval())
        alone = lab.read("/compare", run=[pair["run"], pair["baseline"]])["comparisons"][0]
        assert [test["asl"] for test in alone["tests"][:5]] == [test["asl"] for test in pair["tests"][:5]]
    by_holm, smallest = {}, sorted(levels)
    for place, level in enumerate(smallest):
        by_holm[level] = max([*by_holm.values(), min(1, level * (len(levels) - place))])
    assert [pair["tests"][0]["asl_holm"] for pair in pairs] == pytest.approx([by_holm[level] for level in levels])


@pytest.mark.parametrize("kind", KINDS.split())
def test_jobs_use_the_topics_on_which_every_chosen_system_has_a_score(shared, kind):
    scores, systems, topics = gappy()
    lab = Scores(shared)
    for name in ("one", "two"):
        assert lab.put(csv_of(scores, systems, topics), name, low=0, high=3).status_code == 201
    example = request_of(find_kind(kind))["params"]
    few = {name: example[name] for name in ("trials", "resamples") if name in example}
    for chosen, lost in (("all", {"00", "01", "02", "03", "05", "07", "09"}), (["s1", "s2", "s4"], {"05"})):
        job = lab.worked(lab.ask(kind, metrics=["one", "two"], runs=chosen, **few))
        result = lab.organiser.get(job["result_url"]).json()
        if kind == "rank-correlation":
            assert set(result["topics_undefined"]["custom:one(version=1)"]) == lost
            kept = [topic not in lost for topic in topics]
            means = dict(zip(result["runs"], result["means"]["custom:one(version=1)"], strict=True))
            assert means["s1"] == pytest.approx(scores[1, kept].mean())
        else:
            assert (set(result["topics_left_out"]), result["topics"]) == (lost, 14 - len(lost))
            assert "has a score" in result["left_out_because"]
    sparse = np.where(np.eye(5, 14) + np.eye(5, 14, 5) > 0, 0.5, math.nan)
    assert lab.put(csv_of(sparse, systems, topics), "one").status_code == 201
    none = lab.ask(kind, metrics=["one", "two"], **few)
    assert codes(none) in (["too-few-topics"], ["unbounded-metric"])


def test_only_organisers_upload_and_scores_are_hidden_as_judgments_are(shared):
    lab = Scores(shared)
    assert lab.put(csv_of(drawn(6))).status_code == 201
    reader, team = (shared.token(lab.name, role, *more) for role, *more in (("reader",), ("participant", "heron")))
    for client in (reader, team):
        assert refused(lab.put(csv_of(drawn(7)), client=client)) == (403, "forbidden")
        for path in ("/leaderboard", "/scores?metric=accuracy", "/score-matrices", "/compare?run=run-1&run=run-2"):
            assert refused(client.get(lab.path + path)) == (403, "judgments-hidden"), path
    assert refused(lab.get("/leaderboard", shared.anonymous)) == (401, "not-authenticated")
    assert lab.organiser.patch(lab.path, json={"policy": {"phase": "released"}}).status_code == 200
    assert reader.get(f"{lab.path}/leaderboard").status_code == 200


def test_the_board_says_what_the_topics_are_a_sample_of(shared):
    lab, judged = Scores(shared), Laboratory(shared)
    assert lab.put(csv_of(drawn(8))).status_code == 201
    assert lab.read("/leaderboard")["sample_of"].startswith("these tasks alone")
    assert judged.read("/leaderboard")["sample_of"] is None
    for each in (lab, judged):
        assert each.organiser.patch(each.path, json={"sample_of": "questions of 2026"}).status_code == 200
        assert each.read("/leaderboard")["sample_of"] == "questions of 2026"
    assert lab.organiser.patch(lab.path, json={"sample_of": "x" * 201}).status_code == 422


def test_a_release_is_the_same_elsewhere_and_can_be_made_again(tmp_path, capsys):
    scores, systems, topics = gappy()
    with serving(new_settings(tmp_path / "here", job_slots=0)) as here:
        lab = Scores(here, sample_of="questions of 2026", **RELEASED)
        for name, content in (("f1", drawn(9)), ("accuracy", scores)):
            wanted = (systems, topics) if name == "accuracy" else (SYSTEMS, TOPICS)
            assert lab.put(csv_of(content, *wanted), name, low=0, high=3, direction="lower").status_code == 201
        assert lab.put(csv_of(scores, [*systems[:-1], "vendor/name"], topics)).status_code == 201
        lab.organiser.put(f"{lab.path}/topic-groups/few", json=["01", "02", "03"]).raise_for_status()
        job = lab.ask("bootstrap-sensitivity", metrics=["accuracy"], runs=["s0", "s1", "vendor-name"], resamples=FEW)
        assert after_work(lab, job.headers["location"])["state"] == "succeeded"
        release = lab.organiser.post(f"{lab.path}/releases", json={"metrics": ["accuracy"]})
        assert release.status_code == 201, release.text
        packed = lab.organiser.get(f"{lab.path}/releases/1/archive").content
        board = lab.get("/leaderboard").content
    assert not [name for name in contents_of(packed) if name.startswith("data/runs/")]
    with serving(new_settings(tmp_path / "elsewhere", job_slots=0)) as elsewhere:
        made = elsewhere.organiser.post("/v1/imports", content=packed, headers={"Content-Type": "application/x-tar"})
        assert made.status_code == 201, made.text
        there = json.loads(elsewhere.organiser.get(f"{lab.path}/leaderboard").content)
        # An import is a change of its own.
        assert {**there, "changed_at": None} == {**json.loads(board), "changed_at": None}
        assert elsewhere.organiser.get(f"{lab.path}/releases/1/archive").content == packed
        assert elsewhere.organiser.get(lab.path).json()["kind"] == "scores"
    folder = unpacked(packed, tmp_path / "folder")
    assert main(["verify", str(folder)]) == 0, capsys.readouterr()
