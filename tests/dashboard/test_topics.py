"""Topics as people see them: in the order of their declaration, with the texts of their queries."""

from playwright.sync_api import expect

from tests.world.campaigns import Campaign, run_text
from tests.world.servers import ADMIN

TABLE = "qid\tquery\n2\twhy do <b>cats</b> purr\n10\thow tall is a giraffe\n1\tdo eels sleep\n"
QRELS = "".join(f"{topic} 0 good 1\n" for topic in (1, 2, 3, 10, 20))
RUNS = [
    run_text({topic: ["bad"] * number + ["good"] for topic in ("1", "2", "3", "10", "20")}, f"run-{number}")
    for number in (0, 1)
]


def test_topics_come_as_declared_with_the_texts_of_their_queries(open_page, sqlite_service):
    campaign = Campaign(sqlite_service)
    campaign.put_qrels(QRELS)
    for run in RUNS:
        campaign.submit(run)
    watched = open_page(sqlite_service)
    page = watched.page
    watched.sign_in(ADMIN)
    watched.visit(f"/c/{campaign.name}/judgments")
    part = page.get_by_role("region", name="A list of topics")
    table = {"name": "topics.tsv", "mimeType": "text/plain", "buffer": TABLE.encode()}
    part.locator("input[type=file]").set_input_files(table)
    with page.expect_navigation():
        part.get_by_role("button", name="Declare").click()
    expect(page.get_by_role("main")).to_contain_text(
        "3 topics are declared: 2, 10, 1; the texts of 3 queries are shown"
    )
    watched.visit(f"/c/{campaign.name}/topics")
    # Topics that nobody declared come last, 3 before 20.
    shown = page.get_by_role("region", name="Topics in numbers").locator("tbody th a")
    expect(shown).to_have_text(["2", "10", "1", "3", "20"])
    canvas = page.locator("figure canvas")
    canvas.hover(position={"x": canvas.bounding_box()["width"] - 5, "y": canvas.bounding_box()["height"] - 6})
    assert canvas.get_attribute("title").startswith("20, ")
    canvas.hover(position={"x": canvas.bounding_box()["width"] - 5, "y": canvas.bounding_box()["height"] - 100})
    assert canvas.get_attribute("title").endswith("\nwhy do <b>cats</b> purr")
    shown.first.click()
    expect(page.locator("h1 + p")).to_have_text("why do <b>cats</b> purr")
    expect(page.locator("a[rel=next]")).to_have_text("10 →")
    # Programs have the order of bytes, on which resamples depend.
    assert list(campaign.scores("AP", topics="all")["runs"][0]["topics"]["AP"]) == ["1", "10", "2", "20", "3"]


def test_a_table_of_topics_fills_the_form_of_a_new_collection(open_page, sqlite_service):
    watched = open_page(sqlite_service)
    page = watched.page
    watched.sign_in(ADMIN)
    watched.visit("/new")
    table = {"name": "topics.tsv", "mimeType": "text/plain", "buffer": TABLE.encode()}
    page.locator("#known input").set_input_files(table)
    expect(page.locator("#told")).to_contain_text("the texts of their queries. They are filled in.")
    page.get_by_label("Name").fill("zoo")
    page.get_by_label("Levels").fill("2")
    page.get_by_role("button", name="Create the collection").click()
    page.wait_for_url("**/c/zoo")
    made = sqlite_service.organiser.get("/v1/collections/zoo").json()
    assert made["topics"] == ["2", "10", "1"]
    assert made["queries"]["10"] == "how tall is a giraffe"
