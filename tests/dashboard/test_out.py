"""The ways out of the pages: tables for print and images of a board, of its topics and of comparisons."""

from tests.exhibits.compiling import compiles_document, compiles_text

PAGES = (
    "board.tex?metric=Q&metric=nDCG@10&metric=AP",
    "topics.tex?metric=Q&sort=difficulty",
    "compare.tex?run=otter-1&run=newt-1&metric=Q&metric=AP",
    "compare.tex?baseline=otter-1&metric=Q",
)


def test_latex_compiles_as_it_is_and_inside_a_document(demo_service):
    texts = [demo_service.anonymous.get(f"/c/demo-small/{page}").raise_for_status().text for page in PAGES]
    compiles_document(texts[0])
    compiles_text("\n".join(f"Before.\n{text}\nAfter." for text in texts))
