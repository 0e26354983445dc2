"""A threshold below 0 (`-l -1`): measures that go down the ranking count unjudged documents, and other ones do not.

The values are worked by hand from the C source of trec_eval 10: form_res_rels.c leaves documents outside the qrels out
of `num_rel_ret`, and the loops of most measures compare their level, -1, with the threshold.
"""

from pathlib import Path

import pytest

from tests.trec_eval.test_program import failed, printed, stored, values

QRELS = "1 0 a 2\n1 0 b 1\n1 0 c 0\n1 0 d -1\n2 0 a 1\n3 0 a 1\n"
RUN = "1 Q0 c 1 4 r\n1 Q0 x 2 3 r\n1 Q0 a 3 2 r\n1 Q0 d 4 1 r\n" + "".join(
    f"{topic} Q0 {document} 1 1 r\n" for topic, documents in ((2, "xyz"), (3, "xy")) for document in documents
)


@pytest.fixture
def files(tmp_path):
    """Topic 1 retrieves levels 0, -1 (not in the qrels), 2 and -2 (a level below 0); R is 3. Others have R = 1."""
    return stored(tmp_path, QRELS, RUN)


def test_unjudged_documents_are_not_among_the_relevant_retrieved_ones(files):
    found = values("-l", "-1", "-q", "-m", "set", "-m", "num_nonrel_judged_ret", *files)
    expected = {
        **{"num_ret": "4", "num_rel": "3", "num_rel_ret": "2", "num_nonrel_judged_ret": "0", "utility": "0.0000"},
        **{"set_P": "0.5000", "set_recall": "0.6667", "set_relative_P": "0.6667"},
        **{"set_map": "0.3333", "set_F": "0.5714"},
    }
    assert {name: found[name, "1"] for name in expected} == expected


def test_measures_of_the_ranking_count_them(files):
    names = ("map", "Rprec", "recip_rank", "P.5", "recall.5", "map_cut.2", "success.1", "relative_P.5", "binG", "yaap")
    found = values("-l", "-1", "-q", *(word for name in names for word in ("-m", name)), *files)
    expected = {
        **{"map": "1.0000", "Rprec": "1.0000", "recip_rank": "1.0000", "P_5": "0.6000", "recall_5": "1.0000"},
        **{"map_cut_2": "0.6667", "success_1": "1.0000", "relative_P_5": "1.0000", "binG": "1.0000", "yaap": "1.3863"},
    }
    assert {name: found[name, "1"] for name in expected} == expected


def test_measures_that_skip_unjudged_documents_skip_them(files):
    found = values("-l", "-1", "-q", "-m", "bpref", "-m", "infAP", *files)
    assert (found["bpref", "1"], found["infAP", "1"]) == ("0.6667", "0.5556")


def test_measures_that_count_down_see_the_last_places_alone(files):
    recalls = [f"{tenth / 10:.2f}" for tenth in range(11)]
    found = values("-l", "-1", "-q", "-m", "iprec_at_recall", "-m", "Rprec_mult..34,.67,1,2", *files)
    assert [found[f"iprec_at_recall_{recall}", "1"] for recall in recalls] == [*["0.6667"] * 9, *["0.0000"] * 2]
    precisions = [found[f"Rprec_mult_{multiple}", "1"] for multiple in ("0.34", "0.67", "1.00", "2.00")]
    assert precisions == ["0.0000", "0.5000", "0.6667", "0.3333"]


def test_a_logarithm_of_less_than_nothing_is_printed_as_by_c(files):
    lines = printed("-l", "-1", "-q", "-n", "-m", "yaap", *files).splitlines()
    assert [line.split("\t")[1:] for line in lines] == [["1", "1.3863"], ["2", "  -nan"], ["3", "   inf"]]


def test_documents_with_a_level_below_0_count_from_threshold_minus_2(files):
    found = values("-l", "-2", "-q", "-m", "P.5", "-m", "num_rel_ret", *files)
    assert (found["P_5", "1"], found["num_rel_ret", "1"]) == ("0.8000", "2")


def test_with_all_topics_the_sum_of_relevant_documents_is_of_those_above_0(files):
    """m_num_rel.c counts the qrels anew under `-c`, without a look at the threshold, also topics that were left out."""
    assert values("-c", "-l", "2", "-q", "-m", "num_rel", *files) == {
        **{("num_rel", "1"): "1", ("num_rel", "2"): "0", ("num_rel", "3"): "0", ("num_rel", "all"): "4"}
    }
    assert values("-l", "2", "-m", "num_rel", *files)["num_rel", "all"] == "1"


@pytest.mark.parametrize("level", ["-1", "-2"])
def test_a_first_topic_without_any_level_from_0_on_ends_the_program(level, files):
    """form_res_rels.c asks for memory for each level from 0 on, and takes none for a fault, until it has some."""
    Path(files[0]).write_text(f"0 0 a {level}\n" + QRELS)
    assert failed("-c", *files) == (4, "trec_eval: Can't calculate measure 'num_ret'\n")
    Path(files[0]).write_text(QRELS + f"4 0 a {level}\n")
    assert values("-c", "-q", "-m", "map", *files)["map", "4"] == "0.0000"
