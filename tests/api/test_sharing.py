"""What pages and feed readers elsewhere get: public boards for scripts of any origin, and feeds."""

from xml.etree import ElementTree

import pytest

from gainboard.settings import Settings
from tests.world.campaigns import judged, run_text
from tests.world.servers import ADMIN, new_settings, serving

BOARD = "/leaderboard?metric=AP"
SHARED = "access-control-allow-origin"
ATOM = {"a": "http://www.w3.org/2005/Atom"}
ELSEWHERE = {"Origin": "https://elsewhere.example"}


@pytest.fixture
def public(shared):
    """A campaign that everybody may see, and that was hidden before."""
    campaign = judged(shared)
    campaign.change(policy={"phase": "released", "late": "marked"}, public=True)
    return campaign


def test_any_origin_may_read_what_everybody_may_see(public):
    anybody = public.service.anonymous
    first = anybody.get(public.path + BOARD)
    answers = {
        "board": first,
        "kept": anybody.get(public.path + BOARD, headers=ELSEWHERE),
        "unchanged": anybody.get(public.path + BOARD, headers={"If-None-Match": first.headers["etag"], **ELSEWHERE}),
        "head": anybody.head(public.path + BOARD),
        "refused": anybody.get(public.path + "/leaderboard?metric=nonsense"),
        "absent": anybody.get(public.path + "/runs/absent"),
        "list": anybody.get("/v1/collections"),
    }
    assert {name: answer.status_code for name, answer in answers.items()} == {
        **dict.fromkeys(answers, 200),
        **{"unchanged": 304, "refused": 422, "absent": 404},
    }
    assert {answer.headers.get(SHARED) for answer in answers.values()} == {"*"}
    assert not any("access-control-allow-credentials" in answer.headers for answer in answers.values())
    assert "ETag" in first.headers["access-control-expose-headers"]


def test_nothing_else_is_shared(public):
    service = public.service
    hidden = judged(service)
    answers = [
        service.anonymous.get(hidden.path + BOARD),
        service.anonymous.get(public.path + "/tokens"),
        public.client("reader").get(public.path + BOARD),
        service.stranger().get(public.path + BOARD),
        service.anonymous.post(public.path + "/jobs", json={"kind": "stability"}),
        service.anonymous.options(public.path + BOARD, headers=ELSEWHERE),
        service.anonymous.get("/v1/nowhere"),
        service.anonymous.get(f"/c/{public.name}", headers={"Accept": "text/html"}),
    ]
    assert [answer.headers.get(SHARED) for answer in answers] == [None] * len(answers)


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    settings = new_settings(tmp_path_factory.mktemp("named"), cors_origins="https://named.example")
    with serving(settings) as service:
        yield service


def test_named_origins_send_tokens_and_everybody_still_reads_unless_that_is_off(named, tmp_path):
    campaign = judged(named)
    campaign.change(policy={"phase": "released"}, public=True)
    path, origin = campaign.path + BOARD, {"Origin": "https://named.example"}
    assert named.anonymous.get(path, headers=origin).headers[SHARED] == "*"
    assert named.anonymous.get(path, headers=ELSEWHERE).headers[SHARED] == "*"
    assert named.organiser.get(path, headers=origin).headers[SHARED] == "https://named.example"
    assert SHARED not in named.organiser.get(path, headers=ELSEWHERE).headers
    with serving(new_settings(tmp_path, public_cors="off")) as service:
        assert SHARED not in service.anonymous.get("/v1/collections").headers


def test_a_feed_leads_to_the_public_address_whatever_a_request_names(tmp_path):
    given = Settings.read({}, data=tmp_path, admin_token=ADMIN, public_url="https://board.example.org/trec")
    with serving(given) as service:
        campaign = judged(service)
        campaign.release(public=True)
        answer = service.anonymous.get(campaign.path + "/feed", headers={"Host": "evil.example"})
    links = ElementTree.fromstring(answer.raise_for_status().content).iter(f"{{{ATOM['a']}}}link")
    assert {link.attrib["href"].startswith(f"{given.public_url}/") for link in links} == {True}


def test_a_board_says_when_it_last_changed(public):
    def changed_at():
        return public.service.anonymous.get(public.path + BOARD).json()["changed_at"]

    before = changed_at()
    public.client("reader")
    assert changed_at() == before  # a token changes no board
    public.submit(run_text({"1": ["d1"], "2": ["d1"]}, "late"), team="own")
    assert changed_at() > before


def test_a_hidden_board_does_not_say_when_judgments_changed(shared):
    campaign = judged(shared)
    campaign.change(policy={"scores": "own-mean", "presets": ["AP"]}, topics="from-qrels")
    board = campaign.client("participant", "own").get(campaign.path + "/leaderboard").raise_for_status().json()
    assert board["changed_at"] is None
    assert board["decimals"] == 3
