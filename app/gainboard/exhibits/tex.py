"""Any text as LaTeX in ASCII that prints what was written, in every engine."""

from __future__ import annotations

import unicodedata

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    # In the old encoding of fonts these three are other characters.
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # \textquotedbl wants T1; the bare character is a command of some languages.
    '"': r"{\char34}",
    # After \\ and \midrule these would begin an argument.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
} | {character: f"\\{character}" for character in "{}$&#_%"}

_SYMBOLS = {
    "–": "--",
    "—": "---",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "…": r"\ldots{}",
    "ß": r"\ss{}",
    "æ": r"\ae{}",
    "Æ": r"\AE{}",
    "œ": r"\oe{}",
    "Œ": r"\OE{}",
    "ø": r"\o{}",
    "Ø": r"\O{}",
    "ł": r"\l{}",
    "Ł": r"\L{}",
    "ı": r"\i{}",
    "§": r"\S{}",
    "©": r"\copyright{}",
}

_MATHS = (
    {
        "−": "-",
        "±": r"\pm",
        "×": r"\times",
        "·": r"\cdot",
        "°": r"^\circ",
        "≤": r"\leq",
        "≥": r"\geq",
        "≠": r"\neq",
        "≈": r"\approx",
        "∞": r"\infty",
        "∩": r"\cap",
        "∪": r"\cup",
        "→": r"\rightarrow",
        "√": r"\surd",
        "∑": r"\sum",
        "Δ": r"\Delta",
        "Σ": r"\Sigma",
        "Ω": r"\Omega",
        "µ": r"\mu",
    }
    | {
        character: f"\\{unicodedata.name(character).split()[-1].lower()}"
        for character in "αβγδεζηθικλμνξπρστυφχψω"
        if character != "λ"
    }
    | {"λ": r"\lambda"}
)

_ACCENTS = {
    "\N{COMBINING GRAVE ACCENT}": "`",
    "\N{COMBINING ACUTE ACCENT}": "'",
    "\N{COMBINING CIRCUMFLEX ACCENT}": "^",
    "\N{COMBINING TILDE}": "~",
    "\N{COMBINING MACRON}": "=",
    "\N{COMBINING BREVE}": "u",
    "\N{COMBINING DOT ABOVE}": ".",
    "\N{COMBINING DIAERESIS}": '"',
    "\N{COMBINING RING ABOVE}": "r",
    "\N{COMBINING DOUBLE ACUTE ACCENT}": "H",
    "\N{COMBINING CARON}": "v",
    "\N{COMBINING CEDILLA}": "c",
    "\N{COMBINING DOT BELOW}": "d",
}

_LIGATED = "-`',!?"
"""Two of these, or a mark and a quote, would be drawn as one other character."""


def tex(text: str) -> str:
    """The text for a paragraph, a caption or a cell; white space of any kind is one space.

    Letters of Latin alphabets, Greek and common symbols become commands. Other characters are printed by engines that
    know Unicode (XeLaTeX, LuaLaTeX) where the font has them, and by pdfLaTeX as their code, `[U+4E2D]`.
    """
    words = " ".join(unicodedata.normalize("NFC", text).split())
    pairs = zip(words, f"{words[1:]} ", strict=True) if words else ()
    return "".join(_character(character) + _kept_apart(character, following) for character, following in pairs)


def spelled(character: str) -> str:
    """A character that cannot be shown, by its code."""
    return f"[U+{ord(character):04X}]"


def _kept_apart(character: str, following: str) -> str:
    return "{}" if character in _LIGATED and following in _LIGATED else ""


def _character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if character in _MATHS:
        return f"${_MATHS[character]}$"
    if character.isascii() and character.isprintable():
        return character
    return _SYMBOLS.get(character) or _accented(character) or _by_engine(character)


def _accented(character: str) -> str | None:
    parts = unicodedata.normalize("NFD", character)
    if len(parts) != 2 or parts[1] not in _ACCENTS or not parts[0].isascii():
        return None
    return f"\\{_ACCENTS[parts[1]]}{{{parts[0]}}}"


def _by_engine(character: str) -> str:
    code = spelled(character).replace("[", "{[}").replace("]", "{]}")
    if not character.isprintable():
        return code
    # pdfLaTeX skips the first branch unread, so it need not know the character.
    return rf"\ifdefined\Umathcode {character}\else {code}\fi{{}}"
