"""Nuggets, assignments and verdicts on citations: what files mean, and every fault of them by line."""

import json

import pytest

from gainboard.errors import FaultyFile
from gainboard.trec import FileLimits
from gainboard.trec.nuggets import Verdicts, read_nuggets, read_verdicts

LIMITS = FileLimits()


def lines(*records):
    return ["".join(each if isinstance(each, str) else json.dumps(each) + "\n" for each in records).encode()]


def nugget(text, importance="vital", **more):
    return {"text": text, "importance": importance, **more}


NUGGETS = read_nuggets(
    lines(
        {"qid": "7", "nuggets": [nugget("river"), nugget("bridge", "okay")]},
        {"qid": "12", "nuggets": [nugget("tower")]},
    ),
    LIMITS,
).nuggets


def assigned(topic="7", run="a", river="support", bridge="not_support"):
    both = [nugget("river", assignment=river), nugget("bridge", "okay", assignment=bridge)]
    return {"qid": topic, "run_id": run, "nuggets": both}


def faults_of(read, *records, **options):
    with pytest.raises(FaultyFile) as refused:
        read(lines(*records), LIMITS, **options)
    return [(fault.code, fault.line) for fault in refused.value.faults]


def test_topics_are_in_byte_order_and_nuggets_in_that_of_the_file():
    assert list(NUGGETS) == ["12", "7"]
    assert list(NUGGETS["7"].items()) == [("river", "0"), ("bridge", "1")]
    numbered = read_nuggets(lines({"qid": 7, "nuggets": [nugget("river")]}), LIMITS)
    assert list(numbered.nuggets) == ["7"]


def test_assignments_are_in_the_order_of_the_nuggets_whatever_that_of_the_line():
    turned = {"qid": "7", "run_id": "a", "nuggets": assigned()["nuggets"][::-1]}
    other = assigned(run="b", river="partial_support", bridge="support")
    file = read_verdicts(lines("\r\n", turned, other), LIMITS, NUGGETS)
    # A run without a line has no answer there, unless the judge has a sample.
    assert file.nuggets.runs == {"a": {"7": "20", "12": ""}, "b": {"7": "12", "12": ""}}
    file = read_verdicts(lines(turned), LIMITS, NUGGETS, sample=True)
    assert (file.nuggets.runs, file.nuggets.sampled) == ({"a": {"7": "20"}}, ["a"])


def test_every_fault_of_nuggets_has_its_line():
    twice = {"qid": "7", "nuggets": [nugget("river"), nugget("river")]}
    assert faults_of(
        read_nuggets,
        "[1]\n",
        "{\n",
        twice,
        {"qid": "7", "nuggets": [nugget("bridge")]},
        {"qid": "all", "nuggets": [nugget("bridge")]},
        {"qid": "8", "nuggets": []},
        {"qid": "9", "nuggets": [nugget("river", "failed"), {"importance": "okay"}]},
        {"qid": "99", "nuggets": "river"},
        {"qid": "100", "nuggets": [nugget("x")]},
        topics=["7", "8", "9", "99", "all"],
    ) == [
        ("bad-json", 1),
        ("bad-json", 2),
        ("duplicate-nugget", 3),
        ("duplicate-topic", 4),
        ("reserved-topic", 5),
        ("missing-nugget", 6),
        ("bad-json", 7),
        ("stray-label", 7),
        ("bad-json", 8),
        ("unknown-topic", 9),
    ]
    assert faults_of(read_nuggets, "\n") == [("empty-file", None)]


def test_every_fault_of_assignments_has_its_line():
    unknown = {"qid": "7", "run_id": "b", "nuggets": [nugget("lake", assignment="support")]}
    partial = {"qid": "7", "run_id": "c", "nuggets": assigned()["nuggets"][:1]}
    twice = {"qid": "7", "run_id": "d", "nuggets": [*assigned()["nuggets"], assigned()["nuggets"][0]]}
    demoted = {"qid": "7", "run_id": "f", "nuggets": [nugget("river", "okay", assignment="support")]}
    assert faults_of(
        read_verdicts,
        assigned(),
        assigned(topic="8"),
        assigned(),
        unknown,
        partial,
        twice,
        assigned(run="e", river="failed"),
        demoted,
        {"qid": "7", "nuggets": []},
        assigned(run="g") | {"replicate": True},
        assigned(run="h") | {"replicate": {"seed": 1}},
        nuggets=NUGGETS,
    ) == [
        ("unknown-topic", 2),
        ("duplicate-topic", 3),
        ("unknown-nugget", 4),
        ("missing-nugget", 5),
        ("duplicate-nugget", 6),
        ("stray-label", 7),
        ("other-importance", 8),
        ("unknown-run", 9),
        ("bad-replicate", 10),  # and 11
    ]
    assert faults_of(read_verdicts, assigned(), nuggets={}) == [("unknown-nugget", 1)]


def test_stray_labels_count_as_nothing_if_the_caller_says_so():
    stray = read_nuggets(
        lines({"qid": "7", "nuggets": [nugget("river", "failed"), nugget("bridge", "okay")]}), LIMITS, stray="count"
    )
    assert (stray.nuggets, stray.strays) == ({"7": {"river": "2", "bridge": "1"}}, 1)
    labelled = {
        "qid": "7",
        "run_id": "a",
        "nuggets": [nugget("river", "failed", assignment="support"), nugget("bridge", "okay", assignment="educate")],
    }
    file = read_verdicts(lines(labelled), LIMITS, stray.nuggets, stray="count")
    assert (file.nuggets.runs, file.strays) == ({"a": {"7": "23"}}, 1)


def test_verdicts_on_citations_are_read_in_both_forms():
    ours = {
        "qid": "7",
        "run_id": "a",
        "answer": [
            {"text": "One.", "citations": [0, 4], "support": ["full", "none"]},
            {"text": "Two.", "citations": [], "support": []},
        ],
    }
    of_trec = {
        "topic_id": "7",
        "run_id": "b",
        "answer": [{"text": "One.", "citations": [0]}],
        # The public tool judges the first three citations of a sentence.
        "support_eval": [{"answer": "One.", "citations": [0, 1, 2, 3], "eval_scores": ["PS", "FS", "NS"]}],
    }
    file = read_verdicts(lines(ours, of_trec, assigned(run="b")), LIMITS, NUGGETS, ["7"])
    assert file.support.runs == {"a": {"7": ["20", ""]}, "b": {"7": ["120"]}}
    assert list(file.nuggets.runs) == ["b"]
    bad = {"qid": "7", "run_id": "a", "answer": [{"citations": [1], "support": ["full", "full"]}]}
    undecided = {"qid": "8", "run_id": "a", "answer": [{"citations": [1], "support": [None]}]}
    assert faults_of(read_verdicts, bad, undecided, nuggets={}) == [("bad-support", 1), ("stray-label", 2)]


def test_verdicts_follow_their_nuggets_into_a_later_version():
    later = read_nuggets(
        lines(
            {"qid": "7", "nuggets": [nugget("bridge", "vital"), nugget("river")]},
            {"qid": "12", "nuggets": [nugget("tower"), nugget("gate")]},
        ),
        LIMITS,
    ).nuggets
    kept = Verdicts({"a": {"7": "20", "12": "1"}, "b": {"7": ""}}, NUGGETS).over(later)
    assert {run: kept.of_run(run) for run in kept.runs} == {"a": {"7": "02"}, "b": {"7": ""}}
    assert kept.in_use == later
    # Nothing is lost: over the earlier nuggets, all verdicts count again, and newer ones replace those of a run.
    back = kept.updated(Verdicts({"b": {"7": "12", "12": "0"}}, NUGGETS, ["b"]))
    assert {run: back.of_run(run) for run in back.runs} == {"a": {"7": "20", "12": "1"}, "b": {"7": "12", "12": "0"}}
    assert (back.in_use, back.sampled) == (NUGGETS, ["b"])
