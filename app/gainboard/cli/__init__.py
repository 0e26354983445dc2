"""The command line: `gainboard COMMAND`. Each file of `gainboard.cli.commands` has the command of its name."""

from __future__ import annotations

import codecs
import errno
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper

__all__ = ["main"]

_ESCAPES = "gainboard.escapes"
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit code: 0 done, 1 refused, 2 wrong usage; those of `gate` are in its help."""
    if is_alone := arguments is None:
        gc.disable()  # _settle enables it
    words = sys.argv[1:] if arguments is None else arguments
    # A character that the terminal's encoding lacks is printed as an escape: a question mark would make two ids equal.
    codecs.register_error(_ESCAPES, _escape)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=_ESCAPES)
    try:
        run, rest = (_trec_eval, words[1:]) if list(words[:1]) == ["trec_eval"] else (_run, words)
        code = run(rest, is_alone)
        # Here, because at the end of the interpreter a closed pipe would be a traceback.
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return 130  # as shells do: 128 + SIGINT
    except BrokenPipeError:  # The reader of the output, such as `head`, has closed the pipe. This is not an error.
        sys.stdout = None  # otherwise the interpreter tries to write again when it ends
        return 141  # 128 + SIGPIPE
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        sys.stdout = None
        print(f"gainboard: Cannot write: {error.strerror}.", file=sys.stderr)
        return 1
    return code


def _escape(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return what is printed for characters that an encoding lacks, and where the text goes on."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = error.object[error.start : error.end]
    with suppress(UnicodeError):
        # The bytes of an argument or a file name that the locale's encoding could not read.
        text = text.encode(errors="surrogateescape").decode()
        if error.encoding == "utf-8":
            return text.encode(), error.end
    return text.encode("ascii", "backslashreplace").decode(), error.end


def _run(words: Sequence[str], is_alone: bool) -> int:
    from gainboard.children import ONE_THREAD  # noqa: PLC0415 - see _trec_eval
    from gainboard.cli.command import TROUBLE  # noqa: PLC0415
    from gainboard.cli.parsing import parser  # noqa: PLC0415
    from gainboard.cli.printing import print_utf8  # noqa: PLC0415
    from gainboard.errors import GainboardError  # noqa: PLC0415

    for name, value in ONE_THREAD.items():
        os.environ.setdefault(name, value)  # NumPy reads them when it is imported, which no module has done yet
    try:
        parsed = parser(words[:1]).parse_args(words)
    except Exception:  # noqa: BLE001 (a module that cannot be imported: the code is that of wrong usage)
        sys.excepthook(*sys.exc_info())
        return 2
    finally:
        _settle(is_alone)
    if getattr(parsed, "format", "table") != "table":
        print_utf8()
    try:
        code: int = parsed.run_command(parsed)
        if parsed.trouble != TROUBLE:
            sys.stdout.flush()  # here, so that what cannot be written has the command's own code
    except GainboardError as error:
        print(f"gainboard: {error.message}", file=sys.stderr)
        return int(parsed.trouble)
    except Exception as error:  # a code of 1 may be the command's answer
        if parsed.trouble == TROUBLE:
            raise
        if isinstance(error, OSError):
            sys.stdout = None  # otherwise the interpreter tries to write again when it ends
            print(f"gainboard: {error.strerror or error}.", file=sys.stderr)
        else:
            sys.excepthook(type(error), error, error.__traceback__)
        return int(parsed.trouble)
    return code


def _trec_eval(words: Sequence[str], is_alone: bool) -> int:
    """Run trec_eval without a parser: it reads its options itself, and scripts call it once per run.

    NumPy's linear algebra would start threads that nothing here uses. That takes as long as all of the start-up.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from gainboard.trec_eval import main as trec_eval  # noqa: PLC0415

    code = trec_eval(words, sys.stdout.buffer, sys.stderr)  # it makes no cycles, so it needs no collector
    _settle(is_alone)
    return code


def _settle(is_alone: bool) -> None:
    """Let the garbage collector look at nothing that is there now, if the command has this process alone.

    Modules never become garbage. To look at them, again and again and once more at the end, takes a seventh of the time
    of a small file.
    """
    if is_alone:
        gc.freeze()
        gc.enable()
