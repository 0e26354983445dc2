"""Headers of ir_metadata in files of runs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic_core import to_json

from gainboard.trec.run_metadata import read_metadata, read_metadata_file
from tests.thorough import examples

HEADER = """# ir_metadata.start
# schema-version: 0.1
# tag: lemur
# method:
#   automatic: true
#   retrieval:
#   - name: bm25
#     since: 2026-01-02
# ir_metadata.end
"""
LINE = "1 Q0 d 1 1.0 lemur\n"


def faults(header):
    found = read_metadata(f"# ir_metadata.start\n{header}# ir_metadata.end\n{LINE}".encode(), "lemur")
    assert all(each.code == "bad-metadata" for each in found.warnings())
    return "; ".join(found.faults)


@pytest.mark.parametrize("head", [HEADER + LINE, "\n" + HEADER + LINE, HEADER.replace("\n", "\r\n") + LINE])
def test_a_header_has_values_that_json_has(head):
    found = read_metadata(head.encode(), "lemur")
    assert found.values == {
        "schema-version": 0.1,
        "tag": "lemur",
        "method": {"automatic": True, "retrieval": [{"name": "bm25", "since": "2026-01-02"}]},
    }
    assert found.text.startswith("schema-version: 0.1\ntag: lemur")
    assert not found.faults


@pytest.mark.parametrize("head", ["", LINE, "# a comment\n" + HEADER, "ir_metadata.start\n", "\n\n"])
def test_other_files_have_none(head):
    assert read_metadata(head.encode(), "lemur") is None


@pytest.mark.parametrize(
    ("header", "why"),
    [
        ("# a: [1\n", "is not YAML in line 2: expected"),
        ("# a: &x [1]\n# method: *x\n", "is not YAML in line 3: aliases are not read"),
        (
            "# method: !!python/object/apply:os.system [ls]\n",
            "is not YAML in line 2: could not determine a constructor",
        ),
        ("# actor: " + "[" * 5000 + "]" * 5000 + "\n", "is not YAML"),
        ("# - 1\n", "is not a mapping"),
        ("# method: bm25\n", "The part 'method' of ir_metadata is not a mapping"),
        ("# tag: [1]\n", "is not a single value"),
        ("# mehtod: {}\n", "ir_metadata has no part 'mehtod'. Its parts are schema-version, run-version, tag"),
        ("# tag: otter\n", "has the tag 'otter', but the lines of the run have 'lemur'"),
    ],
)
def test_a_faulty_header_says_what_is_wrong(header, why):
    assert why in faults(header)


def test_a_header_that_does_not_end_is_not_read():
    found = read_metadata(("# ir_metadata.start\n# tag: lemur\n" + LINE).encode(), "lemur")
    assert found.values is None
    assert found.faults == ["The header of ir_metadata has no line `# ir_metadata.end` within the first 52 bytes"]


@pytest.mark.parametrize("around", [("", ""), ("ir_metadata.start\n", "ir_metadata.end\n")])
def test_a_file_beside_a_run_may_be_as_tirex_tracker_writes_it(around):
    begin, end = around
    inside = "schema version: 0.2\nresources:\n  ram: {used: 3}\nmetadata: {dataset: web}\n"
    found = read_metadata_file(f"{begin}{inside}{end}".encode(), "lemur")
    assert found.values == {"schema version": 0.2, "resources": {"ram": {"used": 3}}, "metadata": {"dataset": "web"}}
    assert found.faults == []
    (fault,) = read_metadata_file(f"{begin}a: [1\n{end}".encode(), "lemur").faults
    assert fault.startswith(f"The file of ir_metadata is not YAML in line {1 + (begin != '')}: ")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('!!int ""', ""),
        ("!!bool maybe", "maybe"),
        ("!!timestamp x", "x"),
        (":".join(["1"] * 400) + ".5", ":".join(["1"] * 400) + ".5"),
        (str(2**64 - 1), 2**64 - 1),
        (str(2**64), str(2**64)),
        (r'"\ud800 and \ud83d"', r"\ud800 and \ud83d"),
        ("2026-99-99", "2026-99-99"),
    ],
)
def test_what_is_no_value_of_json_is_text(text, value):
    found = read_metadata_file(f"actor:\n  x: {text}\n".encode(), "t")
    assert found.values == {"actor": {"x": value}}
    to_json(found.values)


TAGS = "!!int |!!bool |!!set |!!omap |!!pairs |!!binary |!!timestamp |!!map |!x |{|}|[|]|a: |- |? |\n|  |\"|'|1:1|0x"
PIECES = [*TAGS.split("|"), "~", ".inf", "\\ud800", "<<: ", "=", "&a ", "*a", "|\n", "2026-01-01"]
FILES = st.binary(max_size=200) | st.lists(st.sampled_from(PIECES), max_size=30).map("".join).map(str.encode)


@given(FILES)
@settings(max_examples=examples(2000))
def test_any_bytes_become_json_or_a_fault(content):
    header = b"# ir_metadata.start\n# " + content.replace(b"\n", b"\n# ") + b"\n# ir_metadata.end\n"
    for found in (read_metadata_file(content, "t"), read_metadata(header, "t")):
        if found is not None:
            assert found.values is not None or found.faults
            to_json({"values": found.values, "text": found.text, "faults": list(found.faults)})
