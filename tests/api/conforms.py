"""Whether JSON is as a schema of ours says: the part of JSON Schema that the description uses."""

import math
import re

TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})")
"""A time in RFC 3339."""
_TYPES = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def faults(value, schema, schemas, where="$"):
    """Every place where `value` is not as described. A member that is not described is a fault, too."""
    if "$ref" in schema:
        yield from faults(value, schemas[schema["$ref"].rpartition("/")[2]], schemas, where)
    elif "anyOf" in schema:
        if all(list(faults(value, each, schemas, where)) for each in schema["anyOf"]):
            yield f"{where}: {value!r} is none of {schema['anyOf']}"
    elif "type" in schema and not _is(value, schema["type"]):
        yield f"{where}: {value!r} is no {schema['type']}"
    elif value not in schema.get("enum", [value]) or value != schema.get("const", value):
        yield f"{where}: {value!r} is not one of the values"
    elif schema.get("format") == "date-time" and not TIME.fullmatch(value):
        yield f"{where}: {value!r} is no time"
    elif isinstance(value, list) and len(value) < schema.get("minItems", 0):
        yield f"{where}: a list without its {schema['minItems']} items"
    elif isinstance(value, dict):
        yield from _members(value, schema, schemas, where)
    elif isinstance(value, list):
        items = schema.get("prefixItems") or [schema.get("items", {})] * len(value)
        for number, each in enumerate(value):
            yield from faults(each, items[number], schemas, f"{where}[{number}]")


def _is(value, kind):
    is_json = not isinstance(value, float) or math.isfinite(value)
    return is_json and isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))


def _members(value, schema, schemas, where):
    described = schema.get("properties", {})
    others = schema.get("additionalProperties", "properties" not in schema)
    for name in set(schema.get("required", ())) - value.keys():
        yield f"{where}: {name} is missing"
    for name, each in value.items():
        if name in described:
            yield from faults(each, described[name], schemas, f"{where}.{name}")
        elif others is False:
            yield f"{where}: {name} is not described"
        elif isinstance(others, dict):
            yield from faults(each, others, schemas, f"{where}.{name}")
