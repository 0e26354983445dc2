"""The tutorial for organisers in a browser; tests/cli/served/test_tutorials.py follows it in a terminal."""

import re

import pytest
from playwright.sync_api import expect

from gainboard.demo import small_campaign
from tests.dashboard.test_campaign import Walk, invited
from tests.world.pages import DOCS
from tests.world.servers import ADMIN

PAGE = " ".join(DOCS["tutorial-organise.md"].split())
PRESSED = {*re.findall(r"(?<!\*)\*(\w[^*]*)\*(?!\*)", PAGE)}
"""The buttons and links that the tutorial names."""


@pytest.mark.proof  # a journey
def test_the_tutorial_can_be_followed_in_a_browser(open_page, sqlite_service, tmp_path):
    campaign = small_campaign()
    texts = {name: text for _, name, text in campaign.runs()}
    you = Walk(open_page(sqlite_service), tmp_path)
    called(you)
    links = invited(you, "puffin\notter\nnewt")
    teams = [you, *(Walk(open_page(sqlite_service), tmp_path) for _ in links)]
    for walk, (team, link) in zip(teams[1:], links.items(), strict=True):
        walk.page.goto(link)
        walk.press(f"Join as {team}")
        walk.press("Send runs")
        walk.go("Submissions")
        walk.send("Upload", "run.txt", texts[f"{team}-1"], "Submit")
        expect(walk.page.locator("#runs tbody th")).to_have_text([f"{team}-1"])
    you.go("Judgments")
    you.send("A file of judgments", "qrels.txt", campaign.qrels(), "Upload as a draft")
    you.press("Publish version 1")
    you.press("Declare the topics of the published judgments")
    for walk, shown in zip(teams, (3, 1, 1, 1), strict=True):
        walk.go("Board")
        expect(walk.page.locator("table.board tbody tr")).to_have_count(shown)
    analysed(you)
    you.go("Settings")
    you.page.get_by_text("Release the judgments …").click()
    you.press("Release the judgments now")
    expect(you.page.get_by_role("main")).to_contain_text("The judgments are released")
    you.go("Board")
    you.page.get_by_text("Out", exact=True).click()
    expect(you.page.get_by_role("link", name="LaTeX, for papers")).to_be_visible()
    assert PRESSED - {"Out"} <= set().union(*(walk.names for walk in teams))
    assert [walk.watched.errors for walk in teams] == [[]] * len(teams)


def called(you):
    """Makes the collection, and says what teams see."""
    you.watched.visit("/")
    you.press("Sign in")
    you.fill("Token", ADMIN)
    you.press("Sign in")
    you.press("New collection")
    for label, text in (("Name", "web-2026"), ("Levels", "B, A, S"), ("Gains", "3:2:1")):
        you.fill(label, text)
    expect(you.page.locator("#example")).to_contain_text("S 3, A 2, B 1")
    you.press("Create the collection")
    you.go("Settings")
    you.fill("Presets", "nDCG@10, Q")
    you.fill("Runs a day", "5")
    you.press("Save")
    expect(you.page.get_by_role("status")).to_have_text("The settings are saved.")


def analysed(you):
    """Asks which metric tells most pairs apart."""
    you.go("Analyses")
    you.names.add("Discriminative power")
    you.page.get_by_role("link", name=re.compile("^Discriminative power")).first.click()
    you.fill("Metrics", "AP, Q")
    you.press("Start")
    expect(you.page.get_by_role("main")).to_contain_text("estimated difference", timeout=90_000)
