"""The ways out of the pages: tables for print and images of a board, of its topics and of comparisons."""

import pytest

from tests.exhibits.compiling import compiles_document, compiles_text

PAGES = (
    "board{}?metric=Q&metric=nDCG@10&metric=AP",
    "topics{}?metric=Q&sort=difficulty",
    "compare{}?run=otter-1&run=newt-1&metric=Q&metric=AP",
    "compare{}?baseline=otter-1&metric=Q",
)


@pytest.mark.parametrize("page", PAGES)
def test_latex_compiles_as_it_is_and_inside_a_document(page, demo_service):
    text = demo_service.anonymous.get("/c/demo-small/" + page.format(".tex")).raise_for_status().text
    compiles_document(text)
    compiles_text(f"Before.\n{text}\nAfter.")


@pytest.mark.parametrize("page", PAGES)
def test_images_are_drawn(page, demo_service):
    drawn = demo_service.anonymous.get("/c/demo-small/" + page.format(".png")).raise_for_status()
    assert (drawn.headers["content-type"], drawn.content[:8]) == ("image/png", b"\x89PNG\r\n\x1a\n")


def test_the_board_for_print_has_what_the_board_has(demo_service):
    query = {"metric": ["nDCG(base=2)@10", "nDCG(base=10)@10"], "top": 3}
    board = demo_service.anonymous.get("/v1/collections/demo/leaderboard", params=query).json()
    assert (len(board["rows"]), board["rows_total"]) == (3, 45)
    text = demo_service.anonymous.get("/v1/collections/demo/leaderboard", params={**query, "format": "markdown"}).text
    lines = [[cell.strip(" *") for cell in line.split("|")[1:-1]] for line in text.splitlines() if line[:1] == "|"]
    assert lines[0] == ["rank", "run", "team", "ranks", "groups", "nDCG(base=2)@10", "nDCG(base=10)@10"]
    assert lines[2:] == [
        [
            str(row["rank"]),
            row["name"],
            row["team"],
            "-".join(map(str, row["rank_set"])),
            "".join(row["groups"]),
            *(f"{mean:.4f}" for mean in row["mean"].values()),
        ]
        for row in board["rows"]
    ]
