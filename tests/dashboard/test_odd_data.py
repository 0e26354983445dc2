"""Pages of data that are rare: names with line separators, and a run without a judged topic."""

import csv
import io

from gainboard.dashboard.jobs import rows_of


def test_a_table_of_any_names_is_read_from_pieces_of_any_length():
    rows = [["topic", "ä\u2028b"], ["\x85", 'with "quotes",\nand lines'], ["日本", ""]]
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    data = text.getvalue().encode()
    for length in range(1, 7):
        assert list(rows_of(data[at : at + length] for at in range(0, len(data), length))) == rows
