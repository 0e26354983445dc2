"""A hidden collection to be attacked, and a participant who wants its judgments."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import httpx

from gainboard.errors import BudgetExhausted, JudgmentsHidden, NotPreset
from tests.world.campaigns import Campaign, run_text, slug

Levels = dict[tuple[str, str], int]
"""By topic and document."""

WIDE_OPEN = {"scores": "all", "parameters": "free", "coverage": 0, "decimals": 15, "answers": 1_000_000}
REFUSALS = {kind.slug for kind in (JudgmentsHidden, NotPreset, BudgetExhausted)}
AT_ONCE = 150
"""Expressions in one request."""


@dataclass(frozen=True)
class Recovered:
    """How many of the levels that an attack was after it got right, and what the best single guess gets right."""

    share: float
    guess: float
    documents: int

    @property
    def gained(self):
        return self.share - self.guess


@dataclass
class Target:
    """Synthetic judgments of three levels behind a policy, and one participant's client."""

    campaign: Campaign
    client: httpx.Client
    truth: Levels
    topics: Sequence[str]
    requests: int = 0
    refused: Counter[str] = field(default_factory=Counter)

    @classmethod
    def of(cls, service, policy, topics=30, pool=60, seed=0):
        """A new one: a fifth of a pool is relevant, half of that marginally."""
        draw, names = random.Random(seed), [str(number) for number in range(1, topics + 1)]
        documents = [f"d{number}" for number in range(pool)]
        truth = {(topic, each): draw.choices((0, 1, 2, 3), (64, 16, 12, 8))[0] for topic in names for each in documents}
        campaign = Campaign(service, levels=3, topics=names, policy=dict(policy))
        qrels = "".join(f"{topic} 0 {each} {level}\n" for (topic, each), level in truth.items())
        assert campaign.put_qrels(qrels).status_code == 201
        return cls(campaign, campaign.client("participant", "spy"), truth, names)

    def documents(self, topic, most, seed=1):
        """Documents of the pool in an order of the participant's, who does not know what they are worth."""
        found = [document for each, document in self.truth if each == topic]
        random.Random(f"{seed} {topic}").shuffle(found)
        return found[:most]

    def submit(self, rankings, name):
        """Uploads a run as the participant, unless the budget cannot pay for its scores. Tells whether it is stored."""
        answer = self.campaign.submit(run_text(rankings, name), self.client)
        if answer.status_code == 403:
            self.refused[slug(answer)] += 1
            return False
        assert answer.status_code == 201, answer.text
        return True

    def scores(self, run, expressions, **query):
        """What is answered about a run, by expression: its mean, or scores by topic. What is refused is not there."""
        found = {}
        for start in range(0, len(expressions), AT_ONCE):
            wanted = expressions[start : start + AT_ONCE]
            answer = self.campaign.get("/scores", self.client, metric=wanted, run=run, **query)
            self.requests += 1
            if answer.status_code == 403:
                self.refused[slug(answer)] += 1
                continue
            assert answer.status_code == 200, answer.text
            body = answer.json()
            for shown in body["runs"]:
                values = shown["topics"] if query else shown["mean"]
                found |= {expression: values[body["asked"][expression]] for expression in wanted}
        assert set(self.refused) <= REFUSALS
        return found

    def group(self, name, topics):
        """Makes a topic group, as the organisers may do for a reason of their own."""
        made = self.campaign.organiser.put(f"{self.campaign.path}/topic-groups/{name}", json=list(topics))
        assert made.status_code == 201, made.text

    def board(self, run, expressions, **query):
        answer = self.campaign.get("/leaderboard", self.client, metric=expressions, **query)
        self.requests += 1
        if answer.status_code == 403:
            self.refused[slug(answer)] += 1
            return []
        assert answer.status_code == 200, answer.text
        return [row for row in answer.json()["rows"] if row["name"] == run]

    def judge(self, guesses, wanted, *, binary=False):
        """How good the guesses are. What is not among them is guessed to be what most are, which favours the spy."""
        levels = [min(1, self.truth[each]) if binary else self.truth[each] for each in wanted]
        (usual, often), *_ = Counter(levels).most_common(1)
        right = sum(guesses.get(each, usual) == level for each, level in zip(wanted, levels, strict=True))
        return Recovered(right / len(wanted), often / len(wanted), len(wanted))
