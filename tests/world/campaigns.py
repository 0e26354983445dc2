"""A collection on a running server, in few words."""

from io import BytesIO
from uuid import uuid4

from gainboard.evaluation.runs.intake import Body

QRELS = "1 0 good 2\n1 0 bad 0\n2 0 good 1\n"
OTHER_QRELS = "1 0 bad 1\n1 0 good 0\n2 0 bad 2\n2 0 good 1\n"


def run_text(rankings, tag="tag"):
    return "".join(
        f"{topic} Q0 {document} {rank} {1 / rank!r} {tag}\n"
        for topic, documents in rankings.items()
        for rank, document in enumerate(documents, start=1)
    )


RUN = run_text({"1": ["good", "bad"], "2": ["bad", "good"]})
WORSE = run_text({"1": ["bad", "good"], "2": ["bad", "other", "good"]}, "worse")


class Campaign:
    """A new collection of two relevance levels, unless `settings` say otherwise, and what one does with it."""

    def __init__(self, service, **settings):
        self.service = service
        self.organiser = service.organiser
        self.name = settings.pop("name", f"c-{uuid4().hex}")
        answer = service.organiser.post("/v1/collections", json={"name": self.name, "levels": 2} | settings)
        assert answer.status_code == 201, answer.text
        self.path = f"/v1/collections/{self.name}"

    def put_qrels(self, text=QRELS, **query):
        return self.organiser.put(f"{self.path}/qrels", content=text, params=query)

    def draft(self, text=OTHER_QRELS):
        answer = self.put_qrels(text, draft=True)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def publish(self, version, client=None):
        """Publishes a stored version of the qrels: as the organiser, or as whoever the client is."""
        return (client or self.organiser).post(f"{self.path}/qrels/{version}/publish")

    def discard(self, version, client=None):
        return (client or self.organiser).delete(f"{self.path}/qrels/{version}")

    def submit(self, text=RUN, client=None, **query):
        """Uploads a run: as the organiser for the team `lemur`, or as whoever the client is."""
        if client is None:
            query = {"team": "lemur"} | query
        return (client or self.organiser).post(f"{self.path}/runs", content=text, params=query)

    def get(self, path, client=None, **query):
        return (client or self.organiser).get(self.path + path, params=query)

    def read(self, path, client=None, **query):
        answer = self.get(path, client, **query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def scores(self, *metrics, **query):
        return self.read("/scores", metric=metrics, **query)

    def board(self, **query):
        return self.read("/leaderboard", **query)

    def change(self, **settings):
        return self.organiser.patch(self.path, json=settings)

    def release(self, public=False):
        assert self.change(policy={"phase": "released"}, public=public).status_code == 200

    def client(self, role, team=None):
        return self.service.token(self.name, role, team)

    def token(self, role, team=None):
        return token_of(self.client(role, team))

    def new_token(self, role="reader", **sent):
        """The JSON of a new token: also its id, and whatever it is made with."""
        answer = self.organiser.post(f"{self.path}/tokens", json={"role": role} | sent)
        assert answer.status_code == 201, answer.text
        return answer.json()


def body(text):
    """A file as it is sent, without a server."""
    return Body(BytesIO(text.encode() if isinstance(text, str) else text))


def token_of(client):
    return client.headers["Authorization"].removeprefix("Bearer ")


def judged(service, *runs, qrels=QRELS, **settings):
    campaign = Campaign(service, **settings)
    assert campaign.put_qrels(qrels).status_code == 201
    for run in runs or (RUN,):
        assert campaign.submit(run).status_code == 201
    return campaign


def slug(answer):
    """The kind of problem that an answer is; fails where it is none."""
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    problem = answer.json()
    assert problem["status"] == answer.status_code
    return problem["type"].removeprefix("/problems/")


def refused(answer):
    return answer.status_code, slug(answer)


def codes(answer):
    return [each["code"] for each in answer.json()["errors"]]
