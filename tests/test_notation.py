"""No reader guesses: bodies, queries, forms, options and settings mean what they say, or are refused.

The fields are found from the application, so a new one is tested unasked.
"""

import argparse
import re
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import get_args

import pytest
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, ValidationError

from gainboard.analyses.job_kinds import every_kind
from gainboard.analyses.report_kinds import every_report_kind
from gainboard.api.models.admin import NewToken
from gainboard.api.models.collections import CollectionChange
from gainboard.api.routes import CheckedRoute
from gainboard.cli.parsing import parser
from gainboard.dashboard.schema_forms import fields_of, read
from gainboard.dashboard.sessions import Form
from gainboard.errors import BadSetting
from gainboard.evaluation.workspace import Workspace
from gainboard.main import create_app
from gainboard.notation.texts import order_topics, read_boolean, read_integer, read_number, read_time, read_topics
from gainboard.notation.types import JsonBody
from gainboard.settings import Settings
from gainboard.store.database import Database
from tests.api.conforms import TIME, faults

TEXTS = (
    "", "1", "0", "-1", "+1", " 1 ", "1\n", "01", "1.0", "1.", ".5", "3.5", "1e3", "1e999", "1_000", "1,000", "0x10",
    "٣", "nan", "inf", "Infinity", "true", "false", "True", "yes", "no", "on", "off", "t", "null", "None", "[]",
    "20261231", "2026", "2026-12-31", "2026-12-31T12:00:00", "2026-12-31T12:00Z", "2026-12-31 12:00:00Z",
    "2026-12-31T12:00:00Z", "2026-12-31t12:00:00.25z", "2026-12-31T12:00:00+09:00", "2026-12-31T12:00:00 09:00",
    "20261231T120000Z", "2026-W53-4T12:00:00Z", "2026-12-31T24:00:00Z", "2026-12-31T12:00:00+0900", "12:00:00Z",
    "tomorrow",
)  # fmt: skip
JSON = (
    *TEXTS, 0, 1, -1, 2, 3.0, 3.5, 20261231, 1e9, 10**400, float("nan"), float("inf"), True, False, None, [], {}, [1],
    ["1"],
)  # fmt: skip


NUMBERS = {"0": 0, "-1": -1, ".5": 0.5, "3.5": 3.5, "1e3": 1000, "20261231": 20261231, "2026": 2026}
TIMES = {
    "2026-12-31T12:00:00Z": "2026-12-31T12:00",
    "2026-12-31t12:00:00.25z": "2026-12-31T12:00:00.25",
    "2026-12-31T12:00:00+09:00": "2026-12-31T03:00",
}


def is_as_written(text, value):
    """Whether a text is the one form of a value that was read from it."""
    if isinstance(value, bool):
        return text == str(value).lower()
    if isinstance(value, int):
        return re.fullmatch("-?[0-9]+", text) is not None and int(text) == value
    if isinstance(value, float):
        return re.fullmatch(r"-?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?", text) is not None and float(text) == value
    if isinstance(value, datetime):
        return TIME.fullmatch(text) is not None and value.tzinfo == UTC
    return isinstance(value, str | Path)


@pytest.mark.parametrize(
    ("function", "accepted"),
    [
        (read_integer, {"1": 1, "0": 0, "-1": -1, "01": 1, "20261231": 20261231, "2026": 2026}),
        (read_number, dict.fromkeys(("1", "01", "1.0", "1."), 1) | NUMBERS),
        (read_boolean, {"true": True, "false": False}),
        (read_time, {text: datetime.fromisoformat(moment).replace(tzinfo=UTC) for text, moment in TIMES.items()}),
    ],
)
def test_each_kind_of_value_has_one_form_in_texts(function, accepted):
    found = {}
    for text in TEXTS:
        with suppress(ValueError):
            found[text] = function(text)
    assert found == accepted


@pytest.mark.parametrize("function", [read_integer, read_number, read_boolean, read_time])
def test_a_wrong_text_is_refused_with_an_example_that_works(function):
    with pytest.raises(ValueError, match=r"'x' (is|has)") as refused:
        function("x")
    read = []
    for word in re.findall(r"[\w:.+-]*\w", str(refused.value).split(".", 1)[1]):
        with suppress(ValueError):
            read.append(function(word))
    assert read


@pytest.mark.parametrize(
    "text", ["9" * 5000, "0000-01-01T00:00:00Z", "2026-02-30T00:00:00Z", "0001-01-01T00:00:00+09:00"]
)
def test_a_value_beyond_what_can_be_kept_is_refused(text):
    for function in (read_integer, read_time):
        with pytest.raises(ValueError, match=r"is (not|outside)") as refused:
            function(text)
        assert len(str(refused.value)) < 300


@cache
def application():
    return create_app(Workspace(Database("sqlite://")))


def routes(among=None):
    for each in application().routes if among is None else among:
        if isinstance(each, APIRoute):
            yield each
        yield from routes(getattr(getattr(each, "original_router", None), "routes", ()))


def models_in(annotation):
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from models_in(field.annotation)
    for part in get_args(annotation):
        yield from models_in(part)


def bodies():
    sent = [param.field_info.annotation for route in routes() for param in route.dependant.body_params]
    return sorted({model for each in sent for model in models_in(each)}, key=lambda model: model.__name__)


def test_every_json_body_is_read_strictly():
    assert [model.__name__ for model in bodies() if not issubclass(model, JsonBody)] == []
    names = {model.__name__ for model in bodies()}
    kinds = {kind.params_model.__name__ for kind in (*every_kind(), *every_report_kind())}
    assert names >= kinds | {"NewCollection", "CollectionChange", "Policy", "Quotas", "NewToken", "DesignRequest"}


@pytest.mark.parametrize("model", bodies(), ids=lambda model: model.__name__)
def test_what_a_field_of_a_body_takes_is_what_its_schema_says(model):
    schema = model.model_json_schema()
    wrong = [
        f"{name}={value!r}"
        for name, own in schema["properties"].items()
        for value in JSON
        if not refusals(model, name, value) and list(faults(value, own, schema.get("$defs", {})))
    ]
    assert wrong == []


def refusals(model, name, value):
    """What is wrong with the value of one field. Pydantic looks at each field, whether or not others are missing."""
    try:
        model.model_validate({name: value})
    except ValidationError as error:
        return [each for each in error.errors() if each["loc"][:1] in ((name,), ())]
    return []


def parameters():
    """The parameters of addresses, each with a function that reads a text: those of FastAPI, and those of queries."""
    for route in routes():
        for param in get_flat_params(route.dependant):
            is_list = "list[" in str(param.field_info.annotation)
            yield f"{route.path_format} {param.alias}", is_list, partial(param.validate, loc=("query", param.alias))
    for reader in {reader for route in routes() if isinstance(route, CheckedRoute) for reader in route.readers}:
        for name, is_list in reader.may_repeat.items():
            yield name, is_list, partial(read_by, reader, name)


def read_by(reader, name, text):
    with suppress(RequestValidationError):
        return reader.validate({name: text}, "query")[name], None
    return None, "refused"


def test_a_parameter_of_an_address_is_text_or_is_read_in_one_form():
    wrong, read_as = [], set()
    for name, is_list, read_text in parameters():
        for text in TEXTS:
            value, refused = read_text([text] if is_list else text)
            value = value[0] if is_list and value else value
            read_as.add(type(value))
            if not refused and not is_as_written(text, value):
                wrong.append(f"{name}={text!r}: {value!r}")
    assert wrong == []
    assert read_as >= {str, int, float, bool, datetime}


def options(parser):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for below in action.choices.values():
                yield from options(below)
        else:
            yield action


def test_an_option_of_a_command_is_text_or_is_read_in_one_form():
    found = [action for action in options(parser()) if action.type and action.type is not Path]
    assert {action.option_strings[0] for action in found if action.option_strings} >= {"--since", "--expires", "--port"}
    assert [action.dest for action in found if action.type in (int, float, bool)] == []
    wrong = []
    for action in found:
        for text in TEXTS:
            with suppress(argparse.ArgumentTypeError):
                value = action.type(text)
                if isinstance(value, int | float | datetime) and not is_as_written(text, value):
                    wrong.append(f"{action.option_strings} {text!r}: {value!r}")
    assert wrong == []


@pytest.mark.parametrize("name", Settings.model_fields)
def test_a_setting_is_text_or_is_read_in_one_form(name):
    for text in filter(None, TEXTS):  # an empty variable is not set
        with suppress(BadSetting):
            value = getattr(Settings.read({f"GAINBOARD_{name.upper()}": text}), name)
            assert is_as_written(text, value) or hasattr(value, "get_secret_value"), text


def forms():
    """Every model that a page shows as a form, and the fields of the form."""
    models = [CollectionChange, NewToken]
    models += [kind.params_model for kind in (*every_kind(), *every_report_kind())]
    for model in models:
        yield model, fields_of(model.model_json_schema(), {})


def test_a_box_of_a_form_is_text_or_is_read_in_one_form():
    for model, fields in forms():
        for field in fields:
            for text in filter(None, map(str.strip, TEXTS)):  # forms are sent with blanks around texts
                sent = read([field], Form([(field.name, text)]))
                *above, name = field.name.split(".")
                for each in above:
                    sent = sent[each]
                value = sent[name]
                if isinstance(value, int | float):
                    assert is_as_written(text, value), f"{model.__name__}.{field.name}={text!r}"


LONG = "9" * 5_000
"""A number of more digits than Python reads."""


@pytest.mark.parametrize(
    ("declared", "shown"),
    [
        (None, ["1", "2", "10", "101", LONG, "MB-9", "MB-10", "mb"]),
        (["10", "mb", "absent"], ["10", "mb", "1", "2", "101", LONG, "MB-9", "MB-10"]),
    ],
)
def test_topics_are_shown_as_declared_and_else_by_the_numbers_in_their_names(declared, shown):
    topics = sorted(shown)
    assert [topics[index] for index in order_topics(topics, declared)] == shown


@pytest.mark.parametrize(
    ("text", "topics", "queries"),
    [
        ("51 52\n53\t54", ["51", "52", "53", "54"], {}),
        ("51\teels, and cats\tof 1990\r\n\n52\t\n", ["51", "52"], {"51": "eels, and cats\tof 1990"}),
        ("Query-ID\tText\n51\teels", ["51"], {"51": "eels"}),
        ("", [], {}),
    ],
)
def test_a_table_of_topics_has_an_id_a_tab_and_a_text_on_each_line(text, topics, queries):
    assert read_topics(text) == (topics, queries)
