"""Attribute sets behind judgments, and strata of sampled pools: what is read, and each fault by its line."""

import pytest

from gainboard.errors import FaultyFile
from gainboard.trec import read_qrels

JUDGED = "1 0 a 1\n1 0 b 0\n2 0 c 1\n"
GENDER = "@attributes gender nominal 0.5 0.5\n"
AGE = "@attributes age ordinal 0.2 0.3 0.5\n"


def read(text, size=1 << 20):
    data = text.encode()
    return read_qrels([data[at : at + size] for at in range(0, len(data), size)], levels=2)


def faults(text):
    with pytest.raises(FaultyFile) as refused:
        read(text)
    return [(fault.line, fault.code, fault.message) for fault in refused.value.faults]


@pytest.mark.parametrize("size", [1, 7, 1 << 20])
def test_sets_follow_judgments_wherever_chunks_end(size):
    file = read(f"{JUDGED}{GENDER}1 a 1 0\n1 x 0.25 0.75\n{AGE}2 c 0.333 0.333 0.333\n3 d 1 0 0\n", size)
    gender, age = file.sets
    assert (gender.name, gender.is_ordinal, gender.target) == ("gender", False, (0.5, 0.5))
    assert gender.vectors == {"1": {b"a": (1.0, 0.0), b"x": (0.25, 0.75)}}
    assert (age.is_ordinal, age.vectors["2"]) == (True, {b"c": (0.333, 0.333, 0.333)})
    assert file.judgments == {"1": {b"a": 1, b"b": 0}, "2": {b"c": 1}}
    assert file.annotated == {"1": [b"a", b"b", b"x"], "2": [b"c"]}
    assert [(warning.code, warning.count) for warning in file.warnings] == [("ignored-memberships", 1)]


def test_every_fault_of_judgments_and_sets_is_told_at_once():
    text = f"1 0 a 7\n{JUDGED}{GENDER}1 a 1\n1 b 0.5 0.6\n1 c x 1\n1 a 1 0\n1 a 1 0\n{AGE}1 a 0 0 1\n{AGE}"
    assert [(line, code) for line, code, _ in faults(text)] == [
        (1, "bad-level"),
        *((6, "bad-columns"), (7, "bad-membership"), (8, "bad-membership"), (10, "repeated-membership")),
        (13, "bad-attributes"),
    ]


@pytest.mark.parametrize(
    ("opening", "told"),
    [
        ("@attributes", "a set has a name"),
        ("@attributes all nominal 0.5 0.5", "'all': a set has a name"),
        ("@attributes age sorted 0.5 0.5", "then `nominal` or `ordinal`"),
        ("@attributes age nominal 1", "has 1 groups"),
        ("@attributes age nominal 0.5 0.4", "add up to 0.9"),
        ("@attributes age nominal 0.5 half", "'half' is not a number"),
        (f"@attributes age nominal 1{' 0' * 100}", "at most 100"),
    ],
)
def test_a_set_without_a_name_a_kind_or_a_target_is_refused(opening, told):
    ((line, code, message),) = faults(f"{JUDGED}{opening}\n1 a 1 0\n")
    assert (line, code) == (4, "bad-attributes")
    assert told in message


@pytest.mark.parametrize("vectors", ["", "2 a 1 0\n"])
def test_a_set_without_memberships_on_judged_topics_is_warned_of(vectors):
    warnings = read(f"1 0 a 1\n@attributes g nominal 0.5 0.5\n{vectors}").warnings
    assert warnings[-1].code == "no-memberships"


def test_strata_are_read_and_what_was_not_sampled_is_no_judgment():
    file = read("1 0 a 1 2\n1 0 b 2 -1\n1 0 c 2 0\n")
    assert (file.columns, file.judgments) == ("trec-stratum", {"1": {b"a": 2, b"c": 0}})
    assert file.strata == {"1": {b"a": 1, b"b": 2, b"c": 2}}


def test_a_document_of_two_strata_and_a_template_are_faults():
    assert faults("1 0 a 1 2\n1 0 a 2 2\n")[0][:2] == (2, "conflicting-judgment")
    ((_, code, message),) = faults("1 0 a 1 2\n1 0 b 1 2\n1 0 d 1 ?\n")
    assert (code, "The level is missing" in message) == ("bad-level", True)
