"""Scores that were computed elsewhere, in Python and at the command line, against a service with the same scores."""

import csv
import io
import json
import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import gainboard
from gainboard.cli import main
from gainboard.errors import BadInput, FaultyFile
from gainboard.evaluation.boards.leaderboard import SEED
from gainboard.evaluation.scoring.score_files import read_score_files
from gainboard.statistics.draws import Draws
from tests.trec.test_score_formats import TASK

pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
SYSTEMS, TOPICS = 9, 12
GENERATOR = np.random.default_rng(7)
SCORES = (GENERATOR.random((SYSTEMS, TOPICS)) / 2 + np.linspace(0, 0.5, SYSTEMS)[:, np.newaxis]).round(4)
FRAME = pandas.DataFrame(SCORES, [f"org/m{row}" for row in range(SYSTEMS)], [f"t{topic:02}" for topic in range(TOPICS)])
GAPS = FRAME.copy()
GAPS.iloc[2, [0, 5]] = GAPS.iloc[7, 3] = np.nan


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.rename_axis("model").to_csv("accuracy.csv")
    GAPS.rename_axis("model").to_csv("gaps.csv")
    return tmp_path


def printed(capsys, *words, code=0):
    assert main(list(words)) == code
    return capsys.readouterr()


@pytest.mark.parametrize("frame", [FRAME, GAPS], ids=["complete", "with gaps"])
def test_a_frame_in_any_form_gives_one_board(frame, folder):
    board = gainboard.leaderboard(scores=frame).to_pandas()
    first = frame.rename_axis("model").reset_index()
    long = first.melt("model", var_name="task", value_name="score").sample(frac=1, random_state=0)
    by_name = polars.DataFrame({"": list(frame.index), **{name: frame[name].to_numpy() for name in frame}})
    cells = {system: {t: s for t, s in row.items() if not math.isnan(s)} for system, row in frame.T.to_dict().items()}
    frame.rename_axis("model").to_csv("score.csv")
    for other in (first, long, frame.T.rename_axis("task"), by_name, cells, "score.csv"):
        pandas.testing.assert_frame_equal(gainboard.leaderboard(scores=other).to_pandas(), board)


def plain_letters_of_pairs(scores):
    """Which pairs the bootstrap range test tells apart, by loops over its definition with missing scores."""
    counts = [sum(not math.isnan(score) for score in row) for row in scores]
    means = [
        math.fsum(score for score in row if not math.isnan(score)) / count
        for row, count in zip(scores, counts, strict=True)
    ]
    ranges, topics = [], len(scores[0])
    lengths = [
        stats.t.isf(0.025, count - 1) / stats.t.isf(0.025, topics - 1) * math.sqrt(count / (count - 1))
        for count in counts
    ]
    for part in range(10):
        for drawn in Draws(SEED, "bootstrap-range", part).resamples(1000, topics).tolist():
            found = []
            for row, mean, length in zip(scores, means, lengths, strict=True):
                gaps = [row[topic] - mean for topic in drawn if not math.isnan(row[topic])]
                found.append(length * math.fsum(gaps) / len(gaps))
            ranges.append(max(found) - min(found))
    ranges.sort(reverse=True)
    tails = np.minimum(np.arange(1, 10_001) / 10_001, 0.999) / 2
    widened = (ranges * stats.t.isf(tails, topics - 1) / stats.norm.isf(tails)).tolist()
    pairs = combinations(range(len(scores)), 2)
    return {
        (one, other) for one, other in pairs if 1 + sum(r >= abs(means[one] - means[other]) for r in widened) < 500.05
    }


def test_letters_with_missing_scores_are_those_of_the_definition():
    board = gainboard.leaderboard(scores=GAPS)
    letters = {row.run: set(row.groups) for row in board.rows}
    apart = {(a, b) for a, b in combinations(range(SYSTEMS), 2) if not letters[f"org/m{a}"] & letters[f"org/m{b}"]}
    assert apart == plain_letters_of_pairs(GAPS.to_numpy().tolist())
    assert board.rows[0].means["score"] == pytest.approx(np.nanmean(GAPS.loc[board.rows[0].run]), abs=1e-15)
    assert "3 of 108 scores are missing" in board.notes[0]


def test_a_pair_leaves_out_the_topics_that_one_of_its_systems_lacks():
    both = GAPS.loc[["org/m2", "org/m7"]].dropna(axis=1)
    (pair,) = gainboard.compare(scores=GAPS, runs=["org/m2", "org/m7"]).pairs
    (plain,) = gainboard.compare(scores=both).pairs
    assert pair.topics == plain.topics
    assert pair.undefined == ["t00", "t03", "t05"]
    single = [test for test in pair.statistics.tests if test.name != "bootstrap-range"]
    assert single == [test for test in plain.statistics.tests if test.name != "bootstrap-range"]


def test_missing_scores_and_the_direction_are_what_is_said():
    filled = gainboard.leaderboard(scores=GAPS, missing=0.0)
    assert filled.to_pandas().equals(gainboard.leaderboard(scores=GAPS.fillna(0)).to_pandas())
    with pytest.raises(BadInput, match="3 of 108 scores are missing"):
        gainboard.leaderboard(scores=GAPS, missing="refuse")
    up, down = (gainboard.leaderboard(scores=frame, direction=way) for frame, way in ((-FRAME, "up"), (FRAME, "down")))
    assert [(row.run, row.groups, row.rank_set) for row in up.rows] == [
        (row.run, row.groups, row.rank_set) for row in down.rows
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"metrics": "f1"}, "no scores of the metric 'f1'"),
        ({"by": "f1"}, "no scores of the metric 'f1'"),
        ({"gains": "3:2:1"}, "gains is not for scores"),
        ({"qrels": "qrels.txt"}, "in place of judgments"),
        ({"scores": 5}, "int is not a file"),
        ({"scores": None}, "Give judgments and runs, or scores=FRAME"),
    ],
)
def test_what_does_not_fit_scores_is_refused(options, said):
    with pytest.raises(BadInput, match=said):
        gainboard.leaderboard(**{"scores": FRAME, **options})
    with pytest.raises(BadInput, match="no scores of the system 'nobody'"):
        gainboard.compare(scores=FRAME, runs=["org/m1", "nobody"])


def test_files_join_to_more_systems_topics_or_metrics_but_never_to_two_scores_of_a_cell(folder):
    FRAME.iloc[:4, :7].rename_axis("model").to_csv("part-1.csv")
    parts = {"accuracy": FRAME, "loss": 1 - FRAME}
    for number, rows in enumerate((slice(0, 4), slice(4, None))):
        (folder / str(number)).mkdir()
        for name, frame in parts.items():
            frame.iloc[rows].rename_axis("model").to_csv(f"{number}/{name}.csv")
    joined = read_score_files(["0/accuracy.csv", "1"])
    assert (joined.systems, joined.topics) == ([*FRAME.index], [*FRAME.columns])
    assert np.array_equal(joined.scores["accuracy"], SCORES)
    assert np.isnan(joined.scores["loss"][:4]).all()
    with pytest.raises(FaultyFile, match=r"0/accuracy\.csv and accuracy\.csv both have a score") as refused:
        read_score_files(["0/accuracy.csv", "accuracy.csv"])
    assert refused.value.total == 4 * TOPICS


def test_folders_of_mteb_name_the_systems(folder):
    for model, revision, task in (("a__b", "r1", "X"), ("a__b", "r2", "X"), ("c__d", "r1", "X"), ("c__d", "r1", "Y")):
        (folder / "results" / model / revision).mkdir(parents=True, exist_ok=True)
        (folder / "results" / model / revision / f"{task}.json").write_text(TASK.replace("DiaBlaBitextMining", task))
        (folder / "results" / model / revision / "model_meta.json").write_text("{}")
    file = read_score_files("results")
    assert (file.systems, file.topics) == (["a/b@r1", "a/b@r2", "c/d"], ["X", "Y"])
    assert np.array_equal(file.scores["main_score"], [[0.5, np.nan], [0.5, np.nan], [0.5, 0.5]], equal_nan=True)


@pytest.mark.parametrize("name", ["accuracy", "gaps"])
def test_the_command_says_what_a_service_with_the_same_scores_says(name, folder, shared, capsys):
    gb, collection = shared.organiser, f"elsewhere-{name}"
    gb.post("/v1/collections", json={"name": collection, "kind": "scores"}).raise_for_status()
    path = f"/v1/collections/{collection}"
    put = {"params": {"missing": "leave-out"}, "content": (folder / f"{name}.csv").read_bytes()}
    gb.put(f"{path}/score-matrices/{name}", **put).raise_for_status()
    ours = json.loads(printed(capsys, "leaderboard", "--scores", f"{name}.csv", "-f", "json").out)
    theirs = gb.get(f"{path}/leaderboard").raise_for_status().json()
    label = theirs["by"]

    def rows(board, by):
        return [
            (
                row["rank"],
                row["name"].replace("/", "-"),
                row["mean"][by],
                row["interval"][by],
                row["groups"],
                row["rank_set"],
            )
            for row in board["rows"]
        ]

    assert rows(ours, name) == rows(theirs, label)
    assert ours["groups_test"] == theirs["groups_test"]
    options = ["org/m2", "org/m7", "--scores", f"{name}.csv", "-f", "json"]
    (ours,) = json.loads(printed(capsys, "compare", *options).out)["comparisons"]
    query = {"run": ["org-m2", "org-m7"]}
    (theirs,) = gb.get(f"{path}/compare", params=query).raise_for_status().json()["comparisons"]
    for answer in (ours, theirs):
        answer.pop("metric"), answer.pop("run"), answer.pop("baseline")
    assert ours == theirs


def test_systems_with_other_topics_are_compared_with_a_baseline(folder, capsys):
    rows = printed(capsys, "compare", "--scores", "gaps.csv", "--baseline", "org/m2").out.splitlines()
    assert rows[0].split()[-4:] == ["max-T", "won", "lost", "tied"]
    assert [sum(map(int, row.split()[-3:])) for row in rows[1:]] == [10] * 6 + [9, 10]
    assert "no system" in printed(capsys, "compare", "--scores", "gaps.csv", "--baseline", "x", code=1).err


def test_boards_are_printed_in_every_form(folder, capsys):
    done = printed(capsys, "leaderboard", "--scores", "gaps.csv", "accuracy.csv", "--top", "2", "--by", "gaps")
    lines = done.out.splitlines()
    assert lines[0].split() == ["rank", "run", "gaps", "accuracy", "rank", "set", "groups"]
    assert len(lines) == 3
    assert "3 of 108 scores are missing" not in done.err  # of the first metric, beside all those of the second
    assert "3 of 216 scores are missing, of 2 systems such as org/m2" in done.err
    table = csv.DictReader(io.StringIO(printed(capsys, "leaderboard", "--scores", "gaps.csv", "-f", "csv").out))
    assert {*table.fieldnames} >= {"rank", "run", "metric", "mean", "low", "high", "groups", "best_rank", "worst_rank"}
    assert "\\begin{tabular}" in printed(capsys, "leaderboard", "--scores", "gaps.csv", "-f", "latex").out
    assert "| rank | run | gaps |" in printed(capsys, "leaderboard", "--scores", "gaps.csv", "-f", "markdown").out
    refused = printed(capsys, "leaderboard", "--scores", "gaps.csv", "--judgments", "model", code=1).err
    assert refused.startswith("gainboard: --judgments is about judgments or a server")
    (folder / "bad.csv").write_text("model,a,b\nx,1,?\nx,1,0\n")
    (folder / "worse.csv").write_text("model,a,b\nx\n")
    refused = printed(capsys, "leaderboard", "--scores", "bad.csv", "accuracy.csv", "worse.csv", code=1).err
    places = [line.partition(" ")[0] for line in refused.splitlines()]
    assert places[:3] == ["bad.csv:2:", "bad.csv:3:", "worse.csv:2:"]
    lower = printed(capsys, "leaderboard", "--scores", "accuracy.csv", "--direction", "lower", "-f", "csv").out
    assert next(csv.DictReader(io.StringIO(lower)))["run"] == FRAME.mean(axis=1).idxmin()


def test_people_correct_scores_in_a_file_of_another_name(folder, capsys):
    rows = [(f"m{row}", f"t{topic}", row / 9 + topic % 2 / 9) for row in range(3) for topic in range(40)]
    for name, topics in (("cheap", 40), ("people", 24)):
        lines = [f"{system},{topic},{score}" for system, topic, score in rows if int(topic[1:]) < topics]
        (folder / f"{name}.csv").write_text("\n".join(["system,topic,value", *lines]))
    command = "leaderboard", "--scores", "cheap.csv", "--corrected-by", "people.csv"
    assert printed(capsys, *command).out.split()[:6] == ["rank", "run", "cheap", "rank", "set", "groups"]
    assert "corrected by people on 24 of 40 topics" in printed(capsys, *command, "-f", "markdown").out


@pytest.mark.outer
def test_jobs_and_reports_take_files_of_scores(folder, capsys):
    words = ["job", "run", "rank-intervals", "--scores", "accuracy.csv", "-m", "accuracy", "--wait", "-f", "csv"]
    table = printed(capsys, *words).out
    assert "org-m8" in table
