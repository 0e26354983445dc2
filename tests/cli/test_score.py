"""`gainboard score` gives what the service gives, and what trec_eval gives, without either."""

import gzip
import json
from pathlib import Path
from typing import get_args

import pytest

import gainboard
from gainboard.cli import main
from gainboard.metrics import Names
from tests.world.servers import new_settings, serving

METRICS = ["AP", "Q(beta=10)", "nDCG@10", "O-measure", "ADM", "map", "P_10", "AP(mean=geometric)"]
FAULTY = "1 Q0 d01 1 high tag\n1 Q0 d02 2 1.0 tag\n1 Q0 d02 3 0.5 tag\n"


@pytest.fixture(scope="module")
def stored(prepared, tmp_path_factory):
    """The same files in a collection of the service."""
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as service:
        organiser, here = service.organiser, "/v1/collections/c"
        organiser.post("/v1/collections", json={"name": "c", "levels": 3}).raise_for_status()
        organiser.put(f"{here}/qrels", content=(prepared / "qrels.txt").read_bytes()).raise_for_status()
        for run in (prepared / "runs").iterdir():
            query = {"team": "t", "name": run.name}
            organiser.post(f"{here}/runs", params=query, content=run.read_bytes()).raise_for_status()
        yield service


def asked(service, **query):
    """The service's answer."""
    whole = {"metric": METRICS, "gains": "3:2:1", "topics": "all", **query}
    return service.organiser.get("/v1/collections/c/scores", params=whole).raise_for_status()


def score(*arguments, qrels="qrels.txt", code=0):
    """Runs the command."""
    assert main(["score", qrels, *arguments]) == code


def by_service():
    """The command line that asks what `asked` does."""
    runs = ["runs/civet.txt", "runs/egret.txt", "runs/otter.txt"]
    return [*runs, *(f"-m{metric}" for metric in METRICS), "--gains", "3:2:1", "-q"]


@pytest.mark.parametrize(("names", "name"), [*zip(get_args(Names), ("AP", "AP", "map", "AP", "MAP-IA"), strict=True)])
def test_the_names_of_every_tool_can_be_used(folder, capsys, names, name):
    (folder / "intents.txt").write_text("1 1 d01 1\n")
    score("runs/civet.txt", "--names", names, "-m", name, "--intents", qrels="intents.txt")
    assert capsys.readouterr().out.split()[:2] == ["run", "AP(ia=equal)" if names == "ndeval" else "AP"]


@pytest.mark.parametrize(
    ("names", "metric", "option", "value", "instead"),
    [
        ("trec_eval", "ndcg", "gains", "3:2:1", "MSnDCG(gains=3:2:1)"),
        ("trec_eval", "P_5", "rel", "2", "P(rel=2)@5"),
        ("ir_measures", "nDCG@10", "gains", "exp", "MSnDCG(gains=exp)@10"),
        ("ntcireval", "Q-measure", "beta", "10", "Q(beta=10)"),
        ("gainboard", "ndcg_cut_10", "gains", "4:2:1", "MSnDCG(gains=4:2:1)@10"),
        ("ntcireval", "nDCG@10", "gains", "3:2:1", None),
        ("trec_eval", "ndcg", "gains", "linear", None),
        ("gainboard", "nDCG(gains=exp)@10", "gains", "3:2:1", None),
        ("gainboard", "AP", "gains", "3:2:1", None),
    ],
)
def test_a_default_that_a_name_ignores_is_told_everywhere(
    stored, folder, capsys, names, metric, option, value,
    instead,
):  # fmt: skip
    score("runs/civet.txt", "--names", names, "-m", metric, f"--{option}", value)
    printed = capsys.readouterr().err
    answered = asked(stored, metric=metric, names=names, **{"gains": "linear", option: value}).json()["notes"]
    given = {"names": names, option: value}
    found = gainboard.score("qrels.txt", {"civet": "runs/civet.txt"}, [metric], **given).notes
    for notes in (printed.splitlines(), answered, found):
        told = [note for note in notes if f"{option}={value} is ignored for {metric}, " in note]
        assert len(told) == (instead is not None)
        assert all(note.rstrip(".").endswith(f"own name: {instead}") for note in told)


def test_json_is_what_the_service_answers(stored, folder, capsys):
    score(*by_service(), "-f", "json")
    ours, theirs = json.loads(capsys.readouterr().out), asked(stored).json()
    shared = {"metrics", "asked", "topics_scored", "topics_undefined"}
    assert {key: ours[key] for key in shared} == {key: theirs[key] for key in shared}
    for mine, other in zip(ours["runs"], theirs["runs"], strict=True):
        assert {key: mine[key] for key in ("name", "topics_missing", "mean", "topics")} == {
            key: other[key] for key in ("name", "topics_missing", "mean", "topics")
        }


def test_csv_is_what_the_service_answers(stored, folder, capsysbinary):
    score(*by_service(), "-f", "csv")
    assert capsysbinary.readouterr().out == asked(stored, format="csv").content


def test_trec_evals_text_is_what_the_service_answers(stored, folder, capsys):
    score(*by_service(), "-f", "trec_eval")
    texts = [asked(stored, format="trec_eval", run=run).text for run in ("civet.txt", "egret.txt", "otter.txt")]
    assert capsys.readouterr().out == "".join(texts)


def test_without_metrics_they_are_the_services_own(stored, folder, capsys):
    score("run.txt", "-f", "json")
    assert json.loads(capsys.readouterr().out)["metrics"] == asked(stored, metric=[], gains="linear").json()["metrics"]


def test_a_table_has_a_row_a_run_and_its_columns_are_aligned(folder, capsys):
    score("run.txt", "runs/civet.txt", "-mAP", "-mP@10")
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split() == ["run", "AP", "P@10"]
    assert [row.split()[0] for row in rows] == ["run.txt", "civet.txt"]
    assert {len(line) for line in (heading, *rows)} == {len(heading)}


def test_a_table_by_topic_ends_each_run_with_its_mean(folder, capsys):
    score("run.txt", "-q", "-mP@10")
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[1] for row in rows] == [*sorted(map(str, range(1, 13))), "all"]
    mean = sum(float(row[2]) for row in rows[:-1]) / 12
    assert float(rows[-1][2]) == pytest.approx(mean, abs=1e-4)


def test_runs_are_sorted_by_the_metric_that_is_named(folder, capsys):
    runs = ["runs/otter.txt", "runs/civet.txt", "runs/egret.txt"]
    score(*runs, "-mAP", "-mQ", "--sort", "Q")
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == [
        "civet.txt",
        "egret.txt",
        "otter.txt",
    ]
    score(*runs, "-mAP", "--sort", "RR", code=1)
    assert "--sort RR is not one of the metrics" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "labels"),
    [
        ("nDCG@10 P@5 RR", ["nDCG(base=2,gains=linear)@10", "P@5", "RR"]),
        ("P.5,10", ["P@5", "P@10"]),
        ("ndcg_cut.10 map", ["MSnDCG(gains=linear)@10", "AP"]),
        ("Q(beta=10, gains=adjust(3:2:1)) AP", ["Q(beta=10,gains=adjust(3:2:1))", "AP"]),
    ],
)
def test_other_tools_spellings_are_read(given, labels, folder, capsys):
    score("run.txt", "-m", given, "-f", "json")
    assert json.loads(capsys.readouterr().out)["metrics"] == labels


def test_a_bad_expression_is_refused(folder, capsys):
    score("run.txt", "-m", "Q(beta=1", code=1)
    assert "not a metric expression" in capsys.readouterr().err


def test_a_faulty_run_is_reported_and_the_others_are_scored(folder, tmp_path, capsys):
    bad = tmp_path / "bad.txt"
    bad.write_text(FAULTY)
    score(str(bad), "run.txt", str(tmp_path / "absent.txt"), "-mAP", code=1)
    printed = capsys.readouterr()
    assert f"{bad}:1: bad-number: " in printed.err
    assert f"{bad}:3: duplicate-document: " in printed.err
    assert "absent.txt: unreadable: Cannot be read: No such file" in printed.err
    assert [line.split()[0] for line in printed.out.splitlines()] == ["run", "run.txt"]
    score(str(bad), "run.txt", "-f", "json", code=1)
    found = json.loads(capsys.readouterr().out)
    assert [each["errors_total"] for each in found["faulty"]] == [2]
    assert [each["name"] for each in found["runs"]] == ["run.txt"]


def test_faulty_qrels_score_nothing(folder, capsys):
    score("run.txt", qrels="run.txt", code=1)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "run.txt:1: bad-columns: " in printed.err


def test_what_is_left_out_of_the_means_is_said(tmp_path, capsys):
    (tmp_path / "qrels").write_text("1 0 a 2\n2 0 a 1\n3 0 b 0\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1 tag\n9 Q0 a 1 1 tag\n")
    score(str(tmp_path / "run"), "-mAP", "-mP@1", qrels=str(tmp_path / "qrels"))
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1].split() == ["run", "0.5000", "0.5000"]
    assert "1 of 3 topics are left out of all means, because they have no relevant document: 3" in printed.err
    assert "warning: unknown-topics: " in printed.err
    assert "warning: missing-topics: " in printed.err


def test_topics_without_a_gain_are_not_said_to_lack_relevant_documents(tmp_path, capsys):
    (tmp_path / "qrels").write_text("1 0 a 2\n2 0 a 1\n3 0 b 0\n")
    (tmp_path / "run").write_text("1 Q0 a 1 1 tag\n2 Q0 a 1 1 tag\n3 Q0 a 1 1 tag\n")
    metrics = ["-mAP", "-mG(gains=0:0)", "-mnDCG(gains=10:0)@10", "-mQ(gains=adjust(1:0))", "-mnDCG(gains=1:0.5)@5"]
    score(str(tmp_path / "run"), *metrics, qrels=str(tmp_path / "qrels"))
    err = capsys.readouterr().err
    notes = [line.split(" topics are left out of ")[1] for line in err.splitlines() if " left out " in line]
    assert err.count("nDCG@10 is Järvelin and Kekäläinen's; trec_eval's and ir_measures' is ndcg_cut_10") == 1
    why = "because they have no relevant document"
    assert notes == [
        f"the means of AP, nDCG(base=2,gains=1:0.5)@5, {why}: 3",
        f"the means of G(gains=0:0), {why} with a gain above 0: 1, 2, 3",
        f"the means of nDCG(base=2,gains=10:0)@10, Q(beta=1,gains=adjust(1:0)), {why} with a gain above 0: 2, 3",
    ]


def test_few_ties_of_many_runs_are_one_line_and_quiet_leaves_it_out(folder, tmp_path, capsys):
    text = (folder / "runs" / "civet.txt").read_text()
    topic = text.split(maxsplit=1)[0]
    tied = "".join(f"{topic} Q0 {name} 0 -9 civet\n" for name in ("tied-1", "tied-2"))
    more = "".join(f"{topic} Q0 more-{place} 0 {-10 - place} civet\n" for place in range(300))
    files = [str(tmp_path / name) for name in ("a.txt", "b.txt")]
    for file in files:
        Path(file).write_text(text + tied + more)
    score(*files, "-mAP", qrels=str(folder / "qrels.txt"))
    few = "less than 1 % of the documents"
    assert capsys.readouterr().err.count("tied-scores") == 1
    score(*files, "-mAP", qrels=str(folder / "qrels.txt"))
    assert f"2 of 2 runs: warning: tied-scores: {few}, such as in {files[0]}\n" in capsys.readouterr().err
    score(files[0], "-mAP", qrels=str(folder / "qrels.txt"))
    assert " % of the documents have the same score" in capsys.readouterr().err
    score(*files, "-mAP", "-mnDCG@10", "--quiet", qrels=str(folder / "qrels.txt"))
    assert capsys.readouterr().err == ""


def test_levels_are_those_that_are_judged_unless_they_are_named(folder, tmp_path, capsys):
    score("run.txt", "-m", "Q", "--gains", "10:5:1")
    assert "gains=10:5:1" in capsys.readouterr().out
    score("run.txt", "-m", "Q", "--gains", "10:5:1", "--levels", "4", code=1)
    assert "there are 4 levels" in capsys.readouterr().err
    numbered = {"0": "C", "1": "B", "2": "A", "3": "S"}
    rows = (line.split() for line in (folder / "qrels.txt").read_text().splitlines())
    (tmp_path / "ntcir").write_text("".join(f"{topic} {numbered[level]} {d}\n" for topic, _, d, level in rows))
    score("run.txt", "-m", "Q", "-f", "csv")
    expected = capsys.readouterr().out
    score("run.txt", "-m", "Q", "-f", "csv", "--levels", "B,A,S", qrels=str(tmp_path / "ntcir"))
    assert capsys.readouterr().out == expected
    score("run.txt", qrels=str(tmp_path / "ntcir"), code=1)
    assert "--levels" in capsys.readouterr().err


def test_compressed_files_are_read_and_named_without_their_suffix(folder, tmp_path, capsys):
    (tmp_path / "run.txt.gz").write_bytes(gzip.compress((folder / "run.txt").read_bytes()))
    score("run.txt", "-f", "csv")
    plain = capsys.readouterr().out
    score(str(tmp_path / "run.txt.gz"), "-f", "csv")
    assert capsys.readouterr().out == plain


def test_a_table_for_a_paper_is_latex(folder, capsys):
    score("runs/civet.txt", "runs/otter.txt", "-mAP", "-f", "latex")
    printed = capsys.readouterr().out
    assert r"\begin{tabular}{lr}" in printed
    assert printed.count(r"\textbf{\boldmath") == 1


def test_a_table_for_a_paper_names_runs_by_their_files_and_has_no_paths(folder, tmp_path, capsys):
    text = (folder / "runs" / "civet.txt").read_text()
    runs = {"a/r.txt": "alike", "b/r.txt": "alike", "b/s.txt": "alike", "own.txt": "own"}
    for name, tag in runs.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        lines = [[*line.split()[:5], tag] for line in text.splitlines()]
        (tmp_path / name).write_text("\n".join(map(" ".join, lines)))
    score(*(str(tmp_path / name) for name in runs), "-mAP", "-f", "latex", qrels=str(folder / "qrels.txt"))
    printed = capsys.readouterr().out
    rows = printed.partition("\\midrule\n")[2].partition("\\bottomrule")[0].splitlines()
    assert [row.partition(" & ")[0] for row in rows] == ["r.txt (1)", "r.txt (2)", "s.txt", "own.txt"]
    assert "by qrels.txt}" in printed
    assert "/" not in printed.partition("\n")[2]


def test_a_folder_is_the_runs_in_it(own_folder, capsys):
    score(*(f"runs/{name}.txt" for name in ("civet", "egret", "otter")), "-mAP")
    by_file = capsys.readouterr().out
    (own_folder / "runs" / "civet.ir_metadata.yml").write_text("tag: civet\n")
    (own_folder / "runs" / ".hidden").write_text("nothing")
    for name in ("qrels.txt", "runs/qrels.txt"):
        (own_folder / name).write_bytes((own_folder / "qrels.txt").read_bytes())
        score("runs", "-mAP", qrels=name)
        assert capsys.readouterr().out == by_file
    (own_folder / "runs" / "qrels.txt").unlink()
    assert main(["check", "runs"]) == 0
    assert capsys.readouterr().out.count(": fine: run, ") == 3
    (own_folder / "empty").mkdir()
    score("empty", code=1)
    assert "The folder empty has no run files" in capsys.readouterr().err


TIED = "".join(f"{topic} Q0 d{rank:02} {rank} {-(rank // 4)} tied\n" for topic in range(1, 13) for rank in range(30))


@pytest.mark.parametrize("ties", ["range", "expected"])
def test_scores_of_ties_are_what_the_service_answers(ties, stored, folder, tmp_path, capsys):
    (tmp_path / "tied.txt").write_text(TIED)
    stored.organiser.post("/v1/collections/c/runs", params={"team": "t", "name": "tied.txt"}, content=TIED)
    files = ["runs/civet.txt", str(tmp_path / "tied.txt")]
    score(*files, *by_service()[3:], "--ties", ties, "-f", "json")
    ours = json.loads(capsys.readouterr().out)["runs"]
    theirs = asked(stored, run=["civet.txt", "tied.txt"], ties=ties).json()["runs"]
    assert [run["ties"] for run in ours] == [run["ties"] for run in theirs]
    assert ours[1]["ties"]["tied_share"] == 1
    stored.organiser.delete("/v1/collections/c/runs/tied.txt").raise_for_status()


def test_a_table_has_the_range_and_the_expectation_beside_each_score(folder, tmp_path, capsys):
    (tmp_path / "tied.txt").write_text(TIED)
    score(str(tmp_path / "tied.txt"), "-mAP", "--ties", "range", "-q")
    heading, *rows = capsys.readouterr().out.splitlines()
    assert heading.split() == ["run", "topic", "tied", "AP", "AP", "worst", "AP", "best"]
    assert rows[-1].split()[1:3] == ["all", "100.0%"]
    own, worst, best = map(float, rows[-1].split()[3:])
    assert worst < own < best
    score(str(tmp_path / "tied.txt"), "-mAP", "-mERR", "--ties", "expected", "--depth", "30")
    heading = capsys.readouterr().out.splitlines()[0]
    assert "AP expected" in heading
    assert "AP standard error" not in heading
    assert "ERR(gains=linear) standard error" in heading
    for form in ("csv", "trec_eval"):
        score("run.txt", "--ties", "range", "-f", form, code=1)
        assert "has no place for ties" in capsys.readouterr().err
