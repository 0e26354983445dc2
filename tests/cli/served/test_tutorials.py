"""The tutorials, done from top to bottom; `python -m tests.cli.served.test_tutorials` renews what they print."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cli.shells import Shell
from tests.outside import ROOT
from tests.world.servers import ADMIN, new_settings, serving

pytestmark = pytest.mark.outer

DOCS = ROOT / "docs"
BLOCK = re.compile(r"(<!-- run -->\n```(?:console|sh)\n)(.*?)(```)", re.DOTALL)
RENEW = "python -m tests.cli.served.test_tutorials"


def followed(page, shell):
    """The page with what its commands print: all in one shell, in which the first that fails ends the test."""

    def run(found):
        head, text, end = found.groups()
        if "console" not in head:
            done = shell.run(text)
            assert done.code == 0, done.err
            return found[0]
        printed = ""
        for line in (line for line in text.splitlines() if line.startswith("$ ")):
            done = shell.run(line.removeprefix("$ "))
            assert done.code == 0, done.err
            printed += f"{line}\n{done.out}"
        return f"{head}{printed}{end}"

    return BLOCK.sub(run, page)


def organising(service, folder):
    return Shell(folder, GAINBOARD_SERVER=service.url, GAINBOARD_TOKEN=ADMIN)


def taking_part(service, folder):
    """A team's shell: the organisers have made the campaign, and have sent a token."""
    organisers = organising(service, folder)
    made = organisers.run(
        "gainboard demo --files .\n"
        "gainboard collection create demo-2026 --levels 3 --gains 3:2:1\n"
        "gainboard qrels put qrels.txt -c demo-2026\n"
        "gainboard collection change demo-2026 --topics from-qrels --policy presets=nDCG@10,Q "
        '--policy \'quotas={"per_day":5,"total":20}\'\n'
    )
    assert made.code == 0, made.err
    token = organisers.run("gainboard token create participant --team otter -c demo-2026").out.split()[-1]
    return Shell(folder, GAINBOARD_SERVER=service.url, GAINBOARD_TOKEN=token)


def alone(service, folder):
    return Shell(folder)


PAGES = {
    "tutorial-organise.md": organising,
    "tutorial-take-part.md": taking_part,
    "tutorial-files.md": alone,
    "tutorial-scores.md": alone,
}


@pytest.mark.parametrize("name", PAGES)
def test_a_tutorial_can_be_followed(name, shared, tmp_path):
    page = (DOCS / name).read_text(encoding="utf-8")
    assert followed(page, PAGES[name](shared, tmp_path)) == page, f"to renew it: {RENEW}"


def main():
    with TemporaryDirectory() as name, serving(new_settings(Path(name) / "data")) as service:
        for page, shell in PAGES.items():
            folder = Path(name) / page
            folder.mkdir()
            path = DOCS / page
            path.write_text(followed(path.read_text(encoding="utf-8"), shell(service, folder)), encoding="utf-8")


if __name__ == "__main__":
    main()
