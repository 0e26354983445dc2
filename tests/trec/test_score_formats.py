"""Files of scores as other programs write them: each with the scores that are in it, or with what is wrong."""

import numpy as np
import pytest

from gainboard.errors import FaultyFile, TooLarge
from gainboard.trec import FileLimits, score_formats
from gainboard.trec.bodies import other_format_of
from gainboard.trec.score_matrices import read_scores

NAN = np.nan
SAMPLE = (
    '{"schema_version": "0.3.0", "evaluation_id": "gsm8k/openai_gpt-x/1770344141", "model_id": "openai/gpt-x", '
    '"evaluation_name": "gsm8k", "sample_id": "%s", "interaction_type": "single_turn", "input": {"raw": "1 + 1?", '
    '"reference": ["2"]}, "output": {"raw": ["2"]}, "answer_attribution": [], "evaluation": {"score": %s, '
    '"is_correct": true}}\n'
)
AGGREGATE = (
    '{"schema_version": "0.3.0", "evaluation_id": "a/openai_gpt-x/1", "retrieved_timestamp": "1", '
    '"source_metadata": {}, "model_info": {"name": "gpt-x", "id": "openai/gpt-x"}, "eval_library": {}, '
    '"evaluation_results": [{"evaluation_name": "anatomy", "source_data": {}, "metric_config": {"metric_id": '
    '"accuracy", "lower_is_better": false}, "score_details": {"score": 0.5}}, {"evaluation_name": "algebra", '
    '"source_data": {}, "metric_config": {"metric_id": "accuracy", "lower_is_better": false}, "score_details": '
    '{"score": 0.25}}]}'
)
TASK = (
    '{"dataset_revision": "5345895c", "evaluation_time": 44.2, "mteb_version": "1.12.41", "scores": {"test": ['
    '{"f1": 0.5, "hf_subset": "fr-en", "languages": ["fra-Latn", "eng-Latn"], "main_score": 0.75}, {"f1": 0.25, '
    '"hf_subset": "en-fr", "languages": ["eng-Latn", "fra-Latn"], "main_score": 0.25}], '
    '"validation": [{"main_score": 1}]}, "task_name": "DiaBlaBitextMining"}'
)
GDEVAL = "runid,topic,ndcg@20,err@20\nindri,51,0.37535,0.48743\nindri,52,0.05270,0.03263\nindri,amean,0.21403,0.26003\n"
PYTERRIER = ",name,qid,measure,value\n0,bm25,1,map,0.5\n1,bm25,1,P.5,0.2\n2,tf_idf,1,map,0.25\n3,tf_idf,2,map,1.0\n"
IR_MEASURES = "1\tAP\t1.0000\n1\tP@1\t1.0000\n2\tAP\t0.2500\n2\tP@1\t0.0000\n"
TREC_EVAL = (
    "map                   \t1\t0.5000\nP_5                   \t1\t0.2000\nmap                   \t2\t0.2500\n"
    "P_5                   \t2\t0.0000\nrunid                 \tall\tsplade\nnum_q                 \tall\t2\n"
    "map                   \tall\t0.3750\n"
)
FORMATS = {
    "systems in rows": ("Model,b,a\nx/y,0.5,1\nz,,0\n", ["x/y", "z"], ["a", "b"], {"file": [[1, 0.5], [0, NAN]]}),
    "systems in columns": ("task\tx\ty\nb\t1\t\na\t.5\t0\n", ["x", "y"], ["a", "b"], {"file": [[0.5, 1], [0, NAN]]}),
    "the longer side": (",x,y\n1,1,0\n2,0,1\n3,1,1\n", ["x", "y"], ["1", "2", "3"], {"file": [[1, 0, 1], [0, 1, 1]]}),
    "without names": ("run1,run2\n0.5,1\n.25,0\n", ["run1", "run2"], ["1", "2"], {"file": [[0.5, 0.25], [1, 0]]}),
    "a score in each row": (
        "system,topic,metric,value\nx,2,acc,1\nx,1,acc,0\nx,1,f1,.5\n",
        ["x"],
        ["1", "2"],
        {"acc": [[0, 1]], "f1": [[0.5, NAN]]},
    ),
    "Excel": (
        "sep=;\r\n\r\nRun;a;b;\r\nx;0,5;1;\r\n;;;\r\ny;;0,25;\r\n",
        ["x", "y"],
        ["a", "b"],
        {"file": [[0.5, 1], [NAN, 0.25]]},
    ),
    "PyTerrier": (
        PYTERRIER,
        ["bm25", "tf_idf"],
        ["1", "2"],
        {"map": [[0.5, NAN], [0.25, 1]], "P.5": [[0.2, NAN], [NAN, NAN]]},
    ),
    "gdeval": (GDEVAL, ["indri"], ["51", "52"], {"ndcg@20": [[0.37535, 0.0527]], "err@20": [[0.48743, 0.03263]]}),
    "ir_measures -q": (IR_MEASURES, ["file"], ["1", "2"], {"AP": [[1, 0.25]], "P@1": [[1, 0]]}),
    "trec_eval -q": (TREC_EVAL, ["splade"], ["1", "2"], {"map": [[0.5, 0.25]], "P_5": [[0.2, 0]]}),
    "samples of Every Eval Ever": (
        SAMPLE % ("q2", 1) + SAMPLE % ("q1", 0.5),
        ["openai/gpt-x"],
        ["q1", "q2"],
        {"gsm8k": [[0.5, 1]]},
    ),
    "an aggregate of it": (AGGREGATE, ["openai/gpt-x"], ["algebra", "anatomy"], {"accuracy": [[0.25, 0.5]]}),
    "a task of MTEB": (TASK, ["file"], ["DiaBlaBitextMining"], {"main_score": [[0.5]]}),
    "JSON": ('{"x": {"1": 0.5, "2": null}, "y": {"2": 1}}', ["x", "y"], ["1", "2"], {"file": [[0.5, NAN], [NAN, 1]]}),
    "JSON Lines": (
        '{"model": "x", "task": "t", "score": 1}\n{"model": "y", "task": "t", "score": 0}',
        ["x", "y"],
        ["t"],
        {"file": [[1], [0]]},
    ),
}


def read(text, **options):
    content = text.encode()
    # in pieces, as bodies come
    return read_scores([content[:7], content[7:]], FileLimits(), name="file", **options)


def faults(text, **options):
    with pytest.raises(FaultyFile) as refused:
        read(text, **options)
    return [(fault.code, fault.line, fault.lines) for fault in refused.value.faults]


@pytest.mark.parametrize(("text", "systems", "topics", "scores"), FORMATS.values(), ids=FORMATS)
def test_each_program_is_read_as_it_writes(text, systems, topics, scores):
    file = read(text)
    assert (file.systems, file.topics, list(file.scores)) == (systems, topics, list(scores))
    for metric, table in scores.items():
        assert np.array_equal(file.scores[metric], table, equal_nan=True)


def test_notes_tell_what_was_assumed():
    assert [len(read(FORMATS[name][0]).notes) for name in ("systems in rows", "the longer side", "without names")] == [
        0,
        1,
        1,
    ]
    assert "mean" in read(TASK).notes[0]


def test_columns_may_have_other_names_and_one_metric_may_be_chosen():
    text = "method,who,accuracy,question,f1\na,x,0.5,1,1\na,y,1,1,0\n"
    columns = {"system": "Who", "topic": "question", "value": "accuracy"}
    file = read(text, columns=columns)
    assert (file.systems, file.scores["file"].tolist()) == (["x", "y"], [[0.5], [1]])
    assert faults(text, columns={"system": "whom"}) == [("bad-header", 1, None)]
    assert list(read(PYTERRIER, measure="P.5").scores) == ["P.5"]
    assert read(TASK, measure="f1").scores["f1"].tolist() == [[0.375]]


def test_every_fault_is_told_with_its_lines():
    assert faults("model,a,b\nx,1,oops\nx,2,0.5\ny,1\n,1,1\n") == [
        ("bad-number", 2, None),
        ("duplicate-score", 3, (2, 3)),
        ("bad-columns", 4, None),
        ("empty-name", 5, None),
    ]
    assert faults("system,topic,value\nx,1,0.5\ny,1,0.5\nx,1,0.25\n") == [("duplicate-score", 4, (2, 4))]
    assert faults(SAMPLE % ("q", 1) + '{"model_id": "x"}\nno JSON\n[1]\n') == [
        ("bad-json", line, None) for line in (2, 3, 4)
    ]
    assert faults("model,a,a\nx,1,2\n") == [("bad-header", 1, None)]
    assert faults("Results of our system\n1 2 3\n") == [("bad-header", 1, None)]
    assert faults("model,a,b\nx,,\n") == faults("") == [("empty-file", None, None)]


@pytest.mark.parametrize(
    "text",
    [
        '{"evaluation_results": [1, {"metric_config": 5, "score_details": [2]}], "model_info": "x"}',
        '{"task_name": "X", "scores": {"test": 5}}',
        '{"task_name": "X", "scores": {"test": [1, {"main_score": "a"}]}}',
        '{"task_name": 5, "scores": {"dev": [], "other": []}}',
        "[[1], 2]",
        '[{"evaluation": {"score": 1}}]',
        '{"evaluation": 3}',
        '{"x": 5}',
        '{"x": {"1": {"2": 3}}}',
        "[]",
        '{"task_name": "X", "scores": {"test": [{"main_score": 1%s}]}}' % ("0" * 400),
        '{"a": {}}\n{"b": 1e999}',
    ],
)
def test_other_json_is_a_fault_and_no_error(text):
    assert {code for code, _, _ in faults(text)} <= {"bad-json", "bad-number", "empty-name", "empty-file"}


def test_what_is_no_text_is_named_with_the_tool_that_makes_it_one():
    for name in (b"xl/workbook.xml", b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet"):
        start = b"PK\x03\x04" + bytes(22) + len(name).to_bytes(2, "little") + bytes(2) + name
        assert "libreoffice --convert-to csv" in other_format_of(start)


def test_a_table_of_many_systems_is_read_and_one_with_too_many_cells_refused(monkeypatch):
    scores = np.random.default_rng(0).random((3_000, 40)).round(4)
    scores[::7, 3] = NAN
    rows = (
        f"s{row}," + ",".join("" if np.isnan(score) else repr(score) for score in of_row)
        for row, of_row in enumerate(scores.tolist())
    )
    text = "system," + ",".join(f"t{topic:02}" for topic in range(40)) + "\n" + "\n".join(rows)
    assert np.array_equal(read(text).scores["file"], scores, equal_nan=True)
    monkeypatch.setattr(score_formats, "MOST_CELLS", 119_999)
    with pytest.raises(TooLarge):
        read(text)
