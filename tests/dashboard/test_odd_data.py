"""Pages of data that are rare: names with line separators, and a run without a judged topic."""

import csv
import io

from gainboard.dashboard.jobs import rows_of
from tests.api.test_ties import CLEAR, QRELS
from tests.world.campaigns import RUN, Campaign
from tests.world.people import Person
from tests.world.servers import ADMIN


def test_a_table_of_any_names_is_read_from_pieces_of_any_length():
    rows = [["topic", "ä\u2028b"], ["\x85", 'with "quotes",\nand lines'], ["日本", ""]]
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    data = text.getvalue().encode()
    for length in range(1, 7):
        assert list(rows_of(data[at : at + length] for at in range(0, len(data), length))) == rows


def test_a_run_without_a_judged_topic_is_not_the_most_judged(shared):
    campaign = Campaign(shared)
    for answer in (
        campaign.submit("unknown-topic Q0 d1 1 1 lost\n"),
        campaign.put_qrels(QRELS),
        campaign.submit(CLEAR),
    ):
        assert answer.status_code == 201
    person = Person(campaign.service, ADMIN)
    page = person.get(f"/c/{campaign.path.rsplit('/', 1)[1]}/pool").text
    assert "most judged: clear" in page
    assert "judged: lost" not in page


def test_a_board_shows_teams_only_if_there_are_any(shared):
    campaign = Campaign(shared)
    campaign.put_qrels(QRELS)
    campaign.submit(CLEAR, team="clear")
    person = Person(campaign.service, ADMIN)
    address = f"/c/{campaign.path.rsplit('/', 1)[1]}?metric=AP"
    without = person.get(address).text
    assert "Team <select" not in without
    assert "<small></small>" in without
    campaign.submit(RUN, team="lemur")
    with_teams = person.get(address).text
    assert "Team <select" in with_teams
    assert "<small>lemur</small>" in with_teams
