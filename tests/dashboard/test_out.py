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
