"""`gainboard score` gives what the service gives, and what trec_eval gives, without either."""

import json

import pytest

import gainboard
from gainboard.cli import main
from tests.world.servers import new_settings, serving

METRICS = ["AP", "Q(beta=10)", "nDCG@10", "O-measure", "ADM", "map", "P_10", "AP(mean=geometric)"]


@pytest.fixture(scope="module")
def stored(prepared, tmp_path_factory):
    with serving(new_settings(tmp_path_factory.mktemp("data"))) as service:
        organiser, here = service.organiser, "/v1/collections/c"
        organiser.post("/v1/collections", json={"name": "c", "levels": 3}).raise_for_status()
        organiser.put(f"{here}/qrels", content=(prepared / "qrels.txt").read_bytes()).raise_for_status()
        for run in (prepared / "runs").iterdir():
            query = {"team": "t", "name": run.name}
            organiser.post(f"{here}/runs", params=query, content=run.read_bytes()).raise_for_status()
        yield service


def asked(service, **query):
    whole = {"metric": METRICS, "gains": "3:2:1", "topics": "all", **query}
    return service.organiser.get("/v1/collections/c/scores", params=whole).raise_for_status()


def score(*arguments, qrels="qrels.txt", code=0):
    assert main(["score", qrels, *arguments]) == code


def by_service():
    runs = ["runs/civet.txt", "runs/egret.txt", "runs/otter.txt"]
    return [*runs, *(f"-m{metric}" for metric in METRICS), "--gains", "3:2:1", "-q"]


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


def test_json_csv_and_trec_evals_text_are_what_the_service_answers(stored, folder, capsysbinary):
    score(*by_service(), "-f", "json")
    ours, theirs = json.loads(capsysbinary.readouterr().out), asked(stored).json()
    shared = {"metrics", "asked", "topics_scored", "topics_undefined"}
    assert {key: ours[key] for key in shared} == {key: theirs[key] for key in shared}
    for mine, other in zip(ours["runs"], theirs["runs"], strict=True):
        for key in ("name", "topics_missing", "mean", "topics"):
            assert mine[key] == other[key]
    score(*by_service(), "-f", "csv")
    assert capsysbinary.readouterr().out == asked(stored, format="csv").content
    score(*by_service(), "-f", "trec_eval")
    texts = [asked(stored, format="trec_eval", run=run).content for run in ("civet.txt", "egret.txt", "otter.txt")]
    assert capsysbinary.readouterr().out == b"".join(texts)


def test_other_tools_spellings_are_read(folder, capsys):
    for given, labels in {
        "nDCG@10 P.5,10": ["nDCG(base=2,gains=linear)@10", "P@5", "P@10"],
        "ndcg_cut.10 map": ["MSnDCG(gains=linear)@10", "AP"],
        "Q(beta=10, gains=adjust(3:2:1)) AP": ["Q(beta=10,gains=adjust(3:2:1))", "AP"],
    }.items():
        score("run.txt", "-m", given, "-f", "json")
        assert json.loads(capsys.readouterr().out)["metrics"] == labels


def test_topics_without_a_gain_are_not_said_to_lack_relevant_documents(tmp_path, capsys):
    (tmp_path / "qrels").write_text("1 0 a 2\n2 0 a 1\n3 0 b 0\n")
    (tmp_path / "run").write_text("".join(f"{topic} Q0 a 1 1 tag\n" for topic in "123"))
    score(str(tmp_path / "run"), "-mAP", "-mQ(gains=adjust(1:0))", qrels=str(tmp_path / "qrels"))
    notes = [line.split(" left out of ")[1] for line in capsys.readouterr().err.splitlines() if " left out " in line]
    why = "because they have no relevant document"
    told = [f"AP, {why}: 3", f"Q(beta=1,gains=adjust(1:0)), {why} with a gain above 0: 2, 3"]
    assert notes == [f"the means of {each}" for each in told]


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


@pytest.mark.parametrize("command", ["score", "compare"])
@pytest.mark.parametrize(
    "form",
    [
        "--qrels qrels.txt run.txt runs/civet.txt",
        "run.txt runs/civet.txt --qrels=qrels.txt",
        "run.txt -m AP --qre qrels.txt runs/civet.txt",
        "--qrels qrels.txt --runs run.txt runs/civet.txt",
        "qrels.txt --runs run.txt runs/civet.txt",
        "qrels.txt --runs run.txt --runs runs/civet.txt",
        "qrels.txt -m AP run.txt runs/civet.txt",
    ],
)
def test_qrels_and_runs_are_arguments_or_options(folder, capsys, command, form):
    assert main([command, "qrels.txt", "run.txt", "runs/civet.txt", "-m", "AP"]) == 0
    expected = capsys.readouterr()
    assert main([command, *form.split(), *([] if "-m" in form else ["-m", "AP"])]) == 0
    assert capsys.readouterr() == expected


def test_a_pattern_that_no_shell_expands_and_a_folder_are_their_files(folder, capsys):
    printed = []
    for runs in ("runs", "runs/*", "--runs=runs/*.txt"):
        score(runs, "-m", "AP")
        printed.append(capsys.readouterr())
    assert printed[0].out.count("\n") == 4
    assert printed[0] == printed[1] == printed[2]


def test_what_bounds_leave_out_is_said(folder, capsys):
    sets = ("--memberships", "gender=gender.txt", "--target", "gender=equal.txt")
    score("run.txt", "-mAP", "-mGFR@10", *sets, "--bounds")
    out, err = capsys.readouterr()
    assert "GFR" not in out
    assert "note: --bounds has none for GFR" in err
    for more in (["--bounds", "-q"], ["--cwl", "--ties", "range"]):
        score("run.txt", "-mRBP", *more, code=1)
        assert "Leave out --ties and -q, or use -f json" in capsys.readouterr().err
        score("run.txt", "-mRBP", *more, "-f", "json")
        (run,) = json.loads(capsys.readouterr().out)["runs"]
        assert {"numbers", "topics" if "-q" in more else "ties"} <= run.keys()
    assert main(["scores", "-c", "web", "-m", "RBP", "--cwl", "-q"]) == 1  # before a server is asked
    assert "Leave out -q, or use -f json" in capsys.readouterr().err
