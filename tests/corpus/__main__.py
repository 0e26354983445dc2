"""Ask the corpus again, show what has changed in groups of equal changes, and write it.

    python -m tests.corpus leaderboard          # entries whose name or file has this text
    python -m tests.corpus --all --write        # all of them, into the files

An entry that another class of status answers needs another sentence: it says something else now.
"""

import argparse
import difflib
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from tempfile import TemporaryDirectory

from tests.corpus.entries import HERE, files, parse, written
from tests.corpus.world import Worlds

SHOWN = 30


def main():
    """Return the exit code: 1 if something has changed and is not written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="texts of names of entries, or of their files")
    parser.add_argument("--all", action="store_true", help="every entry")
    parser.add_argument("--write", action="store_true", help="write the answers into the files")
    asked = parser.parse_args()
    if not asked.names and not asked.all:
        parser.error("name entries, or say --all")
    groups, same_sentence = defaultdict(list), []
    with TemporaryDirectory() as folder:
        worlds = Worlds(folder)
        for path in files():
            entries = parse(path.read_text(), path.relative_to(HERE).as_posix())
            renewed = []
            for entry in entries:
                if asked.all or any(name in entry.name for name in asked.names):
                    now = replace(entry, answer=tuple(worlds.answer_to(entry)))
                    if now.answer != entry.answer:
                        groups[_change(entry.answer, now.answer)].append(entry.name)
                    if entry.status and (entry.status[0] != now.status[0]) and _is_committed(path, entry):
                        same_sentence.append(
                            f"{entry.name}: {entry.status} is {now.status} now: say so in its sentence"
                        )
                        now = entry
                    renewed.append(now)
                else:
                    renewed.append(entry)
            if asked.write:
                path.write_text(written(path, renewed))
        worlds.close()
    for change, names in sorted(groups.items(), key=lambda each: -len(each[1])):
        print(f"{len(names)} {'entry' if len(names) == 1 else 'entries'}: {names[0]}{' ...' if len(names) > 1 else ''}")
        print("\n".join(f"  {line}" for line in change[:SHOWN]))
    print("\n".join(same_sentence), file=sys.stderr)
    return int(bool(same_sentence) or (bool(groups) and not asked.write))


def _change(before, now):
    lines = difflib.unified_diff(before, now, n=0, lineterm="")
    return tuple(line for line in lines if not line.startswith(("---", "+++", "@@")))


def _is_committed(path, entry):
    """Return whether the last commit has this sentence with this request."""
    command = ["git", "show", f"HEAD:./{path.name}"]
    shown = subprocess.run(command, cwd=path.parent, capture_output=True, text=True, check=False).stdout
    before = parse(shown, entry.file)
    return any((each.sentence, each.request) == (entry.sentence, entry.request) for each in before)


if __name__ == "__main__":
    sys.exit(main())
