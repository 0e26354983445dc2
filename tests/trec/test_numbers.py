"""Numbers of a column read at once are those read one by one, whatever the fast way is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gainboard.trec import numbers
from gainboard.trec.numbers import decimal, decimals, integer, integers


@pytest.fixture(autouse=True, scope="module", params=[1 << 60, 0], ids=["few", "many"])
def _how_many(request):
    """So many numbers are read one by one, and all others as JSON."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbers, "_unhurried", request.param)
        yield


WRITTEN = st.one_of(
    st.floats().map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map(lambda value: f"{value:.17e}"),
    st.integers().map(str),
    st.from_regex(r"[+-]?[0-9]{0,5}\.?[0-9]{0,5}([eE][+-]?[0-9]{1,3})?", fullmatch=True),
    st.text("0123456789+-.eE_,naif", min_size=1, max_size=8),
)


@given(st.lists(WRITTEN.filter(bool).map(str.encode), min_size=1, max_size=4))
def test_a_column_has_the_numbers_of_its_tokens_or_none(tokens):
    alone = [decimal(token) for token in tokens]
    together = decimals(tokens)
    assert (None if together is None else together.tolist()) == (None if None in alone else alone)


WHOLE = st.one_of(
    st.integers().map(str),
    st.integers(0, 3).map(str),
    st.from_regex(r"[+-]?[0-9]{1,20}", fullmatch=True),
    st.text("0123456789+-._, e", min_size=1, max_size=4),
)


@given(st.lists(WHOLE.map(str.encode), min_size=1, max_size=4))
def test_a_column_has_the_integers_of_its_tokens_or_none(tokens):
    alone = [integer(token) for token in tokens]
    together = integers(tokens)
    assert (None if together is None else together.tolist()) == (None if None in alone else alone)


@pytest.mark.parametrize("token", [b"+5", b".5", b"5.", b"007", b"-0", b"9007199254740993", b"1e-400", b"9" * 30])
def test_a_number_in_a_form_of_its_own_is_read(token):
    column = decimals([b"1.5", token])
    assert column.tolist() == [1.5, float(token)]
