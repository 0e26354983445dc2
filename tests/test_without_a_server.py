"""The page *Without a server* and its notebook: each example and each cell is run beside the files of the demo."""

import ast
import io
import json
import re
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from gainboard.cli import main
from tests.cli.shells import Shell
from tests.outside import ROOT
from tests.world.pages import DOCS, block

NOTEBOOK = ROOT / "docs" / "notebooks" / "from-files-to-a-table.ipynb"
PAGE = DOCS["without-a-server.md"]
ELSEWHERE = {"view", "irds:msmarco-passage/trec-dl-2019/judged"}
"""Words of examples that run until they are ended, or download: tests/cli/served has tests of both."""
RENEW = "python -m tests.test_without_a_server"


def notebook():
    return json.loads(NOTEBOOK.read_text(encoding="utf-8"))


def outputs_of(cells):
    """Run cells as a notebook does, in one namespace: what is printed, and the value of the last expression."""
    names = {}
    for number, source in enumerate(cells, 1):
        tree = ast.parse(source)
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        printed, value = io.StringIO(), None
        with redirect_stdout(printed), redirect_stderr(io.StringIO()):
            exec(compile(tree, "cell", "exec"), names)
            if isinstance(last, ast.Expr):
                value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        outputs = []
        if text := printed.getvalue():
            outputs.append({"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)})
        if value is not None:
            data = {"text/plain": repr(value).splitlines(keepends=True)}
            if hasattr(value, "_repr_html_"):
                data["text/html"] = value._repr_html_().splitlines(keepends=True)
            if hasattr(value, "_repr_svg_"):
                data = {"image/svg+xml": value._repr_svg_().splitlines(keepends=True), "text/plain": ["<a figure>"]}
            outputs.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
        yield outputs


def write_files(folder):
    with redirect_stderr(io.StringIO()):
        assert main(["demo", "--files", str(folder)]) == 0


def run_in(folder):
    """Run the notebook in a folder with the files of the demo."""
    sources = ["".join(cell["source"]) for cell in notebook()["cells"] if cell["cell_type"] == "code"]
    write_files(folder)
    with chdir(folder):
        return list(outputs_of(sources))


@pytest.fixture
def folder(tmp_path):
    write_files(tmp_path)
    return tmp_path


def test_the_first_example_prints_what_the_page_says(capsys):
    script = block(PAGE, "example: score")
    exec(script, {})
    assert f"`{capsys.readouterr().out.strip()}`" in PAGE


@pytest.mark.outer
@pytest.mark.proof  # claims of a page, over the whole demo
def test_every_command_and_script_of_the_page_runs(folder):
    pytest.importorskip("matplotlib")
    pytest.importorskip("pandas")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) for line in block.splitlines()]
    commands = [line for line in lines if line.startswith("gainboard ") and not set(line.split()) & ELSEWHERE]
    assert len(commands) > 5
    shell = Shell(folder)
    for command in commands:
        done = shell.run(command)
        assert done.code == 0, (command, done.err)
    assert (folder / "swap" / "index.html").exists()
    scripts = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(scripts) > 2
    with chdir(folder), redirect_stdout(io.StringIO()):
        for script in scripts:
            exec(script, {})


@pytest.mark.outer
def test_every_cell_gives_its_output(tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    stored = [cell["outputs"] for cell in notebook()["cells"] if cell["cell_type"] == "code"]
    for found, kept in zip(run_in(tmp_path), stored, strict=True):
        assert _comparable(found) == _comparable(kept), f"to renew the outputs: {RENEW}"


def _comparable(outputs):
    # What other packages draw depends on their version. The numbers of figures have tests of their own.
    return re.sub(r'"(image/svg\+xml|text/html)": \[.*?\](?=[,}])', '"drawn"', json.dumps(outputs))


def test_it_is_a_notebook_of_ten_lines():
    found = notebook()
    assert (found["nbformat"], found["metadata"]["language_info"]["name"]) == (4, "python")
    lines = [line for cell in found["cells"] if cell["cell_type"] == "code" for line in cell["source"] if line.strip()]
    assert len(lines) <= 12
    assert all(cell["id"] and isinstance(cell["source"], list) for cell in found["cells"])


if __name__ == "__main__":
    import tempfile

    written = notebook()
    with tempfile.TemporaryDirectory() as temporary:
        ran = iter(run_in(Path(temporary)))
    for number, cell in enumerate((each for each in written["cells"] if each["cell_type"] == "code"), 1):
        cell |= {"outputs": next(ran), "execution_count": number}
    NOTEBOOK.write_text(json.dumps(written, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
