"""The short form of the proof of crashes: one kill of each kind."""

from tests.proofs.crash import prove


def test_what_was_answered_survives_every_kill(database_url, tmp_path):
    counts, wrong = prove(database_url, kills=3, folder=tmp_path)
    assert wrong == []
    assert {counts[f"kills: {what}"] for what in ("server", "child", "both")} == {1}
    assert counts["upload: answered"] > 0
    assert counts["import: answered"] + counts["import: not answered"] > 0
    assert counts["freeze: answered"] + counts["freeze: not answered"] > 0
    assert counts["export command: killed"] + counts["export command: ended before"] == 1
