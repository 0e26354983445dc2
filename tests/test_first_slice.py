"""From upload to scores: the shortest way through everything."""

QRELS = "1 0 good 2\n1 0 bad 0\n2 0 good 1\n"
RUN = "1 Q0 good 1 0.9 tag\n1 Q0 bad 2 0.8 tag\n2 Q0 bad 1 0.9 tag\n2 Q0 good 2 0.8 tag\n"


def test_a_run_is_scored_by_the_qrels_of_its_collection(service):
    organiser = service.organiser
    assert organiser.post("/v1/collections", json={"name": "c", "levels": 2}).status_code == 201
    assert organiser.put("/v1/collections/c/qrels", content=QRELS).status_code == 201
    assert organiser.post("/v1/collections/c/runs?team=t", content=RUN).status_code == 201
    scores = organiser.get("/v1/collections/c/scores", params={"metric": "AP", "topics": "all"}).json()
    assert scores["runs"][0]["topics"] == {"AP": {"1": 1.0, "2": 0.5}}
    assert scores["runs"][0]["mean"] == {"AP": 0.75}
