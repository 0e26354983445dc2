"""`gainboard.score`: files, frames and dictionaries, scored as `gainboard score` does."""

import io
import json
import re
from decimal import Decimal

import ir_measures
import numpy as np
import pytest

import gainboard
from gainboard.errors import BadExpression, BadInput, FaultyFile
from tests.cli.conftest import prepared  # noqa: F401 (a fixture)
from tests.cli.shells import Shell
from tests.world.campaigns import QRELS, RUN, WORSE


def by_topic(text, value):
    found = {}
    for line in text.splitlines():
        words = line.split()
        found.setdefault(words[0], {})[words[2]] = float(words[value])
    return found


def test_files_frames_and_dictionaries_have_the_scores_of_the_command(tmp_path):
    pandas = pytest.importorskip("pandas")
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "runs").mkdir()
    for name, run in (("run", RUN), ("worse", WORSE)):
        (tmp_path / "runs" / f"{name}.txt").write_text(run)
    shell = Shell(tmp_path)
    done = shell.run("gainboard score qrels.txt runs/run.txt runs/worse.txt -m Q -m nDCG@10 --gains 3:1 -q -f json")
    assert done.code == 0, done.err
    printed = json.loads(done.out)
    qrels, runs = by_topic(QRELS, 3), {"run": by_topic(RUN, 4), "worse": by_topic(WORSE, 4)}
    columns = ["qid", "docno", "score"]
    frames = {
        name: pandas.DataFrame([(t, d, v) for t, own in run.items() for d, v in own.items()], columns=columns)
        for name, run in runs.items()
    }
    given = [
        (tmp_path / "qrels.txt", tmp_path / "runs"),
        (tmp_path / "qrels.txt", [str(tmp_path / "runs/*.txt")]),
        (QRELS, {"run": RUN.encode(), "worse": WORSE}),
        (qrels, runs),
        (qrels, frames),
    ]
    for judged, each in given:
        found = gainboard.score(judged, each, ["Q", "nDCG@10"], gains="3:1")
        assert list(found.runs) == ["run", "worse"]
        assert list(found.metrics) == printed["metrics"]
        assert [*found.to_dict().values()] == [run["mean"] for run in printed["runs"]]
        wide = found.to_pandas(topics=True)
        for name, run in zip(found.runs, printed["runs"], strict=True):
            for label in found.metrics:
                for topic, value in run["topics"][label].items():
                    np.testing.assert_equal(wide.loc[(name, topic), label], np.nan if value is None else value)


def test_numbers_beside_means_are_those_of_the_command(tmp_path):
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "run.txt").write_text(RUN)
    done = Shell(tmp_path).run("gainboard score qrels.txt run.txt -m AP -m RBP --bounds --cwl -f json")
    (run,) = json.loads(done.out)["runs"]
    scores = gainboard.score(tmp_path / "qrels.txt", tmp_path / "run.txt", ["AP", "RBP"], bounds=True, cwl=True)
    assert scores.numbers == {"run": run["numbers"]}
    with pytest.raises(BadInput, match=r"bounds is for gainboard\.score alone"):
        gainboard.leaderboard(tmp_path / "qrels.txt", tmp_path / "run.txt", bounds=True)


def test_what_cannot_be_scored_is_refused_with_what_would_be():
    assert {"score", "FileScores"} <= set(dir(gainboard))
    one = {"1": {"a": 1.0}}
    refusals = [
        (BadInput, "no parameter 'gain'. Available: .*gains", {"gain": "3"}),
        (BadInput, "No topic of the run 'run-1' is judged, such as '2'", {"runs": {"2": {"a": 1.0}}}),
        (BadInput, "Cannot read absent.txt", {"runs": "absent.txt"}),
        (BadInput, "no run to score", {"runs": []}),
        (BadExpression, "Nonsense", {"metrics": ["Nonsense"]}),
        (FaultyFile, "line 1|fault", {"qrels": "1 0 a x\n"}),
    ]
    for kind, why, given in refusals:
        with pytest.raises(kind, match=why):
            gainboard.score(**({"qrels": one, "runs": one} | given))


NAN = float("nan")
NO_IDS = [None, NAN, np.datetime64("NaT"), True, b"a", ("a",), "", "a b", "a\0", "\ud800", "a\udc80", 10**5000]
NO_SCORES = [None, NAN, 10**400, 10**5000, True, np.True_, "x", "1_0", [1.0], {"s": 1.0}, 1j, b"1"]
NO_LEVELS = [0.5, 1.5, np.float32(0.1), Decimal("1.00000000000000000001"), 128, -128, "L2", "1.0", *NO_SCORES]
ONE = {"t": {"d": 1}}


def refusal(qrels, runs):
    with pytest.raises(BadInput) as caught:
        gainboard.score(qrels, runs, ["AP"])
    return str(caught.value)


def test_whole_numbers_of_any_type_are_levels():
    for level in (2, 2.0, np.int8(2), np.float32(2), np.array(2), "2", Decimal(2)):
        found = gainboard.score(
            {"t": {"a": level, "b": 1}}, {"t": {"b": 2.0, "a": 1.0}}, ["CG@1", "nCG@1"], gains="3:1"
        )
        assert found.means.tolist() == [[1.0, 1 / 3]], level


def test_no_level_is_rounded_and_a_score_that_is_no_number_is_named_with_its_place():
    for level in NO_LEVELS:
        for qrels in ({"t": {"d": level}}, [ir_measures.Qrel("t", "d", level)]):
            said = refusal(qrels, ONE)
            assert said.startswith("The qrels, topic 't', document 'd': level ")
            assert "is not an integer from -127 to 127" in said
    for score in NO_SCORES:
        for run in ({"t": {"d": score}}, [ir_measures.ScoredDoc("t", "d", score)]):
            # A dictionary in place of a score would be a run by name, unless another topic has a score.
            said = refusal(ONE, {"other": ONE, "bm25": run})
            assert said.startswith("The run 'bm25', topic 't', document 'd': score ")
            assert "is not a finite number" in said


def test_an_id_that_is_missing_or_no_text_is_named():
    for name in NO_IDS:
        assert "topic 't'" in (said := refusal(ONE, {"bm25": {"t": {name: 1.0}}})), name
        assert said.startswith("The run 'bm25', row 1")
        assert "document 'd'" in (said := refusal({name: {"d": 1}}, ONE)), name
        assert said.startswith("The qrels, row 1")
    for name in (None, NAN, True, b"a", ("a",), "\ud800"):
        assert "cannot be the name of a run" in refusal(ONE, {name: ONE})


def test_a_missing_id_of_a_frame_is_no_document_called_nan():
    pandas = pytest.importorskip("pandas")
    for missing in (None, NAN, pandas.NA, pandas.NaT):
        columns = {"qid": ["t", "t"], "docno": ["d", missing], "score": [2.0, 1.0]}
        assert "The run 'bm25', row 2, topic 't'" in refusal(ONE, {"bm25": pandas.DataFrame(columns)})


def test_what_is_no_table_is_named():
    rankings = [["d"], ("d",), {"d"}, [("d", 1.0)]]
    for ranking in rankings:
        assert "The run 'bm25', topic 't': " in refusal(ONE, {"bm25": {"t": ranking}})
        assert "The qrels, topic 't': " in refusal({"t": ranking}, ONE)
        assert "The run 't', item 1: " in refusal(ONE, {"t": ranking})
    for table in (None, 5, True, 1.5, object(), np.array(3)):
        assert "neither a file, nor a dictionary" in refusal(table, ONE)
        assert "The run 'bm25': " in refusal(ONE, {"bm25": table})
    assert "there are no rows" in refusal({}, ONE)
    assert "surrogate" not in refusal("t 0 \ud800 1\n", ONE)
    assert "Open it as binary" in refusal(io.StringIO("t 0 d 1\n"), ONE)
    assert r"Cannot read \ud800" in refusal("\ud800", ONE)


def test_topics_of_tables_are_no_comments():
    for topic in ("#1", "#", "<SYSDESC>x", "\ufeff1", "PAR1", "#ir_metadata.start", "\xa01"):
        judged, run = {topic: {"a": 1}, "2": {"a": 1}}, {topic: {"a": 1.0}, "2": {"b": 1.0}}
        found = gainboard.score(judged, {"r": run}, ["AP"])
        assert (sorted(found.topics), found.means.tolist()) == (sorted([topic, "2"]), [[0.5]]), topic


def test_judgments_and_scored_documents_of_ir_measures_are_read_from_lists_and_generators():
    qrels = [ir_measures.Qrel("t", "a", 1, "1"), ir_measures.Qrel("t", "b", 1, "2")]
    run = [ir_measures.ScoredDoc("t", "a", 2.0), ir_measures.ScoredDoc("t", "c", 1.0)]
    for judged, runs in ((qrels, run), (iter(qrels), iter(run)), (qrels, [run]), (qrels, {"run-1": iter(run)})):
        assert gainboard.score(judged, runs, "AP").to_dict() == {"run-1": {"AP": 0.5}}
    assert gainboard.score(qrels, [run, [ONE, {"named": ONE}]], "AP").runs == ["run-1", "run-2", "named"]
    pandas = pytest.importorskip("pandas")
    assert gainboard.score({"t": pandas.Series({"a": 1, "b": 1})}, run, "AP").means.tolist() == [[0.5]]
    assert gainboard.score(qrels, run, ["I-rec@2"], intents=True).means.tolist() == [[0.5]]


def test_notes_are_what_the_command_prints(tmp_path):
    (tmp_path / "qrels").write_text("1 0 x1 1\n2 0 b 0\n3 0 c 1\n#4 0 d 1\n")
    (tmp_path / "a.run").write_text("1 Q0 1 1 5 a\n1 Q0 2 2 5 a\n1 Q0 3 3 4 a\n9 Q0 1 1 1 a\n")
    (tmp_path / "b.run").write_text("#3 Q0 x1 1 2 b\n1 Q0 x1 1 2 b\n2 Q0 b 1 2 b\n")
    done = Shell(tmp_path).run("gainboard score qrels a.run b.run -m nDCG@10 -m AP")
    found = gainboard.score(tmp_path / "qrels", [tmp_path / "a.run", tmp_path / "b.run"], ["nDCG@10", "AP"])
    printed = re.sub(r"\b([ab])\.run: ", r"\1: ", done.err).splitlines()
    notes = [each if ": warning: " in each else f"qrels: note: {each.removesuffix('.')}" for each in found.notes]
    assert (notes, sum(": warning: " in line for line in printed)) == (printed, 7)


@pytest.mark.outer
def test_boards_and_comparisons_are_those_of_the_commands(prepared):  # noqa: F811
    shell, runs = Shell(prepared), [prepared / "run.txt", prepared / "runs"]
    board = gainboard.leaderboard(prepared / "qrels.txt", runs, ["Q"], by="nDCG@10")
    done = shell.run("gainboard leaderboard --qrels qrels.txt --runs run.txt runs/* -m Q --by nDCG@10 -f json")
    printed = json.loads(done.out)
    assert board.by == printed["by"]
    assert [(row.rank, row.run, [*row.groups], row.means) for row in board.rows] == [
        (row["rank"], row["name"], row["groups"], row["mean"]) for row in printed["rows"]
    ]
    assert [[*row.rank_set] for row in board.rows] == [row["rank_set"] for row in printed["rows"]]
    found = gainboard.compare(prepared / "qrels.txt", runs, ["AP"], baseline="run", margin=0.02)
    done = shell.run("gainboard compare qrels.txt run.txt runs/* --baseline run.txt -m AP --margin 0.02 -f json")
    assert json.loads(json.dumps([each.as_json() for each in found.pairs])) == [
        {**each, **{name: each[name].removeprefix("runs/").removesuffix(".txt") for name in ("run", "baseline")}}
        for each in json.loads(done.out)["comparisons"]
    ]
    assert [*board.to_pandas()] == ["rank", "run", *board.metrics, "low", "high", "best_rank", "worst_rank", "groups"]
    assert found.to_polars().columns == [*found.to_pandas()]
    assert gainboard.score(prepared / "qrels.txt", runs, ["AP"]).to_polars(topics=True).shape == (4 * 12, 3)
    by_default = gainboard.leaderboard(prepared / "qrels.txt", runs, by="P@5")
    assert ("P@5" in by_default.by, len(by_default.metrics)) == (True, 4)
    assert gainboard.leaderboard(prepared / "qrels.txt", runs, ["map"], names="trec_eval", by="P_5").by == by_default.by
    with pytest.raises(BadInput, match="'sakai2006' stands for several metrics"):
        gainboard.leaderboard(prepared / "qrels.txt", runs, by="sakai2006")
    for given, why in (({}, "the number of runs is 4"), ({"baseline": "x"}, "no run 'x'"), ({"margin": 0}, "above 0")):
        with pytest.raises(BadInput, match=why):
            gainboard.compare(prepared / "qrels.txt", runs, ["AP"], **given)
