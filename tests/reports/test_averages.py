"""What holds for every report."""

import pytest

from gainboard.analyses.report_kinds import every_report_kind, find_report_kind
from tests.reports.laboratory import laid, tables
from tests.world.groves import beside


@pytest.fixture(scope="module")
def other(laboratory):
    return beside(laboratory, "other", highest_level=2)


@pytest.mark.parametrize("name", [kind.name for kind in every_report_kind()])
def test_what_tables_are_captioned_holds_for_other_numbers_of_levels(laboratory, other, name):
    if name == "web-track-diversity":
        pytest.skip("it has other collections, those with intents")
    few = {"top": 4, "trials": 10, "resamples": 10}
    params = {key: few[key] for key in few if key in find_report_kind(name).params_model.model_fields}
    one, few_levels = (
        {number: table.caption for number, table in tables(laid(each, name, **params)).items()}
        for each in (laboratory, other)
    )
    assert len(one.keys() & few_levels.keys()) > 3
    assert [one[number] for number in few_levels] == list(few_levels.values())
