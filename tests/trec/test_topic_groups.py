"""CSV of all topic groups: what it means, and every fault of it."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gainboard.errors import FaultyFile
from gainboard.trec import FileLimits
from gainboard.trec.csv_files import read_topic_groups

LIMITS = FileLimits()


def faults(content, declared=None):
    with pytest.raises(FaultyFile) as refused:
        read_topic_groups([content], LIMITS, declared)
    return [(each.code, each.line) for each in refused.value.faults]


@pytest.mark.parametrize(
    "content",
    [
        b"topic,group\n51,hard\n52,hard\n51,short\n",
        b"\xef\xbb\xbftopic,group\r\n51,hard\r\n\r\n52,hard\r\n51,short",
        b'group,note,topic\nhard,"one, two",51\nhard,,52\n short ,x, 51\n',
        b"topic;group\n51;hard\n52;hard\n51;short\n",
        b"topic\tgroup\n51\thard\n52\thard\n51\tshort\n",
    ],
)
def test_each_row_puts_a_topic_into_a_group(content):
    assert read_topic_groups([content], LIMITS) == {"hard": ["51", "52"], "short": ["51"]}


def test_a_header_alone_means_no_groups():
    assert read_topic_groups([b"topic,group\n"], LIMITS) == {}


def test_every_fault_is_found_with_its_line():
    content = (
        b"topic,group\n51,hard\n51,hard\n52\n53,a b\n54,all\nall,hard\n,hard\nx y,hard\n55,\xff\n"
        b'"56,hard\n57,hard,more\n'
    )
    assert faults(b"topic,group\n51,hard\n99,hard\n", ["51", "52"]) == [("unknown-topic", 3)]
    assert faults(content) == [
        ("duplicate-topic", 3),
        ("bad-columns", 4),
        ("bad-group", 5),
        ("bad-group", 6),
        ("reserved-topic", 7),
        ("bad-topic", 8),
        ("bad-topic", 9),
        ("bad-encoding", 10),
        ("bad-columns", 11),
        ("bad-columns", 12),
    ]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"topic|group\n51|hard\n", b"topic,group,topic\n51,hard,52\n"])
def test_a_file_without_the_header_is_refused(content):
    ((code, _),) = faults(content)
    assert code in ("empty-file", "bad-header")


TOPICS = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x2FF, exclude_characters="\x7f'"), min_size=1)


@given(st.lists(TOPICS.filter(lambda topic: topic.strip() == topic and topic != "all"), unique=True, min_size=1))
def test_any_topic_can_be_written_and_read_again(topics):
    text = io.StringIO()
    csv.writer(text).writerows([("topic", "group"), *((topic, "g") for topic in topics)])
    assert read_topic_groups([text.getvalue().encode()], LIMITS) == {"g": topics}
