"""Parameters as they are typed."""

import argparse

import pytest

from gainboard.cli.options import parse_pair as pair
from gainboard.cli.options import parse_value as value_of
from gainboard.cli.options import split_expressions, with_lists


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("0.05", 0.05),
        ("true", True),
        ("null", None),
        ('"3"', "3"),
        ("t-test", "t-test"),
        ("3:2:1", "3:2:1"),
        ("0.05,0.01", [0.05, 0.01]),
        ("0.05,", [0.05]),
        ("kendall, tau_ap", ["kendall", "tau_ap"]),
        ('{"top": 30, "by": "AP"}', {"top": 30, "by": "AP"}),
        ("Q(beta=1,gains=3:2:1)", "Q(beta=1,gains=3:2:1)"),
        ("Q(beta=1,gains=3:2:1)@10,AP", ["Q(beta=1,gains=3:2:1)@10", "AP"]),
        ("NaN", "NaN"),
        ("", ""),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_value_is_json_or_a_list_or_text(text, value):
    found = value_of(text)
    assert found == value
    assert type(found) is type(value)


def test_a_pair_is_cut_at_its_first_equals_sign():
    assert pair("metrics=Q(beta=1),AP") == ("metrics", ["Q(beta=1)", "AP"])
    for text in ("seed", "=3", ""):
        with pytest.raises(argparse.ArgumentTypeError, match="is not NAME=VALUE"):
            pair(text)


def test_one_item_is_a_list_where_nothing_else_is_allowed():
    schemas = {
        "alphas": {"type": "array"},
        "metrics": {"anyOf": [{"type": "array"}, {"type": "null"}]},
        "runs": {"anyOf": [{"type": "string", "const": "all"}, {"type": "array"}]},
        "seed": {"type": "integer"},
    }
    given = {"alphas": 0.05, "metrics": "Q", "runs": "all", "seed": 3, "unknown": "x"}
    assert with_lists(given, schemas) == {**given, "alphas": [0.05], "metrics": ["Q"]}
    assert with_lists({"alphas": [0.05], "metrics": None}, schemas) == {"alphas": [0.05], "metrics": None}


def test_an_expression_may_have_nested_parentheses_among_several():
    expression = "CWL(C=((i+2*T-total-1)/(i+2*T-total))**2,T=2)"
    assert list(split_expressions(f"{expression} INST(T=2)")) == [expression, "INST(T=2)"]
