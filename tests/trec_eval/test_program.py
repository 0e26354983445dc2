"""The program: its options, its parameters, its errors and its exit codes."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gainboard.trec_eval import main
from gainboard.trec_eval.measures import NICKNAMES

QRELS = "1 0 a 2\n1 0 b 1\n1 0 c 0\n1 0 d -1\n2 0 a 1\n"
RUN = "1 Q0 c 1 3 old\n1 Q0 a 2 2.5 old\n1 Q0 x 3 2.5 old\n1 Q0 d 4 1 new and more\n9 Q0 a 1 1 last\n"


def stored(folder, qrels, run):
    (folder / "qrels").write_text(qrels)
    (folder / "run").write_text(run)
    return [str(folder / "qrels"), str(folder / "run")]


@pytest.fixture
def files(tmp_path):
    """A file of judgments and a run, which lacks a topic and has one that is not judged."""
    return stored(tmp_path, QRELS, RUN)


def printed(*arguments):
    out, errors = io.BytesIO(), io.StringIO()
    assert main(arguments, out, errors) == 0, errors.getvalue()
    return out.getvalue().decode()


def values(*arguments):
    rows = [line.split("\t") for line in printed(*arguments).splitlines()]
    return {(name.strip(), topic): value for name, topic, value in rows}


def failed(*arguments):
    out, errors = io.BytesIO(), io.StringIO()
    return main(arguments, out, errors), errors.getvalue()


def test_equal_scores_are_in_descending_order_of_documents(files):
    assert values("-q", "-m", "relstring", *files)["relstring", "1"] == "'0-2.'"


def test_gains_closer_than_1_have_the_value_of_an_official_command(tmp_path):
    # The C program's, for a public task whose levels stand for gains of 0, 0.01, 0.1 and 1.
    (tmp_path / "qrels").write_text("1 0 e 4\n1 0 s 3\n1 0 c 2\n1 0 i 1\n")
    (tmp_path / "run").write_text("".join(f"1 Q0 {document} 1 {-place} r\n" for place, document in enumerate("sciex")))
    files = [str(tmp_path / "qrels"), str(tmp_path / "run")]
    measure = "ndcg.1=0,2=0.01,3=0.1,4=1"
    assert values("-c", "-J", "-m", measure, *files) == {(measure.replace(".", "_", 1), "all"): "0.5028"}


def test_topics_that_the_results_lack_count_with_c(files):
    assert values("-m", "map", "-m", "num_q", *files) == {("num_q", "all"): "1", ("map", "all"): "0.1667"}
    found = values("-c", "-q", "-m", "all_trec", *files)
    assert (found["num_q", "all"], found["map", "all"], found["map", "2"]) == ("2", "0.0833", "0.0000")
    assert found["num_ret", "2"] == "0"
    assert found["runid", "all"] == "last"


def test_n_prints_no_summary_and_m_cuts_and_j_removes_the_unjudged(files):
    assert set(values("-n", "-q", "-m", "P.1", *files)) == {("P_1", "1")}
    assert values("-M2", "-m", "num_ret", *files)["num_ret", "all"] == "2"
    assert values("-J", "-q", "-m", "relstring", *files)["relstring", "1"] == "'02'"
    assert values("-l", "2", "-m", "num_rel", *files)["num_rel", "all"] == "1"
    assert values("-D", "0.1", "-q", "-m", "map", *files)["map", "1"] == "0.1667"


def test_parameters_name_the_values(files):
    found = values(
        *("-m", "P.7,5.2,3", "-m", "iprec_at_recall..10,.5", "-mutility.2,-1,0,0", "-m", "ndcg.1=3,2=9"),
        *("-m", "11pt_avg..25,.75", "-m", "set_F.0.5", "-m", "rbp.p=0.8", "-m", "Rprec_mult.5.0,0.35", *files),
    )
    assert [name for name, _ in found] == [
        *("iprec_at_recall_0.10", "iprec_at_recall_0.50", "P_3", "P_5", "P_7"),
        *("Rprec_mult_0.35", "Rprec_mult_5.00", "utility_2,-1,0,0", "11pt_avg_.25,.75", "ndcg_1=3,2=9"),
        *("set_F_0.5", "rbp_p=0.8"),
    ]
    assert found["utility_2,-1,0,0", "all"] == "-1.0000"


@pytest.mark.parametrize("name", ["\u00b2=1", "+-1=3", "--1=3", "=1"])
def test_a_gain_of_what_is_no_level_has_no_effect(files, name):
    assert values("-m", f"rbp.{name}", *files)[f"rbp_{name}", "all"] == values("-m", "rbp", *files)["rbp", "all"]
    assert values("-m", f"ndcg.{name}", *files)[f"ndcg_{name}", "all"] == values("-m", "ndcg", *files)["ndcg", "all"]


def test_arguments_that_are_no_text_are_read_as_their_bytes(files):
    assert values("-l", "1\udce9", "-m", "num_rel", *files) == values("-m", "num_rel", *files)
    assert failed("-D", "0.\udce9", *files)[0] == 7  # no file has that topic


def test_a_measure_is_printed_once_and_in_trec_evals_order(files):
    found = [name for name, _ in values("-m", "recip_rank", "-m", "map", "-m", "map", "-m", "set", *files)]
    assert found == ["runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "map", "recip_rank", *NICKNAMES["set"][5:]]


def test_long_options_may_be_shortened_and_stand_behind_the_files(files):
    assert values(*files, "--measure=P.1", "--query")["P_1", "1"] == "0.0000"


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 1, "Usage:"),
        (["-m"], 1, "Usage:"),
        (["-m", "nope", "QRELS", "RUN"], 1, "trec_eval: illegal measure 'nope'"),
        (["-m", "map.", "QRELS", "RUN"], 1, "trec_eval: improper measure in parameter 'map'"),
        (["-m", "prefs_simp", "QRELS", "RUN"], 1, "needs preferences or judgment groups"),
        (["-Z", "means", "QRELS", "RUN"], 1, "-Z is not supported"),
        (["-D", "1", "QRELS", "RUN"], 1, "-D is not supported"),
        (["-R", "qrels_prefs", "QRELS", "RUN"], 2, "-R qrels_prefs is not supported"),
        (["-R", "other", "QRELS", "RUN"], 2, "Illegal rel_format 'other'"),
        (["-T", "other", "QRELS", "RUN"], 2, "Illegal retrieval results format 'other'"),
        (
            ["absent", "RUN"],
            2,
            "trec_eval.get_qrels: Cannot read qrels file 'absent'\ntrec_eval: Quit in file 'absent'",
        ),
        (["QRELS", "absent"], 2, "trec_eval.get_results: Cannot read results file 'absent'"),
        (["-m", "P.0,5", "QRELS", "RUN"], 2, "trec_eval: Negative cutoff detected\ntrec_eval: Cannot initialize"),
        (["-m", "P.5,5", "QRELS", "RUN"], 2, "trec_eval: duplicate cutoffs detected"),
        (["-m", "ndcg.1", "QRELS", "RUN"], 2, "trec_eval: malformed pair parameters in '1'"),
        (["-m", "utility.1,2", "QRELS", "RUN"], 4, "improper number of coefficients"),
    ],
)
def test_what_is_wrong_ends_with_trec_evals_code(arguments, code, said, files):
    found = failed(*({"QRELS": files[0], "RUN": files[1]}.get(word, word) for word in arguments))
    assert found[0] == code
    assert said in found[1]


@pytest.mark.parametrize(
    ("qrels", "run", "code", "said"),
    [
        (f"{QRELS}1 0 e\n", RUN, 2, "trec_eval.get_qrels: Malformed line 6"),
        (f"1 0 b 1\n\n{QRELS}", RUN, 2, "trec_eval.get_qrels: Malformed line 2"),
        (f"{QRELS}1 0 e 1 more\n", RUN, 2, "trec_eval.get_qrels: Malformed line 6"),
        (QRELS, f"{RUN}1 Q0 y 5 0\n", 2, "trec_eval.get_results: Malformed line 6"),
        (QRELS, f"{RUN}1 Q0 a 5 0 new\n", 4, "duplicate docs a"),
        (f"{QRELS}1 0 a 0\n", RUN, 4, "trec_eval.form_res_rels: duplicate docs a\n"),
        (QRELS, "9 Q0 a 1 1 run\n", 7, "No queries with both results and relevance info"),
    ],
)
def test_a_faulty_file_ends_with_trec_evals_code(qrels, run, code, said, files):
    Path(files[0]).write_text(qrels)
    Path(files[1]).write_text(run)
    found = failed(*files)
    assert found[0] == code
    assert said in found[1]


@pytest.mark.parametrize(
    ("measures", "named"),
    [
        (["-m", "num_q", "-m", "P.5", "-m", "map"], "map"),
        (["-m", "set"], "num_ret"),
        (["-m", "relstring"], "relstring"),
    ],
)
def test_documents_twice_end_at_the_first_measure_that_reads_the_ranking(measures, named, files):
    Path(files[1]).write_text(f"{RUN}1 Q0 c 5 0 new\n1 Q0 a 5 0 new\n")
    said = f"trec_eval.form_res_qrels: duplicate docs a\ntrec_eval: Can't calculate measure '{named}'\n"
    assert failed(*measures, *files) == (4, said)


@pytest.mark.parametrize("level", [1_000_001, 99_999_999_999, 10**30])
def test_a_level_that_is_too_large_is_refused_in_a_line(level, files):
    Path(files[0]).write_text(f"{QRELS}2 0 e {level}\n")
    said = "trec_eval.get_qrels: the level of document e of topic 2 is too large: at most 1000000 is supported"
    assert failed(*files) == (2, f"{said} (file '{files[0]}')\n")


@pytest.mark.parametrize(("faulty", "code"), [(f"{RUN}1 Q0 a 5 0 new\n", 4), ("9 Q0 a 1 1 run\n", 7), ("1 Q0 a\n", 2)])
def test_the_first_faulty_file_of_several_ends_the_run_and_is_named(faulty, code, files):
    other = Path(files[1]).with_name("other")
    other.write_text(faulty)
    out, errors = io.BytesIO(), io.StringIO()
    assert main([*files, str(other), files[1]], out, errors) == code
    assert out.getvalue().decode() == printed(*files)
    assert (
        errors.getvalue()
        == f"{failed(files[0], str(other))[1].partition('trec_eval: Quit')[0]}trec_eval: Quit in file '{other}'\n"
    )


def test_comments_blank_lines_and_lax_numbers_are_read_as_by_trec_eval(files):
    Path(files[0]).write_text("# a comment\n1\t0  a\t1x\r\n1 0 b 0")
    Path(files[1]).write_text("\n  \n# a comment\n1 Q0 b x nonsense r\n\n1 Q0 a x 1e1zz r")
    assert values("-q", "-m", "relstring", "-m", "num_rel", *files)["relstring", "1"] == "'10'"


def test_a_block_of_lines_ends_anywhere(files, monkeypatch):
    whole = printed("-q", "-c", "-m", "all_trec", *files)
    for block in range(1, 40):
        monkeypatch.setattr("gainboard.trec_eval.files.BLOCK", block)
        assert printed("-q", "-c", "-m", "all_trec", *files) == whole


@pytest.mark.outer
def test_the_command_reads_standard_input_and_returns_the_code(files):
    def run(*words, text=""):
        command = [sys.executable, "-m", "gainboard", "trec_eval", *words]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False, env=dict(os.environ))

    done = run("-q", files[0], "-", "-m", "map", text=RUN)
    assert (done.returncode, done.stdout) == (0, printed("-q", "-m", "map", *files))
    assert run("-v").stderr.startswith("trec_eval version 10")
    assert run("-h").stdout.startswith("trec_eval [-h]")
    refused = run("--level_for_rel", "1", files[0], "absent")
    assert (refused.returncode, refused.stdout) == (2, "")
