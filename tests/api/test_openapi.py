"""The description of the interface: complete, and true of what is answered. `tests/corpus` has a hash of each part."""

import re

from tests.api.test_problems import STATUS
from tests.world.servers import description

JSON = "application/problem+json"


def test_every_route_says_what_it_does_and_what_its_errors_look_like():
    for path, methods in description()["paths"].items():
        for method, operation in methods.items():
            assert operation.get("description"), f"{method} {path}"
            problems = {status: each for status, each in operation["responses"].items() if status > "400"}
            assert {"401", "404", "422", "500", "503"} <= problems.keys()
            for status, each in problems.items():
                content = each["content"][JSON]
                assert content["schema"] == {"$ref": "#/components/schemas/ProblemDetails"}
                shown = [example["value"] for example in content["examples"].values()]
                assert [STATUS[example["type"].removeprefix("/problems/")] for example in shown] == [int(status)] * len(
                    shown
                )


def _operations():
    return [operation for methods in description()["paths"].values() for operation in methods.values()]


def test_generated_clients_can_be_imported():
    """openapi-python-client 0.29.1 forgets an import where a body has two types and no parameter is optional."""
    types = {"application/octet-stream", "multipart/form-data", "application/json"}
    for operation in _operations():
        bodies = operation.get("requestBody", {}).get("content", {}).keys()
        has_option = any(not parameter["required"] for parameter in operation.get("parameters", ()))
        assert not bodies or len(bodies & types) == 1 or has_option, operation["operationId"]


def test_no_upload_has_the_limit_of_json(campaign):
    for path, operations in description()["paths"].items():
        for method, operation in operations.items():
            if "application/octet-stream" in operation.get("requestBody", {}).get("content", {}):
                place = re.sub(r"{collection}", campaign.name, path)
                answer = campaign.organiser.request(method, re.sub(r"{\w+}", "x", place), content=bytes((1 << 20) + 1))
                assert "the limit for JSON" not in answer.text, path
