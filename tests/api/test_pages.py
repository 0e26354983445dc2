"""Lists in pages."""

from tests.world.campaigns import QRELS, Campaign, run_text

NAMES = ["B", "Z.1", "Z_1", "a", "a-b", "a.b", "a0", "b", "B0", "0"]


def _walk(client, path, limit):
    url = f"{path}?limit={limit}"
    while url:
        answer = client.get(url)
        yield answer.json()["items"]
        following = answer.links.get("next")
        assert (following is None) == (answer.json()["next_cursor"] is None)
        url = following["url"] if following else None


def test_names_come_in_byte_order_on_every_database(service):
    campaign = Campaign(service)
    for name in NAMES:
        campaign.submit(run_text({"1": [name]}, name))
        Campaign(service, name=f"{name}")
    for path in (f"{campaign.path}/runs", "/v1/collections"):
        pages = list(_walk(service.organiser, path, 3))
        names = [each["name"] for items in pages for each in items if each["name"] != campaign.name]
        assert names == sorted(NAMES, key=str.encode)
        assert all(len(items) == 3 for items in pages[:-1])


def test_a_page_that_is_exactly_full_leads_nowhere(shared):
    campaign = Campaign(shared)
    for name in ("a", "b"):
        campaign.submit(run_text({"1": [name]}, name))
    answer = campaign.get("/runs", limit=2)
    assert [each["name"] for each in answer.json()["items"]] == ["a", "b"]
    assert answer.json()["next_cursor"] is None
    assert "link" not in answer.headers


def test_qrels_versions_come_oldest_first_beyond_nine(shared):
    campaign = Campaign(shared)
    for count in range(1, 12):
        campaign.put_qrels(QRELS + "".join(f"1 0 more{n} 1\n" for n in range(count)))
    versions = [each["version"] for items in _walk(shared.organiser, f"{campaign.path}/qrels", 4) for each in items]
    assert versions == list(range(1, 12))


def test_a_token_lists_its_own_collection_and_public_ones(shared):
    own, public, hidden = Campaign(shared), Campaign(shared), Campaign(shared)
    public.release(public=True)
    listed = own.client("reader").get("/v1/collections", params={"limit": 500}).json()["items"]
    names = {each["name"] for each in listed}
    assert {own.name, public.name} <= names
    assert hidden.name not in names
