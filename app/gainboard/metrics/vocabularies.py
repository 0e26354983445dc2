"""The names of metrics in other tools. A name means what the tool computes: defaults of requests do not change it.

A vocabulary translates an expression of its tool into one of ours, with a value for every parameter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from gainboard.errors import BadExpression
from gainboard.metrics.names import find, find_preset, is_known, name_here
from gainboard.vocabulary import Names

_READ: Final = {"rel": "1", "condensed": "false", "mean": "arithmetic"}
_BINARY: Final = _READ | {"ia": "false"}
_NOVEL: Final = _READ | {"alpha": "0.5"}
_EQUAL: Final = _READ | {"ia": "equal"}
_NO_CUTOFF: Final = 10**9
"""The cut-off of a graded metric that the other tool does not cut. No topic has as many documents."""
_ARGUMENTS: Final = r"(?:\((?P<arguments>[^()]*)\))?"
_CUTOFF: Final = r"(?P<cutoff>[1-9][0-9]{0,8})"
_NUMBER: Final = r"(?P<cutoff>[0-9]+(?:\.[0-9]+)?)"
"""A cut-off, or the value of a parameter where the tool has it in place of a cut-off: `IPrec@0.1`."""


@dataclass(frozen=True)
class Word:
    """A name of another tool: our metric, the values of its parameters, and the parameters that it has there.

    `parameters` maps the tool's parameter to ours and to the meaning of its values. An empty meaning takes any value.
    `needs` is an example of a parameter of the tool without which the name means something else. `cut` are the values
    of parameters that differ with a cut-off. `number` is our parameter that the tool has in place of a cut-off.
    """

    ours: str
    values: Mapping[str, str]
    cutoff: Literal["never", "may", "must"] = "never"
    parameters: Mapping[str, tuple[str, Mapping[str, str]]] = field(default_factory=dict)
    needs: str = ""
    cut: Mapping[str, str] = field(default_factory=dict)
    number: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """The names of one tool. `absent` are its names without a metric here, each with the nearest one by meaning.

    `form` reads an expression: its `name`, `arguments` and `cutoff`. `at_ten` is an example of a cut-off. `told` are
    our parameters that the tool is always told. The request or the collection tells them here, too.
    """

    tool: Names
    form: re.Pattern[str]
    at_ten: str
    words: Mapping[str, Word]
    absent: Mapping[str, str]
    told: frozenset[str] = frozenset()

    def has(self, expression: str) -> bool:
        """Return whether the expression can be translated."""
        try:
            self.translate(expression)
        except BadExpression:
            return False
        return True

    def translate(self, expression: str) -> str:
        """Return our expression for one of the tool. Raises BadExpression with what would be right."""
        match = self.form.fullmatch(expression.strip())
        word = self.words.get(match["name"]) if match else None
        if match is None or word is None:
            raise BadExpression(self._explain_unknown(expression, match["name"] if match else expression))
        arguments = self._read_arguments(expression, word, match["arguments"])
        cutoff = self._read_cutoff(expression, word, match["cutoff"])
        numbered = {word.number: match["cutoff"]} if word.number and match["cutoff"] else {}
        values = {**word.values, **(word.cut if match["cutoff"] else {}), **numbered, **arguments}
        return f"{word.ours}({','.join(f'{key}={value}' for key, value in values.items())}){cutoff}"

    def _read_arguments(self, expression: str, word: Word, arguments: str | None) -> dict[str, str]:
        values: dict[str, str] = {}
        for argument in arguments.split(",") if arguments else ():
            key, _, text = (part.strip().strip("'\"") for part in argument.partition("="))
            ours, meanings = word.parameters.get(key, ("", {}))
            value = meanings.get(text.lower(), "") if meanings else text
            if not ours or not value or ours in values:
                possible = [f"{name}={'|'.join(meaning) or 'N'}" for name, (_, meaning) in word.parameters.items()]
                raise BadExpression(
                    f"{expression[:80]!r}: {argument.strip()[:80]!r} has no meaning here. "
                    f"Possible: {', '.join(possible) or 'no parameters'}"
                )
            values[ours] = value
        needed = word.needs.partition("=")[0]
        if needed and word.parameters[needed][0] not in values:
            raise BadExpression(f"{expression[:80]!r} needs {needed}, such as {word.ours}({word.needs})")
        return values

    def _read_cutoff(self, expression: str, word: Word, cutoff: str | None) -> str:
        if cutoff and word.cutoff == "never":
            raise BadExpression(f"{expression[:80]!r}: {self.tool} has no cut-off here. Remove it")
        if not cutoff and word.cutoff == "must":
            at = f"{self.at_ten[0]}0.50" if word.number else self.at_ten
            kind = f"a value of {word.number}" if word.number else "a cut-off"
            raise BadExpression(f"{expression[:80]!r} needs {kind}, such as {expression[:80]}{at}")
        if word.number:
            return ""
        if cutoff and not re.fullmatch(_CUTOFF, cutoff):
            raise BadExpression(f"{expression[:80]!r}: a cut-off is a whole number from 1, such as {self.at_ten[1:]}")
        if cutoff:
            return f"@{cutoff}"
        return f"@{_NO_CUTOFF}" if find(word.ours, "").metric.needs_cutoff else ""

    def _explain_unknown(self, expression: str, name: str) -> str:
        if nearest := self.absent.get(name):
            return f"{name} of {self.tool} is not here. The nearest by meaning is {nearest}"
        start = f"{self.tool} has no metric {expression[:80]!r} that is here."
        if other_case := next((word for word in self.words if word.lower() == name.lower()), None):
            return f"{start} Write {other_case}"
        if preset := find_preset(name):
            return f"{start} {preset.name} is a preset of Gainboard: ask for it without names={self.tool}"
        if is_known(name.partition("@")[0]):
            return f"{start} It is a name of Gainboard: leave out names={self.tool}, or ask in a request of its own"
        if meant := self._guess_expressions(expression):
            return f"{start} Did you mean {', '.join(meant)}?"
        from difflib import get_close_matches  # noqa: PLC0415 (for messages alone)

        near = get_close_matches(name.lower(), {word.lower(): word for word in self.words}, n=3, cutoff=0.5)
        shown = [word for word in self.words if word.lower() in near] or list(self.words)
        return f"{start} Available: {', '.join(shown)}"

    def _guess_expressions(self, expression: str) -> list[str]:
        """Return the tool's expressions for a name that another program prints, the best first."""
        expressions: list[str] = []
        for ours in name_here(expression):
            name, _, cutoff = re.sub(r"_([0-9]+)$", r"@\1", ours).partition("@")
            metric = find(re.sub(r"\(.*", "", "ndcg_cut_10" if name == "ndcg_cut" else name), "").metric
            same = [theirs for theirs, word in self.words.items() if find(word.ours, "").metric is metric]
            fitting = [theirs for theirs in same if self.words[theirs].cutoff != ("never" if cutoff else "must")]
            expressions += [theirs + (self.at_ten[0] + cutoff if cutoff else "") for theirs in fitting[:1]]
        return list(dict.fromkeys(expressions))


_YES_OR_NO: Final = {"true": "true", "false": "false"}
_REL: Final = {"rel": ("rel", dict[str, str]())}
_JUDGED: Final = {"judged_only": ("condensed", _YES_OR_NO)}
_DIVIDED_BY_R: Final = _BINARY | {"recall_base": "relevant"}
_LINEAR: Final = _BINARY | {"gains": "linear"}
_BY_REL: Final = _REL | _JUDGED
_ALPHA: Final = {"alpha": ("alpha", dict[str, str]())}
_ALPHA_AND_BETA: Final = _ALPHA | {"beta": ("p", dict[str, str]())}
_BY_ALPHA: Final = _REL | _ALPHA
_BY_ALPHA_AND_BETA: Final = _REL | _ALPHA_AND_BETA
_OF_USERS: Final = _BINARY | {"T": "1", "n": "1000"}
# Gains are levels divided by max_rel, which must be the collection's highest level.
_HIGHEST: Final = {str(top): ":".join(map(str, range(top, 0, -1))) for top in range(1, 11)}
_BY_TARGET: Final = {"T": ("T", dict[str, str]()), "max_rel": ("gains", _HIGHEST)}
_BY_L_AND_J: Final = _REL | {"condensed": ("condensed", _YES_OR_NO)}  # trec_eval's -l and -J

IR_MEASURES: Final = Vocabulary(
    "ir_measures",
    re.compile(rf"(?P<name>\w+){_ARGUMENTS}(?:@{_NUMBER})?"),
    "@10",
    {
        **dict.fromkeys(("AP", "MAP"), Word("AP", _DIVIDED_BY_R, "may", _BY_REL)),
        **dict.fromkeys(("P", "Precision"), Word("P", _BINARY, "must", _BY_REL)),
        **dict.fromkeys(("R", "Recall"), Word("Recall", _BINARY, "must", _BY_REL)),
        **dict.fromkeys(("Rprec", "RPrec"), Word("Rprec", _BINARY, "never", _BY_REL)),
        **dict.fromkeys(("RR", "MRR"), Word("RR", _BINARY, "may", _BY_REL)),
        **dict.fromkeys(
            ("nDCG", "NDCG"),
            Word("MSnDCG", _LINEAR, "may", _JUDGED | {"dcg": ("gains", {"log2": "linear", "exp-log2": "exp"})}),
        ),
        "ERR": Word("ERR", _BINARY | {"gains": "exp", "stop_scale": "4"}, "must"),
        "Success": Word("Success", _BINARY, "must", _BY_REL),
        **dict.fromkeys(("Bpref", "BPref"), Word("bpref", _BINARY, "never", _REL)),
        "infAP": Word("infAP", _BINARY, "never", _REL),
        "Judged": Word("Judged", _BINARY, "may"),
        "SetP": Word("setP", _BINARY, "never", _BY_REL),
        "SetRelP": Word("setRelP", _BINARY, "never", _BY_REL),
        "SetR": Word("setRecall", _BINARY, "never", _REL),
        # Its beta is trec_eval's weight, which is not squared.
        "SetF": Word("setF", _BINARY | {"weight": "1"}, "never", _BY_REL | {"beta": ("weight", {})}),
        "SetAP": Word("setAP", _BINARY, "never", _BY_REL),
        "IPrec": Word("IPrec", _BINARY | {"rounding": "trec_eval9"}, "must", _BY_REL, number="recall"),
        # Without rel, ir_measures takes another program, which multiplies by levels, so that scores may exceed 1.
        "RBP": Word("RBP", _BINARY | {"gains": "flat", "p": "0.8"}, "never", _REL | {"p": ("p", {})}, needs="rel=1"),
        "INST": Word("INST", _OF_USERS, "never", _BY_TARGET, needs="max_rel=3"),
        "INSQ": Word("INSQ", _OF_USERS, "never", _BY_TARGET, needs="max_rel=3"),
        **dict.fromkeys(("alpha_nDCG", "α_nDCG"), Word("alphanDCG", _NOVEL, "must", _BY_ALPHA)),
        **dict.fromkeys(("alpha_DCG", "α_DCG"), Word("alphaDCG", _NOVEL, "must", _BY_ALPHA)),
        "NRBP": Word("NRBP", _NOVEL | {"p": "0.5"}, "never", _BY_ALPHA_AND_BETA),
        "nNRBP": Word("nNRBP", _NOVEL | {"p": "0.5"}, "never", _BY_ALPHA_AND_BETA),
        "ERR_IA": Word("ERRIA", _NOVEL | {"form": "ndeval"}, "must", _REL),
        "nERR_IA": Word("nERRIA", _NOVEL, "must", _REL),
        "StRecall": Word("Irec", _READ | {"intents": "relevant"}, "must", _REL),
        "P_IA": Word("P", _EQUAL, "must", _REL),
        **dict.fromkeys(("AP_IA", "MAP_IA"), Word("AP", _DIVIDED_BY_R | _EQUAL, "never", _REL)),
    },
    {
        "BPM": "INST(max_rel=3)",
        **dict.fromkeys(("NERR8", "NERR9", "NERR10", "NERR11"), "ERR@10"),
        **dict.fromkeys(("SDCG", "Compat"), "nDCG@10"),
        # Counts, and what is not retrieval.
        "Accuracy": "RR",
        "NumRet": "the field `retrieved` of a run",
        **dict.fromkeys(("NumRel", "NumRelRet"), "SetR, the share of the relevant documents that is retrieved"),
        "NumQ": "the field `topics_scored` of each answer",
    },
)
TREC_EVAL: Final = Vocabulary(
    "trec_eval",
    re.compile(rf"(?P<name>\w+?)(?:[_.]{_NUMBER})?{_ARGUMENTS}"),
    "_10",
    {
        "map": Word("AP", _DIVIDED_BY_R, "never", _BY_L_AND_J),
        "gm_map": Word("AP", _DIVIDED_BY_R | {"mean": "geometric"}, "never", _BY_L_AND_J),
        "map_cut": Word("AP", _DIVIDED_BY_R, "must", _BY_L_AND_J),
        "P": Word("P", _BINARY, "must", _BY_L_AND_J),
        "recall": Word("Recall", _BINARY, "must", _BY_L_AND_J),
        "Rprec": Word("Rprec", _BINARY, "never", _BY_L_AND_J),
        "recip_rank": Word("RR", _BINARY, "never", _BY_L_AND_J),
        "ndcg": Word("MSnDCG", _LINEAR, "never", {"condensed": ("condensed", _YES_OR_NO)}),
        "ndcg_cut": Word("MSnDCG", _LINEAR, "must", {"condensed": ("condensed", _YES_OR_NO)}),
        "success": Word("Success", _BINARY, "must", _BY_L_AND_J),
        "bpref": Word("bpref", _BINARY, "never", _BY_L_AND_J),
        "gm_bpref": Word("bpref", _BINARY | {"mean": "geometric"}, "never", _BY_L_AND_J),
        "infAP": Word("infAP", _BINARY, "never", _BY_L_AND_J),
        "iprec_at_recall": Word("IPrec", _BINARY | {"rounding": "nearest"}, "must", _BY_L_AND_J, number="recall"),
        "11pt_avg": Word("AP11pt", _BINARY | {"rounding": "nearest"}, "never", _BY_L_AND_J),
        "Rprec_mult": Word("RprecMult", _BINARY, "must", _BY_L_AND_J, number="multiple"),
        "relative_P": Word("relP", _BINARY, "must", _BY_L_AND_J),
        "binG": Word("binG", _BINARY, "never", _BY_L_AND_J),
        "G": Word("G", _LINEAR, "never", {"condensed": ("condensed", _YES_OR_NO)}),
        "ndcg_rel": Word("nDCGrel", _LINEAR, "never", {"condensed": ("condensed", _YES_OR_NO)}),
        "Rndcg": Word("RnDCG", _LINEAR, "never", {"condensed": ("condensed", _YES_OR_NO)}),
        "set_P": Word("setP", _BINARY, "never", _BY_L_AND_J),
        "set_relative_P": Word("setRelP", _BINARY, "never", _BY_L_AND_J),
        "set_recall": Word("setRecall", _BINARY, "never", _BY_L_AND_J),
        "set_map": Word("setAP", _BINARY, "never", _BY_L_AND_J),
        "set_F": Word("setF", _BINARY | {"weight": "1"}, "may", _BY_L_AND_J, number="weight"),
        "unj": Word("Unjudged", _BINARY, "must"),
    },
    {
        "num_ret": "the field `retrieved` of a run",
        **dict.fromkeys(("num_rel", "num_rel_ret"), "set_recall, the share of relevant documents that is retrieved"),
        **dict.fromkeys(("num_nonrel_judged_ret", "utility"), "set_P"),
        "num_q": "the field `topics_scored` of each answer",
        "official": "the preset trec_eval of Gainboard",
        **dict.fromkeys(("set", "all_trec", "relstring", "runid"), "the command `gainboard trec_eval`"),
        "rbp": "the metric RBP of Gainboard",
        "rbp_resid": "the metric RBPresidual of Gainboard",
    },
)

_J: Final = {"j": ("condensed", _YES_OR_NO)}
_BETA: Final = _J | {"beta": ("beta", dict[str, str]())}
_GAMMA: Final = _J | {"gamma": ("gamma", dict[str, str]())}
_BY_BETA: Final = _BINARY | {"beta": "1"}
_EVERY_INTENT: Final = _READ | {"intents": "all"}
NTCIREVAL: Final = Vocabulary(
    "ntcireval",
    # It prints cut-offs as in nDCG@0010. The names of the program in Python are without hyphens.
    re.compile(rf"(?P<name>\w+#?(?:[-,]\w+)?){_ARGUMENTS}(?:@0*{_CUTOFF})?"),
    "@10",
    {
        "RR": Word("RR", _BINARY, "never", _J),
        **dict.fromkeys(("O-measure", "OMeasure"), Word("O-measure", _BY_BETA, "never", _BETA)),
        **dict.fromkeys(("P-measure", "PMeasure"), Word("P-measure", _BY_BETA, "never", _BETA)),
        **dict.fromkeys(("P-plus", "PPlusMeasure"), Word("Pplus", _BY_BETA, "never", _BETA)),
        "AP": Word("AP", _DIVIDED_BY_R, "may", _J, cut={"recall_base": "cutoff"}),
        **dict.fromkeys(
            ("Q-measure", "Q", "QMeasure"),
            Word("Q", _BY_BETA | _DIVIDED_BY_R, "may", _BETA, cut={"recall_base": "cutoff"}),
        ),
        "NCUguP": Word("NCUguP", _BINARY, "never", _J),
        "NCUguBR": Word("NCUguBR", _BY_BETA, "never", _BETA),
        **dict.fromkeys(("NCUrbP", "NCUrb,P"), Word("NCUrbP", _BINARY | {"gamma": "0.95"}, "may", _GAMMA)),
        **dict.fromkeys(("NCUrbBR", "NCUrb,BR"), Word("NCUrbBR", _BY_BETA | {"gamma": "0.95"}, "may", _BETA | _GAMMA)),
        "RBP": Word("RBP", _BINARY | {"p": "0.95"}, "may", _J | {"rbp": ("p", {})}),
        "ERR": Word("ERR", _BINARY, "may", _J),
        "nERR": Word("nERR", _BINARY, "must", _J),
        "nDCG": Word("nDCG", _BINARY | {"base": "2"}, "must", _J | {"logb": ("base", {})}),
        "MSnDCG": Word("MSnDCG", _BINARY, "must", _J),
        **dict.fromkeys(("P", "Prec", "Precision"), Word("P", _BINARY, "must", _J)),
        "Hit": Word("Success", _BINARY, "must", _J),
        # These are in the program in C only.
        "bpref": Word("bpref", _BINARY, "never", _J),
        "NCUrb,IE": Word("NCUrbIE", _BINARY | {"p": "0.99", "gamma": "0.95"}, "may", _GAMMA),
        "nRBP": Word("nRBP", _BINARY | {"p": "0.95"}, "must", _J | {"rbp": ("p", {})}),
        "EBR": Word("EBR", _BY_BETA, "may", _BETA),
        "nEBR": Word("nEBR", _BY_BETA, "must", _BETA),
        "iRBU": Word("iRBU", _BINARY | {"p": "0.99"}, "may", _J),
        "niRBU": Word("niRBU", _BINARY | {"p": "0.99"}, "must", _J),
        "I-rec": Word("Irec", _EVERY_INTENT, "must", _J),
        "D-nDCG": Word("DnDCG", _READ, "must", _J),
        "D-Q": Word("DQ", _READ | {"beta": "1"}, "must", _BETA),
        "D#-nDCG": Word("DsharpnDCG", _EVERY_INTENT | {"gamma": "0.5"}, "must", _J),
        "D#-Q": Word("DsharpQ", _EVERY_INTENT | {"beta": "1", "gamma": "0.5"}, "must", _BETA),
    },
    {},
    # The gains (-g) are always given; the stops (-s) and the scale of ERR follow from them.
    told=frozenset(("gains", "stops", "stop_scale")),
)


NDEVAL: Final = Vocabulary(
    "ndeval",
    re.compile(rf"(?P<name>\w+(?:-\w+)?){_ARGUMENTS}(?:@{_CUTOFF})?"),
    "@10",
    {
        "ERR-IA": Word("ERRIA", _NOVEL | {"form": "ndeval"}, "must", _ALPHA),
        "nERR-IA": Word("nERRIA", _NOVEL, "must", _ALPHA),
        "alpha-DCG": Word("alphaDCG", _NOVEL, "must", _ALPHA),
        "alpha-nDCG": Word("alphanDCG", _NOVEL, "must", _ALPHA),
        "NRBP": Word("NRBP", _NOVEL | {"p": "0.5"}, "never", _ALPHA_AND_BETA),
        "nNRBP": Word("nNRBP", _NOVEL | {"p": "0.5"}, "never", _ALPHA_AND_BETA),
        "MAP-IA": Word("AP", _DIVIDED_BY_R | _EQUAL, "never"),
        "P-IA": Word("P", _EQUAL, "must"),
        "strec": Word("Irec", _READ | {"intents": "relevant"}, "must"),
    },
    {},
)


def translate(expression: str, names: Names) -> str:
    """Return our expression for one that uses the names of a tool. Raises BadExpression."""
    return expression if names == "gainboard" else VOCABULARIES[names].translate(expression)


VOCABULARIES: Final[Mapping[Names | None, Vocabulary]] = {
    vocabulary.tool: vocabulary for vocabulary in (IR_MEASURES, TREC_EVAL, NTCIREVAL, NDEVAL)
}
