"""Any text as LaTeX in ASCII, which prints the same text in every engine."""

from __future__ import annotations

import re
import unicodedata

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # The old encoding of fonts has other characters at these three places.
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # \textquotedbl needs the T1 encoding; the bare character is a command in some languages.
    '"': r"{\char34}",
    # After \\ and \midrule these would begin an argument.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
} | {character: f"\\{character}" for character in "{}$&#_%"}

_SYMBOLS = {
    "–": "--", "—": "---", "‘": "`", "’": "'", "“": "``", "”": "''", "…": r"\ldots{}", "§": r"\S{}",
    "©": r"\copyright{}", "ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}",
    "Ø": r"\O{}", "ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}",
}  # fmt: skip

_MATHS = {
    "−": "-", "±": r"\pm", "×": r"\times", "·": r"\cdot", "°": r"^\circ", "≤": r"\leq", "≥": r"\geq", "≠": r"\neq",
    "≈": r"\approx", "∞": r"\infty", "∩": r"\cap", "∪": r"\cup", "→": r"\rightarrow", "√": r"\surd", "∑": r"\sum",
    "Δ": r"\Delta", "Σ": r"\Sigma", "Ω": r"\Omega", "µ": r"\mu", "λ": r"\lambda",
} | {letter: f"\\{unicodedata.name(letter).split()[-1].lower()}" for letter in "αβγδεζηθικμνξπρστυφχψω"}  # fmt: skip

# The combining grave, acute, circumflex, tilde, macron, breve, dot above, diaeresis, ring, double acute, caron, cedilla
# and dot below, with the commands of their accents.
_ACCENTS = dict(
    zip("\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327\u0323", "`'^~=u.\"rHvcd", strict=True)
)

_LIGATURE = re.compile("(?<=[-`',!?])(?=[-`',!?])")
"""An empty group between two of these: without it, a font may join them into one other character."""


def tex(text: str) -> str:
    """Return the text for a paragraph, a caption or a cell. White space of any kind becomes one space.

    Letters of Latin alphabets, Greek and common symbols become commands. Other characters are printed by engines that
    know Unicode (XeLaTeX, LuaLaTeX) if the font has them, and by pdfLaTeX as their code, `[U+4E2D]`.
    """
    words = " ".join(unicodedata.normalize("NFC", text).split())
    return "{}".join(part.translate(_COMMANDS) for part in _LIGATURE.split(words))


def spelled(character: str) -> str:
    """Return the code of a character that cannot be shown."""
    return f"[U+{ord(character):04X}]"


class _Commands(dict[int, str]):
    """The commands of characters by their numbers. ASCII is fixed; others are added when a text contains them."""

    def __missing__(self, number: int) -> str:
        character = chr(number)
        if character in _MATHS:
            return f"${_MATHS[character]}$"
        return _SYMBOLS.get(character) or _accented(character) or _by_engine(character)


_COMMANDS = _Commands({number: _SPECIAL.get(chr(number), chr(number)) for number in range(ord(" "), ord("~") + 1)})


def _accented(character: str) -> str | None:
    parts = unicodedata.normalize("NFD", character)
    if len(parts) != 2 or parts[1] not in _ACCENTS or not parts[0].isascii():
        return None
    return f"\\{_ACCENTS[parts[1]]}{{{parts[0]}}}"


def _by_engine(character: str) -> str:
    code = spelled(character).replace("[", "{[}").replace("]", "{]}")
    if not character.isprintable():
        return code
    # pdfLaTeX skips the first branch without reading it, so it need not know the character.
    return rf"\ifdefined\Umathcode {character}\else {code}\fi{{}}"
