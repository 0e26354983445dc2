"""The short form: some changes through two servers, on each kind of database."""

from tests.proofs.coherence import check


def test_no_server_gives_an_answer_that_is_out_of_date(migrated_url):
    assert check(migrated_url, changes=40, checks=3, servers=2) == []
