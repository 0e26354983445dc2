"""What the service tells Prometheus about itself."""

from tests.world.laboratories import SHORT, Laboratory
from tests.world.servers import new_settings, serving


def test_requests_are_counted_by_route_without_names(sqlite_service):
    organiser = sqlite_service.organiser
    organiser.get("/v1/collections/secret-name")
    text = organiser.get("/metrics").text
    counted = 'gainboard_requests_total{method="GET",route="/v1/collections/{collection}",status="404"} 1.0'
    assert counted in text.splitlines()
    assert "secret-name" not in text


def test_a_head_is_counted_under_its_route(sqlite_service):
    sqlite_service.organiser.head("/v1/collections/secret-name")
    text = sqlite_service.organiser.get("/metrics").text
    assert 'gainboard_requests_total{method="HEAD",route="/v1/collections/{collection}",status="404"} 1.0' in text


def test_jobs_are_counted_by_state(tmp_path):
    with serving(new_settings(tmp_path, job_slots=0)) as service:
        lab = Laboratory(service)
        for seed in range(2):
            lab.ask(**SHORT, seed=seed)
        lines = service.organiser.get("/metrics").text.splitlines()
    assert {'gainboard_jobs{state="queued"} 2.0', 'gainboard_jobs{state="failed"} 0.0'} <= set(lines)


def test_only_organisers_read_it(sqlite_service):
    assert sqlite_service.anonymous.get("/metrics").status_code == 401
    sqlite_service.organiser.post("/v1/collections", json={"name": "c", "levels": 1})
    assert sqlite_service.token("c", "reader").get("/metrics").status_code == 403


def test_an_organiser_of_one_collection_may_watch(sqlite_service):
    sqlite_service.organiser.post("/v1/collections", json={"name": "watch", "levels": 1})
    assert sqlite_service.token("watch", "organiser").get("/metrics").status_code == 200
