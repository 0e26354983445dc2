"""A collection whose runs can be compared, and its jobs, in few words."""

from gainboard.errors import BadInput, Refused
from gainboard.jobs.worker import Worker
from gainboard.statistics import find_test
from gainboard.store import claims
from tests.waiting import over
from tests.world.campaigns import Campaign, run_text

TOPICS = [str(number) for number in range(1, 9)]
DOCUMENTS = [f"d{number}" for number in range(7)]
FEW = 20
SHORT = {"metrics": ["AP", "Q"], "trials": FEW}
REPORT = "q-measure-appendix"
LONG = {"metrics": ["AP", "Q"], "trials": 100_000}


class Laboratory(Campaign):
    """A campaign of 8 topics, 3 levels, and 4 runs of 2 teams; other settings as they are given."""

    def __init__(self, service, **settings):
        super().__init__(service, **{"levels": 3} | settings)
        assert self.put_qrels(qrels_text()).status_code == 201
        for number in range(4):
            assert self.submit(rotated(number), team=f"team-{number % 2}").status_code == 201

    def ask(self, kind="stability", client=None, **params):
        """Asks for a job: a short one of stability, unless told otherwise."""
        sent = {"kind": kind, "params": params or SHORT}
        return (client or self.organiser).post(f"{self.path}/jobs", json=sent)

    def job(self, asked, client=None, wait=0):
        """The job that a request has made, as it is now or once it is over."""
        answer = (client or self.organiser).get(asked.headers["location"], params={"wait": wait})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def finished(self, asked):
        job = over(self.organiser, asked.headers["location"])
        assert job["state"] == "succeeded", job["error"]
        return job

    def worked(self, asked):
        """The job once the test has worked all jobs, where the server works none."""
        job = after_work(self, asked.headers["location"])
        assert job["state"] == "succeeded", job["error"]
        return job

    def report(self, name=REPORT, client=None, **params):
        """Asks for a report on this collection, unless `collections` names others."""
        names = params.pop("collections", [self.name])
        sent = {"name": name, "collections": names, "params": params}
        return (client or self.organiser).post("/v1/reports", json=sent)


def after_work(campaign, url):
    """The job or report of an address once the test has worked all jobs, where the server works none."""
    work(campaign.service.application.state.workspace)
    return over(campaign.organiser, url)


def qrels_text(shift=0, highest=3):
    """Judgments of every document for every topic, at levels from 0 to the highest."""
    return "".join(
        f"{topic} 0 {document} {(number * (place + 2) + shift) % (highest + 1)}\n"
        for place, topic in enumerate(TOPICS)
        for number, document in enumerate(DOCUMENTS)
    )


def rotated(number):
    """A run like no other: the documents from another one on, for each topic, of which some find little."""
    starts = {topic: (number * number + place * (number + 1)) % len(DOCUMENTS) for place, topic in enumerate(TOPICS)}
    rankings = {topic: (DOCUMENTS[start:] + DOCUMENTS[:start])[: 3 + number] for topic, start in starts.items()}
    return run_text(rankings, f"run-{number}")


def request_of(kind):
    """The example of a kind, with few draws where it draws."""
    fields = kind.params_model.model_fields
    draws = "test" not in fields or find_test(fields["test"].default).default_resamples is not None
    few = {name: FEW for name in ("trials", "resamples", "permutations") if name in fields and draws}
    asked = kind.example()
    return {"kind": asked["kind"], "params": {**asked["params"], **few}}


def work(workspace):
    worker, count = Worker(workspace), 0
    while True:
        with workspace.database.writing() as tx:
            held = claims.claim(tx, "the tests", workspace.now())
        if held is None:
            return count
        try:
            worker.work(held)
        except (BadInput, Refused) as error:  # as the engine does
            with workspace.database.writing() as tx:
                claims.give_back(tx, held, workspace.now(), error.message, is_final=True)
        count += 1
