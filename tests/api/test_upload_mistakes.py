"""Uploads that a client has spoilt on the way: the refusal says what to send in its place."""

import gzip
import io
import zipfile

import pytest

from tests.world.campaigns import RUN

BY_CURL = "application/x-www-form-urlencoded"
FORM = "multipart/form-data; boundary=XX"


def part(name, more="", content=RUN):
    """One part of a form, and the end of the form."""
    return f'--XX\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n{content}\r\n--XX--\r\n'


def test_a_file_of_one_line_may_have_no_line_end(campaign):
    for body, status in ((b"1 Q0 d1 1 2 one", 201), (b"1 Q0 d1 1 2 two\n1 Q0 d2 2 1 two\n", 201)):
        answer = campaign.organiser.post(
            f"{campaign.path}/runs?team=t", content=body, headers={"Content-Type": BY_CURL}
        )
        assert answer.status_code == status
    assert campaign.submit("1 Q0 d1 1 x tag").json()["errors"][0]["code"] == "bad-number"


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/runs?team=t"), ("PUT", "/qrels"), ("PUT", "/score-matrices/clicks"), ("PUT", "/topic-groups")],
)
def test_a_workbook_and_a_parquet_table_are_named_wherever_they_are_sent(campaign, method, path):
    book = io.BytesIO()
    with zipfile.ZipFile(book, "w") as zipped:
        for name in ("docProps/app.xml", "xl/workbook.xml"):
            zipped.writestr(name, "<xml/>")
    given = {"an Excel workbook": book.getvalue(), "a Parquet table": b"PAR1\x15\x04" + bytes(90)}
    for what, body in given.items():
        for content in (body, gzip.compress(body)):
            answer = campaign.organiser.request(method, campaign.path + path, content=content)
            assert answer.status_code in (415, 422)
            assert f"The file is {what}" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("body", "kind", "told"),
    [
        (part("file"), FORM, "The part `file` has no file name"),
        (part("file", "; filename*=UTF-8''a.run"), FORM, "The part `file` has no file name"),
        (part("file", content=RUN * 40_000), FORM, "larger than 1 MiB and has no file name"),
        (part("run", '; filename="a.run"'), FORM, "The form's file is named `run`. Name it `file`"),
        (part("team", content="t"), FORM, "no file named `file`, only `team`"),
        (part("file", '; filename="a.run"')[:-12], FORM, "Was it cut off?"),
        (part("file", '; filename="a"').replace("--XX--\r\n", "") * 2 + "--XX--\r\n", FORM, "more than one file"),
        (part("file", '; filename="a"'), "multipart/form-data", "has no boundary. Let the client write this header"),
        (part("file", '; filename="a"'), FORM + "Y", "do not begin with the boundary"),
        (part("file", '; filename="a"'), "text/plain", "The file is a form"),
    ],
)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # starlette drops a half part unclosed
def test_a_form_without_its_file_says_what_is_missing(campaign, body, kind, told):
    answer = campaign.organiser.post(f"{campaign.path}/runs?team=t", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 422
    assert told in answer.json()["detail"]
    assert "file=@my.run" in answer.json()["detail"]
