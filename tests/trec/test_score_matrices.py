"""Score matrices: their three forms, and every fault of a file."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gainboard.errors import FaultyFile
from gainboard.trec import FileLimits
from gainboard.trec.score_matrices import Expected, read_score_matrix

EXPECTED = Expected(frozenset({"a", "b", "c"}), frozenset({"1", "2", "3"}))
SCORES = {"a": {"1": 0.5, "2": 0.25}, "b": {"1": 1.0, "2": 0.0}}
BY_RUN = "run,1,2\na,0.5,0.25\nb,1,0\n"
BY_TOPIC = "topic,a,b\n1,0.5,1\n2,0.25,0\n"
LONG = (
    "run,topic,metric,value\r\na,1,AP,0.5\r\na,2,AP,0.25\r\na,all,AP,0.375\r\nb,1,AP,1\r\nb,2,AP,0\r\nb,all,AP,0.5\r\n"
)
TREC_EVAL = (
    "map\t1\t0.5\nmap\t2\t0.25\nrunid\tall\ta\nnum_q\tall\t2\nmap\tall\t0.375\n"
    "map\t1\t1.0\nmap\t2\t0.0\nrunid\tall\tb\nnum_q\tall\t2\nmap\tall\t0.5\n"
)
OURS = (
    "runid\tall\ta\nnum_q\tall\t2\nmap\t1\t0.5\nmap\t2\t0.25\nmap\tall\t0.375\n"
    "runid\tall\tb\nnum_q\tall\t2\nmap\t1\t1.0\nmap\t2\t0.0\nmap\tall\t0.5\n"
)


def faults(text, expected=EXPECTED, form=None):
    content = text.encode() if isinstance(text, str) else text
    with pytest.raises(FaultyFile) as refused:
        read_score_matrix([content], FileLimits(), expected, form)
    return [(each.code, each.line) for each in refused.value.faults]


@pytest.mark.parametrize(
    "text",
    [BY_RUN, BY_TOPIC, LONG, TREC_EVAL, OURS, json.dumps(SCORES)],
    ids=["runs in rows", "topics in rows", "a score in each row", "trec_eval -q", "our text of trec_eval", "JSON"],
)
def test_every_form_of_the_same_scores_is_the_same_matrix(text):
    found = read_score_matrix([text.encode()], FileLimits(), EXPECTED)
    assert (found.runs, found.topics, found.filled, found.dropped) == (["a", "b"], ["1", "2"], 0, [])
    assert np.array_equal(found.scores, [[0.5, 0.25], [1.0, 0.0]])


def test_a_text_of_trec_eval_may_have_several_measures_and_lack_the_run():
    text = "map\t1\t0.5\nP_10\t1\t0.25\n"
    assert faults(text, replace(EXPECTED, run="a")) == [("several-metrics", 2)]
    found = read_score_matrix([text.encode()], FileLimits(), replace(EXPECTED, run="a", measure="P_10"))
    assert np.array_equal(found.scores, [[0.25]])
    assert faults("map\t1\t0.5\n") == [("unknown-run", 1)]


@pytest.mark.parametrize(
    "text",
    [
        "run;1;2\na;0,5;0,25\n",
        "run\t1\t2\na\t0.5\t.25\n",
        "system;query_id;score\na;1;0,5\na;2;0,25\n",
        "run,topic,score\na,1,0.5\na,2,0.25\n",
        "name,qid,measure,value\na,1,map,0.5\na,2,map,0.25\n",
        ",name,qid,query,measure,value\n0,a,1,what,map,0.5\n1,a,2,who,map,0.25\n",
        "sep=;\r\nrun;1;2\r\na;0,5;0,25\r\n",
        "SEP=,\nTopic,Run,Value\n1,a,0.5\n2,a,0.25\n",
        "sep=\t\nQuery_ID\tSystem\tScore\n1\ta\t0,5\n2\ta\t0,25\n",
        "topic,measure,value\n1,P@5,0.5\n2,P@5,0.25\nall,P@5,0.375\n",
        "1\tP@5\t0.5\n2\tP@5\t0.25\nall\tP@5\t0.375\n",
        "1\tP@5\t0.5\n2\tP@5\t0.25\n",
        "P_5\t1\t0.5\nP_5\t2\t0.25\nP_5\tall\t0.375\n",
    ],
)
def test_layouts_of_other_programs_are_the_same_matrix(text):
    found = read_score_matrix([text.encode()], FileLimits(), replace(EXPECTED, run="a"))
    assert (found.runs, found.topics, found.scores.tolist()) == (["a"], ["1", "2"], [[0.5, 0.25]])


def test_every_fault_of_a_table_is_found_with_its_line():
    text = "run,1,2,9\na,0.5,nan,0\nz,1,1,1\nb,2,0.5\nb,0.1,-0.5,1\nb,0.2,0.3,0\n"
    found = faults(text, replace(EXPECTED, low=0.0, high=1.0))
    assert [each for each in found if each[1]] == [
        ("unknown-topic", 1),
        ("bad-number", 2),
        ("unknown-run", 3),
        ("bad-columns", 4),
        ("out-of-range", 5),
        *[("duplicate-score", 6)] * 3,
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, [("empty-file", None)]) for text in ("", "run,1\n", "{}", "# nothing\n")),
        ("run,topic,metric,value\na,1,AP,0.5\na,1,Q,0.5\n", [("several-metrics", 3)]),
    ],
)
def test_a_file_without_scores_or_of_two_metrics_is_refused(text, expected):
    assert faults(text) == expected
    for other in ('{"a": {"1": 0.5}', "[1, 2]", '{"a": 0.5}'):
        assert [code for code, _ in faults(other)] == ["bad-json"]


def test_json_is_held_to_the_same_rules():
    text = '{"a": {"1": 0.5, "1": 0.25, "2": true}, "b": {"1": 1e999, "2": "0.5"}, "z": {"1": 0}}'
    assert sorted({code for code, _ in faults(text)}) == [
        "bad-number",
        "duplicate-score",
        "missing-score",
        "unknown-run",
    ]


GAPS = "run,1,2\na,0.5,\nb,1,0\n"


def test_missing_scores_are_what_they_are_said_to_be():
    assert faults(GAPS) == [("missing-score", None)]
    filled = read_score_matrix([GAPS.encode()], FileLimits(), replace(EXPECTED, missing=0.125))
    assert (filled.filled, filled.scores.tolist()) == (1, [[0.5, 0.125], [1.0, 0.0]])
    dropped = read_score_matrix([GAPS.encode()], FileLimits(), replace(EXPECTED, missing="drop-topic"))
    assert (dropped.topics, dropped.dropped, dropped.scores.tolist()) == (["1"], ["2"], [[0.5], [1.0]])
    assert faults("run,1,2\na,0.5,\nb,,0\n", replace(EXPECTED, missing="drop-topic")) == [("missing-score", None)]
