"""Citations of releases, boards and scores: the sentence for a paper, BibTeX and CSL-JSON."""

import json
import re
import shutil
import subprocess

import pytest

from tests.exhibits.compiling import compiles_document
from tests.world.campaigns import refused
from tests.world.laboratories import Laboratory, rotated

HOSTILE = r"50 % {Web_1} & \more #1 $^~ and ☃"
SENTENCE = "nDCG@5 with gains 3:2:1, base 2, trec_eval's order; 6 topics; significance by bootstrap range, 5 %."


@pytest.fixture(scope="module")
def lab(shared):
    lab = Laboratory(shared, title=HOSTILE, gains="3:2:1")
    lab.release(public=True)
    return lab


@pytest.fixture(scope="module")
def released(lab):
    sent = {"metrics": ["nDCG@5"], "creators": ["Smith and Sons", "Ü. {O'Neil"], "doi": "10.5281/zenodo.4{2"}
    lab.organiser.post(f"{lab.path}/releases", json=sent).raise_for_status()
    return lab.organiser.get(f"{lab.path}/releases/1").json()


def fields_of(bibtex):
    """The fields of one entry. BibTeX counts each brace, so that a field ends where they are balanced."""
    assert bibtex.count("{") == bibtex.count("}")
    fields = {}
    for line in bibtex.splitlines()[1:-1]:
        name, value = re.fullmatch(r"  (\w+) = \{(.*)\},", line).groups()
        depths = [value[: end + 1].count("{") - value[: end + 1].count("}") for end in range(len(value))]
        assert min(depths) >= 0 == depths[-1]
        fields[name] = value
    return fields


def test_bibtex_and_latex_take_the_entry_of_a_hostile_title(released, tmp_path):
    if shutil.which("bibtex") is None:
        pytest.skip("no bibtex is installed to read the entry with")
    entry = released["cite"]["bibtex"].replace("☃", "")  # of LaTeX with fonts for it
    (tmp_path / "own.bib").write_text(entry, encoding="utf-8")
    (tmp_path / "t.aux").write_text("\\citation{*}\n\\bibstyle{plain}\n\\bibdata{own}\n")
    done = subprocess.run(["bibtex", "t"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, "Warning" in done.stdout) == (0, False), done.stdout
    compiles_document(
        f"\\documentclass{{article}}\\begin{{document}}{(tmp_path / 't.bbl').read_text()}\\end{{document}}"
    )


def cited(lab, form, client=None, **query):
    answer = (client or lab.organiser).get(f"{lab.path}/leaderboard", params={"format": form} | query)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_a_release_is_cited_with_its_hash_people_and_doi(lab, released):
    fields, (item,) = fields_of(released["cite"]["bibtex"]), json.loads(released["cite"]["csl"])
    assert released["cite"]["bibtex"].startswith(f"@misc{{{lab.name}-1,\n")
    assert fields["author"] == r"{Smith and Sons} and {Ü. {\char123}O'Neil}"
    assert fields["title"] == r"{50 \% {\char123}Web\_1{\char125} \& {\char92}more \#1 \${\char94}{\char126} and ☃}"
    assert (fields["doi"], fields["version"], fields["url"][-len("-1") :]) == (
        "10.5281/zenodo.4%7B2",
        "Release 1",
        "-1",
    )
    assert released["sha256"] in fields["note"]
    assert (item["type"], item["title"], item["DOI"]) == ("dataset", HOSTILE, "10.5281/zenodo.4{2")
    assert item["author"] == [{"literal": "Smith and Sons"}, {"literal": "Ü. {O'Neil"}]
    assert item["issued"]["date-parts"] == [[int(part) for part in released["created_at"][:10].split("-")]]
    assert released["cite"]["sentence"] == SENTENCE
    assert f"SHA-256 {released['sha256']}. {SENTENCE}" in item["note"]


def test_a_board_is_cited_with_version_label_and_hash(lab):
    qrels = lab.organiser.get(f"{lab.path}/qrels/1").json()
    assert cited(lab, "sentence", metric="nDCG@5") == SENTENCE
    fields, (item,) = (fields_of(cited(lab, "bibtex", metric="nDCG@5")), json.loads(cited(lab, "csl", metric="nDCG@5")))
    assert fields["version"] == item["version"] == "Version 1 of the official judgments"
    assert item["title"] == f"{HOSTILE}: Runs by nDCG(base=2,gains=3:2:1)@5"
    assert f"SHA-256 {qrels['sha256']}" in item["note"]
    assert item["URL"].endswith(f"/c/{lab.name}?metric=nDCG%405")
    assert cited(lab, "sentence", metric="AP", best_per_team=True).startswith("AP with trec_eval's order; 6 topics")
    assert "the best run of each team" in cited(lab, "csl", metric="AP", best_per_team=True)


def test_a_score_is_cited_with_the_mean_of_its_run(lab):
    mean = lab.scores("nDCG@5", run="run-2")["runs"][0]["mean"]["nDCG(base=2,gains=3:2:1)@5"]
    untested = SENTENCE.replace("; significance by bootstrap range, 5 %", "")
    assert cited(lab, "sentence", metric="nDCG@5", run="run-2") == f"run-2 has a mean of {mean:.4f}: {untested}"
    assert json.loads(cited(lab, "csl", metric="nDCG@5", run="run-2"))[0]["title"].startswith(f"{HOSTILE}: run-2 by")
    missing = lab.get("/leaderboard", format="bibtex", metric="AP", run="no-run")
    assert refused(missing) == (404, "not-found")


def test_the_order_and_scores_from_elsewhere_are_told_apart(shared):
    lab = Laboratory(shared, order_by="score32")
    matrix = "run,1,2\nrun-0,0.5,1\nrun-1,1,1\n"
    lab.organiser.put(f"{lab.path}/score-matrices/acc", content=matrix).raise_for_status()
    assert "AP with trec_eval 9's order; 6 topics" in cited(lab, "sentence", metric="AP")
    assert cited(lab, "sentence", metric="custom:acc") == "custom:acc with version 1; 2 topics."
    assert json.loads(cited(lab, "csl", metric="custom:acc"))[0]["version"] == "Version 1 of acc"
    (lab.organiser.put(f"{lab.path}/score-matrices/few", content="run,1,2\nrun-0,1,1\n")).raise_for_status()
    assert cited(lab, "sentence", metric="custom:few", run="run-1").startswith("run-1 has no score: custom:few")


def test_who_may_not_see_the_judgments_learns_no_hash_of_them(shared):
    lab = Laboratory(shared, policy={"presets": ["AP"]}, topics=[str(number) for number in range(1, 9)])
    team = lab.client("participant", "team-0")
    lab.submit(rotated(9), client=team)
    assert team.get(f"{lab.path}/leaderboard", params={"metric": "AP"}).status_code == 200
    for form in ("bibtex", "csl", "sentence"):
        answer = team.get(f"{lab.path}/leaderboard", params={"metric": "AP", "format": form})
        assert refused(answer) == (403, "judgments-hidden")
    assert "SHA-256" in cited(lab, "bibtex", metric="AP")
