"""Forms made from models: what a form of a kind means when it is sent as it is, and what is marked as wrong."""

from datetime import UTC, datetime

import pytest
from pydantic import BaseModel, ValidationError

from gainboard.analyses.job_kinds import every_kind, schema_of
from gainboard.analyses.report_kinds import every_report_kind
from gainboard.dashboard.schema_forms import fields_of, read, with_faults
from gainboard.dashboard.sessions import Form
from gainboard.notation.types import JsonBody, Time

KINDS = {**{kind.name: kind for kind in every_kind()}, **{kind.name: kind for kind in every_report_kind()}}


class Quotas(BaseModel):
    per_day: int | None = 5
    total: int | None = None


class Settings(BaseModel):
    model_config = JsonBody.model_config

    title: str
    public: bool = False
    decimals: int = 3
    presets: list[str] = []
    seeds: list[int] | None = None
    quotas: Quotas = Quotas()
    opens_at: Time | None = None


def sent(fields, **changed):
    """The form as a browser sends it: a box that is not ticked is not part of it."""
    values = {field.name: field.value for field in fields} | {
        name.replace("__", "."): value for name, value in changed.items()
    }
    unticked = {field.name for field in fields if field.widget == "check" and values[field.name] != "true"}
    return Form([(name, value) for name, value in values.items() if name not in unticked])


def settings_of(values, **changed):
    """What the form of some settings means once boxes are changed."""
    fields = fields_of(Settings.model_json_schema(), values)
    return Settings.model_validate(read(fields, sent(fields, **changed)))


@pytest.mark.parametrize("name", KINDS)
def test_a_kinds_form_means_the_example_that_it_is_filled_with(name):
    kind = KINDS[name]
    example = kind.params_model.model_validate(kind.example().get("params", {}))
    fields = fields_of(schema_of(kind.params_model), example.model_dump(mode="json", by_alias=True))
    meant = kind.params_model.model_validate(read(fields, sent(fields)))
    assert meant == example


def test_a_form_means_its_values_until_they_are_changed():
    values = {"title": "Web", "public": True, "seeds": [1, 2], "quotas": {"per_day": None, "total": 7}}
    assert settings_of(values) == Settings.model_validate(values)
    assert settings_of(values, title="News", quotas__total="9").quotas == Quotas(per_day=None, total=9)


def test_an_empty_box_is_null_where_null_is_allowed_and_else_an_empty_list():
    values = {"title": "Web", "presets": ["AP"], "seeds": [1]}
    meant = settings_of(values, presets="", seeds="", quotas__per_day="")
    assert (meant.presets, meant.seeds, meant.quotas.per_day) == ([], None, None)


def test_a_wrong_value_is_marked_where_it_was_written():
    fields = fields_of(Settings.model_json_schema(), {"title": "Web"})
    form = sent(fields, decimals="many", quotas__per_day="none")
    with pytest.raises(ValidationError) as raised:
        Settings.model_validate(read(fields, form))
    marked = {field.name: field.value for field in with_faults(fields, form, raised.value) if field.fault}
    assert marked == {"decimals": "many", "quotas.per_day": "none"}


def test_a_box_for_a_time_takes_what_the_api_takes():
    midnight = datetime(2026, 12, 24, tzinfo=UTC)
    assert settings_of({"title": "Web"}, opens_at="2026-12-24T01:00:00+01:00").opens_at == midnight
    assert settings_of({"title": "Web", "opens_at": "2026-12-24T00:00:00Z"}).opens_at == midnight
    # A time without a zone is in UTC, and campaigns end anywhere on earth.
    for text in ("2026-12-24T00:00", "2026-12-24 00:00:00Z", "24 Dec 2026 0:00 UTC", "23 december 2026, 12:00 aoe"):
        assert settings_of({"title": "Web"}, opens_at=text).opens_at == midnight
    (box,) = fields_of(
        {"properties": {"at": {"type": "string", "format": "date-time"}}}, {"at": "2026-12-24T00:00:00Z"}
    )
    assert (box.value, box.title) == ("2026-12-24 00:00", "At (UTC)")
    for text in ("2026-12-24", "24 Okt 2026 0:00", "20261224", "0"):
        with pytest.raises(ValidationError, match="2026-12-01T12:00:00Z"):
            settings_of({"title": "Web"}, opens_at=text)


def test_a_box_for_a_list_or_a_number_takes_both_and_one_for_bytes_units():
    levels = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "integer"}]}
    fields = fields_of({"properties": {"levels": levels}}, {})
    for text, meant in (("3", 3), ("B, A", ["B", "A"]), ("B", ["B"])):
        assert read(fields, sent(fields, levels=text)) == {"levels": meant}
    schema = {"properties": {"room": {"type": "integer", "format": "bytes"}}}
    for number, text in ((2 << 30, "2 GiB"), (1536 << 10, "1536 KiB"), (1000, "1000"), (0, "0")):
        fields = fields_of(schema, {"room": number})
        assert (fields[0].value, read(fields, sent(fields, room=text))) == (text, {"room": number})
    for text, meant in (("1.5GB", 3 << 29), ("7 MiB", 7 << 20), ("2 kB", 2048), ("many", "many")):
        assert read(fields, sent(fields, room=text)) == {"room": meant}


def test_an_emptied_box_of_a_change_is_refused_and_not_left_out():
    fields = fields_of(Settings.model_json_schema(), {"title": "Web"})
    form = sent(fields, decimals="")
    assert "decimals" not in read(fields, form)
    assert read(fields, form, is_change=True)["decimals"] == ""
