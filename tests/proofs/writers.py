"""Clients that write to a server which may be killed, and remember what they were answered.

Each writer has its own things (runs of a team, versions of qrels, tokens, jobs) and keeps a journal of them. After a
kill it compares the journal with what the server tells. What was answered must be there; what was not answered may be
there, but whole, or not at all.
"""

import gzip
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass

import httpx

from tests.world.campaigns import run_text

TOPICS = [str(number) for number in range(1, 9)]
QRELS = "".join(f"{topic} 0 good 1\n" for topic in TOPICS)
LENGTHS = (8, 8, 60, 1500)
PRESETS = ["AP", "nDCG@10"]
FILE = {"Accept": "text/plain"}
METRICS = [f"P@{cutoff}" for cutoff in range(1, 21)]
"""The metrics of a job, so many that it takes about a second."""
MOST_OPEN = 2
TIMES = 30
"""The most requests of a writer between two kills, so that a check takes no longer than a restart."""
BUSY = (429, 503)
"""Statuses of a request that changed nothing, and may be sent again."""

Done = bool | None
"""True if the request was answered as it should be, False if the server refused it, None if no answer came."""


class Writer(ABC):
    """A client that sends one request after the other."""

    def __init__(self, path, draw):
        self.path, self.draw = path, draw
        self.counts = Counter()
        self.wrong = []
        self._client = httpx.Client(timeout=60)
        self._number = 0

    @abstractmethod
    def act(self):
        """Sends one request, drawn at random, and remembers what became of it."""

    @abstractmethod
    def check(self):
        """Compares the journal with the server, and learns what became of requests that were not answered."""

    def turn_to(self, url, token):
        self._client.close()
        self._client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60)

    def close(self):
        self._client.close()

    def send(self, kind, method, path, *expected, **sent):
        try:
            answer = self._client.request(method, path, **sent)
        except httpx.TransportError:
            self.counts[f"{kind}: not answered"] += 1
            return None, httpx.Response(0)
        if answer.status_code in BUSY:
            self.counts[f"{kind}: busy"] += 1
            return False, answer
        self.counts[f"{kind}: answered"] += 1
        if answer.status_code not in expected:
            self.wrong.append(f"{kind}: {method} {path} was answered {answer.status_code} {answer.text[:300]}")
            return False, answer
        return True, answer

    def get(self, path, **sent):
        answer = self._client.get(path, **sent)
        if answer.status_code != 200:
            self.wrong.append(f"GET {path} was answered {answer.status_code} {answer.text[:300]}")
        return answer

    def items(self, path):
        while path:
            answer = self.get(path, params={"limit": 500} if "?" not in path else None)
            yield from answer.json()["items"]
            path = answer.links.get("next", {}).get("url", "")

    def next(self):
        self._number += 1
        return self._number

    def want(self, what, found, expected):
        if found != expected:
            self.wrong.append(f"{self.path} {what}: {str(found)[:300]} and not {str(expected)[:300]}")

    def want_one(self, what, found, allowed):
        self.want(what, found, found if found in allowed else sorted(allowed))


@dataclass
class SentRun:
    """A run that was sent: its text, the place of the relevant document, and what is known about it."""

    text: str
    place: int
    there: Done
    scored: Done = False


class Runs(Writer):
    """A team that uploads runs, uploads them again, withdraws them and asks for scores, while judgments are hidden."""

    def __init__(self, path, draw, team):
        super().__init__(path, draw)
        self.team = team
        self.sent = {}

    def act(self):
        names = [name for name, run in self.sent.items() if run.there]
        drawn = self.draw.random()
        if drawn < 0.65 or not names:
            return self._upload()
        name = self.draw.choice(names)
        if drawn < 0.75:
            again = {"params": {"name": name}, "content": self.sent[name].text}
            return self.send("repeated upload", "POST", f"{self.path}/runs", 200, **again)[0]
        if drawn < 0.9:
            done, _ = self.send("withdrawal", "DELETE", f"{self.path}/runs/{name}", 204)
            self.sent[name].there = None if done is None else not done
            return done
        done, _ = self.send("scores", "GET", f"{self.path}/scores", 200, params={"run": name, "metric": PRESETS})
        if done is not False:
            # What is unknown stays so, even if a later request is refused because the server is busy.
            self.sent[name].scored = self.sent[name].scored or done
        return done

    def _upload(self):
        name = f"{self.team}-{self.next()}"
        place, length = self.draw.choice([1, 2, 4, 8]), self.draw.choice(LENGTHS)
        documents = [f"{name}-{number}-{self.draw.getrandbits(32):x}" for number in range(length)]
        documents[place - 1] = "good"
        text = run_text(dict.fromkeys(TOPICS, documents), name)
        data = text.encode()
        pieces = (data[at : at + 20_000] for at in range(0, len(data), 20_000))
        body = self.draw.choice([data, gzip.compress(data, 1), pieces])
        run = self.sent[name] = SentRun(text, place, None)
        run.there, _ = self.send("upload", "POST", f"{self.path}/runs", 201, params={"name": name}, content=body)
        return run.there

    def check(self):
        listed = {run["name"] for run in self.items(f"{self.path}/runs")}
        for name, run in self.sent.items():
            if run.there is None:
                run.there = name in listed
        scores = self._scores() if listed else {}
        for name, run in self.sent.items():
            self.want(f"run {name} is there", name in listed, run.there)
            if name in listed:
                found = self.get(f"{self.path}/runs/{name}", headers=FILE).text
                self.want(f"text of {name} is the same", found == run.text, True)
        self.want("listed runs", listed, {name for name, run in self.sent.items() if run.there})
        self.want("scores", scores, {name: round(1 / self.sent[name].place, 3) for name in listed})
        self._check_budget()

    def _scores(self):
        # The scores of all runs under the presets are given now, so they count even if a run is withdrawn later.
        answer = self.get(f"{self.path}/scores", params={"metric": PRESETS}).json()
        for run in self.sent.values():
            run.scored = run.scored or bool(run.there)
        return {run["name"]: run["mean"]["AP"] for run in answer["runs"]}

    def _check_budget(self):
        used = self.get("/v1/me/limits").json()["team"]["answers"]["used"]
        least = sum(bool(run.there or run.scored) for run in self.sent.values())
        most = sum(bool(run.there) or run.scored is not False for run in self.sent.values())
        if not least * len(PRESETS) <= used <= most * len(PRESETS):
            self.want("budget used", used, f"{least} to {most} runs times {len(PRESETS)}")

    def slots_used(self):
        """Return how many uploads the server counts as under way."""
        return self.get("/v1/me/limits").json()["team"]["runs"]["concurrent"]["used"]


@dataclass
class Version:
    """A version of the qrels that was sent: its text, and its state as far as it is known."""

    text: str
    states: set[str]
    """The states that it may be in: `draft`, `published`, or `absent`."""


class Judgments(Writer):
    """An organiser who uploads qrels and drafts, and publishes and discards drafts."""

    def __init__(self, path, draw, first):
        super().__init__(path, draw)
        self.versions = {1: Version(first, {"published"})}
        self.lost = []
        """Uploads that were not answered, whose number is therefore unknown."""

    def act(self):
        drafts = [number for number, version in self.versions.items() if version.states == {"draft"}]
        drawn = self.draw.random()
        if drawn < 0.6 or not drafts:
            return self._upload(is_draft=self.draw.random() < 0.5)
        number = self.draw.choice(drafts)
        if drawn < 0.8:
            kind, request, after = "publication", ("POST", f"{self.path}/qrels/{number}/publish", 200), "published"
        else:
            kind, request, after = "discarded draft", ("DELETE", f"{self.path}/qrels/{number}", 204), "absent"
        done, _ = self.send(kind, *request)
        self.versions[number].states = {True: {after}, False: {"draft"}, None: {"draft", after}}[done]
        return done

    def _upload(self, is_draft):
        unlike = "".join(f"1 0 {self.draw.getrandbits(64):x} 0\n" for _ in range(self.draw.choice([1, 500])))
        version = Version(QRELS + unlike, {"draft" if is_draft else "published"})
        kind, params = ("draft", {"draft": "true"}) if is_draft else ("qrels", {})
        done, answer = self.send(kind, "PUT", f"{self.path}/qrels", 201, content=version.text, params=params)
        if done:
            number = answer.json()["version"]
            self.want("a new number", number in self.versions, False)
            self.versions[number] = version
        elif done is None:
            self.lost.append(version)
        return done

    def check(self):
        listed = {each["version"]: each["state"] for each in self.items(f"{self.path}/qrels")}
        for number in sorted(set(listed) | set(self.versions)):
            text = self.get(f"{self.path}/qrels/{number}", headers=FILE).text if number in listed else ""
            if number not in self.versions:
                found = {number: version for version in self.lost if version.text == text}  # noqa: B035
                self.want(f"version {number} was sent", len(found), 1)
                self.versions |= found
            version = self.versions.get(number)
            if version is not None:
                state = listed.get(number, "absent")
                self.want_one(f"state of version {number}", state, version.states)
                self.want(f"text of version {number} is the same", state == "absent" or text == version.text, True)
                version.states = {state}
        self.lost = []
        scores = self.get(f"{self.path}/scores", params={"metric": "AP"}).json()
        self.want("version in use", listed.get(scores["qrels_version"]), "published")
        self.want("scores", [run["mean"]["AP"] for run in scores["runs"]], [0.5])


class Tokens(Writer):
    """An organiser who makes, rotates and revokes tokens."""

    def __init__(self, path, draw):
        super().__init__(path, draw)
        self.secrets = {}
        self.valid = {}
        """Each secret that was shown, and whether it opens the service."""
        self.listed = 0

    def act(self):
        mine = [identity for identity, secret in self.secrets.items() if self.valid[secret]]
        drawn = self.draw.random()
        if drawn < 0.5 or not mine:
            return self._made(self.send("token", "POST", f"{self.path}/tokens", 201, json={"role": "reader"}))
        identity = self.draw.choice(mine)
        old = self.secrets[identity]
        if drawn < 0.75:
            done = self._made(self.send("rotation", "POST", f"{self.path}/tokens/{identity}/rotate", 201))
        else:
            done, _ = self.send("revocation", "DELETE", f"{self.path}/tokens/{identity}", 204)
        self.valid[old] = None if done is None else not done
        return done

    def _made(self, sent):
        done, answer = sent
        if done:
            self.secrets[answer.json()["id"]] = answer.json()["token"]
            self.valid[answer.json()["token"]] = True
        return done

    def check(self):
        for number, (secret, is_valid) in enumerate(self.valid.items()):
            # Each from another address: one that has sent many invalid tokens is answered otherwise.
            sender = {"X-Forwarded-For": f"10.0.{number >> 8}.{number & 255}"}
            status = self._client.get("/v1/me", headers={"Authorization": f"Bearer {secret}", **sender}).status_code
            self.valid[secret] = is_valid = (status == 200) if is_valid is None else is_valid
            self.want("status of a token", status, 200 if is_valid else 401)
        listed = {each["id"] for each in self.items(f"{self.path}/tokens")}
        self.want("listed tokens", set(self.secrets) - listed, set())
        most = len(self.secrets) + self.counts["token: not answered"]
        self.want("number of tokens", len(listed) <= most, True)


class Jobs(Writer):
    """An organiser who asks for jobs and reports, and cancels some."""

    results = {}
    """The result of each seed: equal jobs of all collections must come to the same."""

    def __init__(self, path, draw):
        super().__init__(path, draw)
        self.asked = {}
        """The seed of each job and report, by its address."""
        self.cancelled = set()
        self.children_killed = 0

    def act(self):
        open_ones = [url for url in self.asked if not self._is_over(url)]
        if len(open_ones) >= MOST_OPEN:
            if self.draw.random() < 0.9:
                return self.send("job read", "GET", open_ones[0], 200, params={"wait": 1})[0]
            url = self.draw.choice(open_ones)
            self.cancelled.add(url)  # an unanswered request may have cancelled it
            return self.send("cancellation", "DELETE", url, 200, 202)[0]
        seed = self.next()
        if self.draw.random() < 0.8:
            asked = {"kind": "stability", "params": {"metrics": METRICS, "trials": 100_000, "seed": seed}}
            done, answer = self.send("job", "POST", f"{self.path}/jobs", 200, 202, json=asked)
        else:
            name = self.path.rpartition("/")[2]
            asked = {"name": "q-measure-appendix", "collections": [name], "params": {"seed": seed}}
            done, answer = self.send("report", "POST", "/v1/reports", 200, 202, json=asked)
        if done:
            self.asked[answer.headers["location"]] = seed
        return done

    def _is_over(self, url):
        with suppress(httpx.TransportError):
            answer = self._client.get(url)
            return answer.status_code == 200 and answer.json()["state"] not in ("queued", "running")
        return True

    def check(self):
        for url in self.asked:
            self.get(url)

    def check_results(self, over):
        """Compares the final states, and the results with those of equal jobs."""
        for url, job in over.items():
            allowed = {"succeeded"} | ({"cancelled"} if url in self.cancelled else set())
            # Three deaths of the computing process during one part are the job's own failure.
            allowed |= {"failed"} if self.children_killed >= 3 else set()
            self.want_one(f"state of {url}", job["state"], allowed)
            if job["state"] == "succeeded" and "kind" in job:
                result = self.get(job["result_url"]).text.replace(self.path.rpartition("/")[2], "NAME")
                result = result.replace(job["id"], "ID")
                self.want(f"result of {url}", result, self.results.setdefault(self.asked[url], result))
