"""A whole campaign without a terminal: from an empty service to a released board."""

import re

from playwright.sync_api import expect

from tests.world.campaigns import run_text
from tests.world.pages import DOCS
from tests.world.servers import ADMIN, new_settings, serving

QRELS = "1 0 good 2\n1 0 fair 1\n1 0 bad 0\n2 0 fine 1\n2 0 bad 0\n"
FAULTY_QRELS = QRELS.replace("fine 1", "fine one")
RUNS = {
    "lemur": run_text({"1": ["good", "fair"], "2": ["fine", "bad"]}, "lemur-1"),
    "newt": run_text({"1": ["fair", "good"], "2": ["bad", "fine"]}, "newt-1"),
    "otter": run_text({"1": ["bad", "good"], "2": ["bad", "other"]}, "otter-1"),
}
PAGE = " ".join(DOCS["tutorial-organise.md"].split())
PRESSED = {*re.findall(r"(?<!\*)\*(\w[^*]*)\*(?!\*)", PAGE)}
"""The buttons and links that the tutorial for organisers names; tests/cli/served follows it in a terminal."""
FAULTY_RUN = RUNS["otter"] + "2 Q0 late 4 many otter-1\n2 Q0 bad 3 0.1 otter-1\n"


class Walk:
    def __init__(self, watched, folder):
        self.watched, self.page, self._folder, self.clicks = watched, watched.page, folder, 0
        self.names = set()
        """What was pressed, as the page calls it."""

    def open(self, text):
        self.clicks += 1
        self.page.get_by_text(text, exact=True).click()

    def press(self, name):
        self.clicks += 1
        self.names.add(name)
        main = self.page.get_by_role("main")
        main.get_by_role("button", name=name, exact=True).or_(main.get_by_role("link", name=name, exact=True)).click()

    def go(self, name):
        self.clicks += 1
        self.names.add(name)
        self.page.get_by_role("navigation").get_by_role("link", name=name, exact=True).click()

    def send(self, label, name, text, button):
        path = self._folder / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        section = self.page.get_by_role("region", name=label, exact=True)
        section.locator("input[type=file]").set_input_files(path)
        self.clicks += 1
        section.get_by_role("button", name=button, exact=True).click()

    def fill(self, label, text):
        self.page.get_by_role("textbox", name=label).or_(self.page.get_by_label(label, exact=True)).first.fill(text)


def test_a_campaign_from_an_empty_service_to_a_released_board(open_page, sqlite_service, tmp_path):
    organiser = Walk(open_page(sqlite_service), tmp_path)
    created(organiser)
    with_judgments(organiser)
    with_a_policy(organiser)
    links = invited(organiser, "lemur\nnewt\notter")
    teams = [joined(Walk(open_page(sqlite_service), tmp_path), team, link) for team, link in links.items()]
    organiser.go("Judgments")
    organiser.press("Declare the topics of the published judgments")
    expect(organiser.page.get_by_role("main")).to_contain_text("topics are declared: ")
    organiser.go("Board")
    expect(organiser.page.locator("table.board tbody tr")).to_have_count(3)
    analysed(organiser)
    organiser.go("Settings")
    released(organiser)
    organiser.go("Board")
    organiser.page.get_by_text("Export", exact=True).click()
    expect(organiser.page.get_by_role("link", name="LaTeX, for papers")).to_be_visible()
    walks = [organiser, *teams]
    assert PRESSED - {"Export"} <= set().union(*(walk.names for walk in walks))
    # Everybody sees the board now, with the order of the API. Refused were two names, a policy, and two faulty files.
    anybody = open_page(sqlite_service)
    anybody.visit("/c/web-2026")
    rows = anybody.page.locator("table.board tbody tr")
    names = [name.partition("\n")[0] for name in rows.locator("th a:not(.pin)").all_inner_texts()]
    board = sqlite_service.anonymous.get("/v1/collections/web-2026/leaderboard").json()
    assert names == [row["name"] for row in board["rows"]] == ["lemur-1", "newt-1", "otter-1"]
    errors = [error for walk in walks for error in walk.watched.errors]
    assert [error for error in errors if "422" not in error] == []
    assert len(errors) == 5


def test_a_campaign_takes_twenty_clicks_to_its_judgments_then_a_release_an_export_and_its_end(
    open_page, sqlite_service, tmp_path
):
    organiser = Walk(open_page(sqlite_service), tmp_path)
    published(organiser)
    assert organiser.clicks <= 20
    page = organiser.page
    organiser.open("Freeze a release …")
    organiser.fill("Title", "Web 2026, final")
    organiser.press("Freeze the release")
    expect(page.get_by_role("main")).to_contain_text("Release web-1 of web, as it was frozen")
    with page.expect_download() as download:
        organiser.press("Download the release")
    folder = download.value.path().read_bytes()
    organiser.go("Settings")
    organiser.fill("Type web to delete for good", "wob")
    organiser.press("Delete for good")
    expect(page.get_by_role("alert")).to_contain_text("The name to type is web")
    organiser.fill("Type web to delete for good", "web")
    organiser.press("Delete for good")
    expect(page.get_by_role("main")).to_contain_text("There is no collection yet.")
    with serving(new_settings(tmp_path / "elsewhere")) as other:
        imported(Walk(open_page(other), tmp_path), folder)


def imported(elsewhere, folder):
    """Makes a collection of the release, in another service."""
    elsewhere.watched.sign_in(ADMIN)
    elsewhere.press("New collection")
    elsewhere.send("The file of a release", "web-1.tar", folder, "Import the release")
    expect(elsewhere.page.get_by_role("main")).to_contain_text("Release web-1 of web, as it was frozen")
    elsewhere.go("Board")
    expect(elsewhere.page.locator("table.board tbody tr")).to_have_count(3)


def published(organiser):
    """From an empty service to published judgments, with the runs of three teams."""
    organiser.watched.visit("/")
    organiser.press("Sign in")
    organiser.fill("Token", ADMIN)
    organiser.press("Sign in")
    organiser.press("New collection")
    organiser.fill("Name", "web")
    organiser.fill("Levels", "2")
    organiser.fill("Topics", "1, 2")
    organiser.press("Create the collection")
    organiser.press("Upload judgments")
    organiser.send("A file of judgments", "qrels.txt", QRELS, "Upload as a draft")
    # Each page is waited for: a form is sent once the server has said that the session goes on.
    organiser.press("Publish version 1")
    expect(organiser.page.get_by_role("region", name="Versions")).to_contain_text("in use")
    organiser.go("Teams")
    organiser.fill("Invite teams", "lemur\nnewt\notter")
    organiser.press("Invite")
    expect(organiser.page.locator(".invited")).to_have_count(3)
    organiser.go("Submissions")
    for number, (team, run) in enumerate(RUNS.items(), start=1):
        organiser.fill("Team", team)
        organiser.send("Upload", f"{team}.txt", run, "Submit")
        expect(organiser.page.locator("#sent .fine")).to_have_count(number)
    organiser.go("Settings")
    organiser.open("Release the judgments …")
    organiser.fill("Type web to release the judgments now", "web")
    organiser.press("Release the judgments now")
    expect(organiser.page.get_by_role("main")).to_contain_text("The judgments are released")


def released(organiser):
    """Releases the judgments, once the page has said what is still open and has refused another name."""
    page = organiser.page
    organiser.open("Release the judgments …")
    expect(page.locator("#still-open li")).to_have_text(["Teams may send runs until 2099-12-24 18:00 UTC."])
    organiser.fill("Type web-2026 to release the judgments now", "web")
    organiser.press("Release the judgments now")
    expect(page.get_by_role("alert")).to_have_text("Nothing was released. The name to type is web-2026.")
    organiser.fill("Type web-2026 to release the judgments now", "web-2026")
    organiser.press("Release the judgments now")
    expect(page.get_by_role("main")).to_contain_text("The judgments are released")


def created(organiser):
    page = organiser.page
    organiser.watched.visit("/")
    expect(page.get_by_role("main")).to_contain_text("GAINBOARD_ADMIN_TOKEN")
    organiser.press("Sign in")
    organiser.fill("Token", ADMIN)
    organiser.press("Sign in")
    organiser.press("New collection")
    expect(page.locator("#known")).to_be_visible()  # the script is there
    page.get_by_label("If you have a file of judgments already").set_input_files(
        {"name": "qrels.txt", "mimeType": "text/plain", "buffer": QRELS.encode()}
    )
    expect(page.locator("#told")).to_contain_text("5 judgments of 2 topics, 3 of them relevant, up to level 2")
    expect(page.get_by_role("textbox", name="Topics")).to_have_value("1, 2")
    organiser.fill("Name", "web 2026")
    organiser.fill("Title", "The web track")
    organiser.fill("Levels", "B, A")
    organiser.fill("Gains", "3:1")
    expect(page.locator("#example")).to_have_text(
        "A document is worth, from the highest level down: A 3, B 1; not relevant 0."
    )
    page.get_by_label("Public").check()
    organiser.press("Create the collection")
    expect(page.locator(".faulty label")).to_contain_text("Name")  # a name has no blanks
    organiser.fill("Name", "web-2026")
    organiser.press("Create the collection")
    expect(page.locator(".steps .done b")).to_have_text(["Topics"])


def with_judgments(organiser):
    page = organiser.page
    organiser.press("Upload judgments")
    organiser.send("A file of judgments", "qrels.txt", FAULTY_QRELS, "Upload as a draft")
    expect(page.locator(".findings tbody td").first).to_have_text("4")
    organiser.send("A file of judgments", "qrels.txt", QRELS, "Upload as a draft")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Version 1")
    organiser.press("Publish version 1")
    expect(page.get_by_role("region", name="Versions")).to_contain_text("in use")


def with_a_policy(organiser):
    page = organiser.page
    organiser.go("Settings")
    organiser.fill("Metrics that teams see", "nDCG@10, APP")
    organiser.fill("Runs open (UTC)", "2099-12-25 00:00")
    organiser.fill("Runs close (UTC)", "2099-12-24T18:00")
    organiser.fill("Runs a day", "five")
    expect(page.locator("#changes li")).to_have_text(
        [
            "Runs open (UTC): nothing → 2099-12-25 00:00",
            "Runs close (UTC): nothing → 2099-12-24T18:00",
            "Metrics that teams see: nothing → nDCG@10, APP",
            "Runs a day: nothing → five",
        ]
    )
    organiser.press("Save")
    # Three faults, of which each would hide the next one in an answer of the API.
    faults = page.locator(".faulty")
    expect(faults.locator("label")).to_have_text(["Runs close (UTC)", "Metrics that teams see", "Runs a day"])
    expect(faults.nth(0).locator(".fault")).to_contain_text("“Runs close (UTC)” (2099-12-24T18:00:00+00:00) is before")
    organiser.fill("Metrics that teams see", "nDCG@10, AP")
    organiser.fill("Runs open (UTC)", "")
    organiser.fill("Runs a day", "5")
    organiser.fill("Room for files", "100 MiB")
    organiser.press("Save")
    expect(page.get_by_text("The settings are saved.")).to_be_visible()
    expect(page.get_by_label("Room for files")).to_have_value("100 MiB")


def invited(organiser, names):
    page = organiser.page
    organiser.go("Teams")
    organiser.fill("Invite teams", names)
    organiser.press("Invite")
    expect(page.locator(".invited")).to_have_count(3)
    shown = page.locator(".invited")
    return dict(
        zip(shown.locator("th").all_inner_texts(), shown.locator(".copied code").all_inner_texts(), strict=True)
    )


def analysed(organiser):
    organiser.go("Analyses")
    organiser.names.add("Discriminative power")
    organiser.page.get_by_role("link", name=re.compile("^Discriminative power")).first.click()
    organiser.fill("Metrics", "AP, Q")
    organiser.press("Start")
    expect(organiser.page.get_by_role("main")).to_contain_text("estimated difference")


def joined(team, name, link):
    """Joins by the link, and sends a run; one team sends a faulty file first."""
    page = team.page
    page.goto(link)
    expect(page.get_by_role("main")).to_contain_text("The web track")
    assert page.url.endswith("/join")  # the code is out of the address
    team.press(f"Join as {name}")
    expect(page.locator("#token")).to_contain_text("gainboard_")
    expect(page.get_by_role("main")).to_contain_text("2099-12-24 18:00 UTC")
    team.press("Send runs")
    team.go("Submissions")
    if name == "otter":
        team.send("Upload", "run.txt", FAULTY_RUN, "Submit")
        expect(page.locator(".findings tbody tr")).to_have_count(2)
    team.send("Upload", "run.txt", RUNS[name], "Submit")
    expect(page.locator("#runs tbody th")).to_have_text([f"{name}-1"])
    team.go("Board")
    expect(page.get_by_role("main")).to_contain_text(f"{name}-1")
    return team
