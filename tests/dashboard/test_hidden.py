"""Pages of a hidden campaign give its teams none of what the API refuses them, and no choice of it."""

from tests.api.test_score_matrices import put, table
from tests.api.test_ties import TIED
from tests.world.laboratories import Laboratory
from tests.world.people import Person

TIES = "Other orders of ties"


def test_a_team_sees_no_uploaded_scores_topic_groups_or_orders_of_ties_before_the_release(shared):
    lab = Laboratory(shared, name="web")
    assert put(lab, table(), low=0, high=1).status_code == 201
    lab.organiser.put(f"{lab.path}/topic-groups/hard", json=["2", "4"]).raise_for_status()
    assert lab.submit(TIED, team="team-0", name="tied").status_code == 201
    free = {"scores": "all", "parameters": "free", "decimals": 15, "coverage": 0}
    assert lab.change(topics="from-qrels", policy=free).status_code == 200
    person = Person(shared, lab.token("participant", "team-0"))
    board = person.get("/c/web?metric=AP").text
    assert ("run-0" in board, "custom:" in board) == (True, False)
    assert person.get("/c/web?metric=custom:nuggets").status_code == 403
    assert TIES not in person.get("/c/web/runs/tied?metric=AP").text
    lab.change(policy={"scores": "own-mean", "parameters": "preset", "presets": ["AP"]})
    assert 'name="topics"' not in person.get("/c/web").text
    for query in ("topics=hard", "by_group=all"):
        assert person.get(f"/c/web?{query}").status_code == 403, query
    lab.release()
    assert TIES in person.get("/c/web/runs/tied?metric=AP").text
    assert 'name="topics"' in person.get("/c/web?metric=AP").text
