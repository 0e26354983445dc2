"""What the service tells Prometheus about itself; who may read it, tests/api/test_access.py says."""

from tests.world.laboratories import SHORT, Laboratory
from tests.world.servers import new_settings, serving


def test_requests_are_counted_by_route_without_names_and_jobs_by_state(tmp_path):
    with serving(new_settings(tmp_path, job_slots=0)) as service:
        lab = Laboratory(service)
        for seed in range(2):
            lab.ask(**SHORT, seed=seed)
        for method in ("GET", "HEAD"):
            service.organiser.request(method, "/v1/collections/secret-name")
        text = service.organiser.get("/metrics").text
    counted = 'gainboard_requests_total{{method="{}",route="/v1/collections/{{collection}}",status="404"}} 1.0'
    wanted = {counted.format("GET"), counted.format("HEAD")}
    wanted |= {'gainboard_jobs{state="queued"} 2.0', 'gainboard_jobs{state="failed"} 0.0'}
    assert wanted <= set(text.splitlines())
    assert "secret-name" not in text
