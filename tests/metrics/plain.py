"""The definitions as plain loops over one topic, slow and close to the page: what the kernels must agree with."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

from scipy.special import polygamma


@dataclass
class Topic:
    """One ranking of one topic. Levels of retrieved documents are None where the qrels do not mention them."""

    judged: Sequence[int]
    retrieved: Sequence[int | None]
    scores: Sequence[float]
    ratio: Sequence[float]
    """Gains of levels 1 to h."""
    adjust: bool = False
    rel: int = 1
    condensed: bool = False
    ideal: list[float] = field(init=False)

    def __post_init__(self):
        if self.condensed:
            kept = [(x, s) for x, s in zip(self.retrieved, self.scores, strict=True) if x is not None]
            self.retrieved, self.scores = [x for x, _ in kept], [s for _, s in kept]
        self.R = sum(level >= self.rel for level in self.judged)
        self.gains = {level: self.gain_of(level) for level in range(-127, len(self.ratio) + 1)}
        self.ideal = sorted((self.gains[level] for level in self.judged if level >= self.rel), reverse=True)

    def gain_of(self, level):
        if level < self.rel:
            return 0.0
        gain = self.ratio[level - 1]
        of_level = sum(judged == level for judged in self.judged)
        if not self.adjust or not self.R or of_level == self.R:
            return gain
        below = self.ratio[level - 2] if level > self.rel else 0.0
        return gain - of_level / self.R * (gain - below)

    def cut(self, cutoff):
        """The ranks 1..L, or 1..min(l, L)."""
        length = len(self.retrieved)
        return range(1, (length if cutoff is None else min(cutoff, length)) + 1)

    def isrel(self, r):
        level = self.retrieved[r - 1] if r <= len(self.retrieved) else None
        return int(level is not None and level >= self.rel)

    def g(self, r):
        level = self.retrieved[r - 1] if r <= len(self.retrieved) else None
        return 0.0 if level is None else self.gains[level]

    def g_ideal(self, r):
        return self.ideal[r - 1] if r <= len(self.ideal) else 0.0

    def count(self, r):
        return sum(self.isrel(i) for i in range(1, r + 1))

    def cg(self, r):
        return sum(self.g(i) for i in range(1, r + 1))

    def cg_ideal(self, r):
        return sum(self.g_ideal(i) for i in range(1, r + 1))

    def blended(self, r, beta):
        return (beta * self.cg(r) + self.count(r)) / (beta * self.cg_ideal(r) + r)

    def relevant_ranks(self, cutoff):
        return [r for r in self.cut(cutoff) if self.isrel(r)]

    def preferred_rank(self, cutoff):
        ranks = self.relevant_ranks(cutoff)
        return min(ranks, key=lambda r: (-(self.retrieved[r - 1] or 0), r), default=0)

    def base(self, recall_base, cutoff):
        return min(cutoff, self.R) if recall_base == "cutoff" and cutoff else self.R


DEFINITIONS = {}


def define(name):
    return lambda definition: DEFINITIONS.setdefault(name, definition)


def discount(a, i):
    return 1.0 if i <= a else 1.0 / math.log(i, a)


def microsoft(i):
    return 1.0 / math.log2(i + 1)


def discounted(gain, weight, upto):
    return sum(gain(i) * weight(i) for i in range(1, upto + 1))


@define("AP")
def ap(t, cutoff, recall_base):
    return sum(t.count(r) / r for r in t.relevant_ranks(cutoff)) / t.base(recall_base, cutoff)


@define("Rprec")
def rprec(t):
    return t.count(t.R) / t.R


@define("P")
def p(t, cutoff):
    return t.count(cutoff) / cutoff


@define("Recall")
def recall(t, cutoff):
    return t.count(cutoff) / t.R


@define("Success")
def success(t, cutoff):
    return float(t.count(cutoff) >= 1)


@define("RR")
def rr(t, cutoff):
    return next((1.0 / r for r in t.relevant_ranks(cutoff)), 0.0)


@define("Q")
def q(t, cutoff, beta, recall_base):
    return sum(t.blended(r, beta) for r in t.relevant_ranks(cutoff)) / t.base(recall_base, cutoff)


@define("Rmeasure")
def rmeasure(t, beta):
    return t.blended(t.R, beta)


@define("AWP")
def awp(t, cutoff):
    return sum(t.cg(r) / t.cg_ideal(r) for r in t.relevant_ranks(cutoff)) / t.R


@define("RWP")
def rwp(t):
    return t.cg(t.R) / t.cg_ideal(t.R)


@define("genAP")
def genap(t, cutoff):
    ideal = sum(t.cg_ideal(r) / r for r in range(1, t.R + 1))
    return sum(t.cg(r) / r for r in t.relevant_ranks(cutoff)) / ideal


@define("genP")
def genp(t, cutoff):
    return t.cg(cutoff) / cutoff


@define("CG")
def cg(t, cutoff):
    return t.cg(cutoff)


@define("DCG")
def dcg(t, cutoff, base):
    return discounted(t.g, lambda i: discount(base, i), cutoff)


@define("ACG")
def acg(t, cutoff):
    return sum(cg(t, r) for r in range(1, cutoff + 1)) / cutoff


@define("ADCG")
def adcg(t, cutoff, base):
    return sum(dcg(t, r, base) for r in range(1, cutoff + 1)) / cutoff


@define("nCG")
def ncg(t, cutoff):
    return t.cg(cutoff) / t.cg_ideal(cutoff)


@define("nDCG")
def ndcg(t, cutoff, base):
    return dcg(t, cutoff, base) / discounted(t.g_ideal, lambda i: discount(base, i), cutoff)


@define("AnCG")
def ancg(t, cutoff):
    return sum(ncg(t, r) for r in range(1, cutoff + 1)) / cutoff


@define("AnDCG")
def andcg(t, cutoff, base):
    return sum(ndcg(t, r, base) for r in range(1, cutoff + 1)) / cutoff


@define("MSnDCG")
def msndcg(t, cutoff):
    return discounted(t.g, microsoft, cutoff) / discounted(t.g_ideal, microsoft, cutoff)


@define("WRR")
def wrr(t, cutoff, b):
    penalty = [math.inf, *reversed(b)]
    ranks = t.relevant_ranks(cutoff)
    return 1 / (ranks[0] - 1 / penalty[t.retrieved[ranks[0] - 1] or 0]) if ranks else 0.0


@define("NWRR")
def nwrr(t, cutoff, b):
    return wrr(t, cutoff, b) * (1 - 1 / [math.inf, *reversed(b)][max(t.judged)])


@define("O-measure")
def o_measure(t, cutoff, beta):
    return next((t.blended(r, beta) for r in t.relevant_ranks(cutoff)), 0.0)


@define("P-measure")
def p_measure(t, cutoff, beta):
    preferred = t.preferred_rank(cutoff)
    return t.blended(preferred, beta) if preferred else 0.0


@define("Pplus")
def p_plus(t, cutoff, beta):
    ratios = [t.blended(r, beta) for r in t.relevant_ranks(t.preferred_rank(cutoff))]
    return sum(ratios) / len(ratios) if ratios else 0.0


@define("ERR")
def err(t, cutoff, stop_scale):
    total, goes_on = 0.0, 1.0
    for r in t.cut(cutoff):
        stops = t.g(r) / (t.ratio[stop_scale - 1] + 1)
        total += goes_on * stops / r
        goes_on *= 1 - stops
    return total


@define("nERR")
def nerr(t, cutoff, stop_scale):
    return err(t, cutoff, stop_scale) / ideal_stopping(t, cutoff, lambda r: 1 / r, stop_scale)


def ideal_stopping(t, cutoff, weight, stop_scale=0):
    """The expected weight of the rank at which a user stops in the ideal ranking."""
    total, goes_on = 0.0, 1.0
    for r in range(1, (t.R if cutoff is None else cutoff) + 1):
        stops = t.g_ideal(r) / (t.ratio[stop_scale - 1] + 1)
        total += goes_on * stops * weight(r)
        goes_on *= 1 - stops
    return total


def stopping(t, r):
    """The probability that a user stops at rank r."""
    probability = t.g(r) / (t.ratio[-1] + 1)
    for above in range(1, r):
        probability *= 1 - t.g(above) / (t.ratio[-1] + 1)
    return probability


@define("iRBU")
def irbu(t, cutoff, p):
    return sum(p**r * stopping(t, r) for r in t.cut(cutoff))


@define("EBR")
def ebr(t, cutoff, beta):
    return sum(stopping(t, r) * t.blended(r, beta) for r in t.relevant_ranks(cutoff))


@define("niRBU")
def nirbu(t, cutoff, p):
    return irbu(t, cutoff, p) / ideal_stopping(t, cutoff, lambda r: p**r)


@define("nEBR")
def nebr(t, cutoff, beta):
    return ebr(t, cutoff, beta) / ideal_stopping(t, cutoff, lambda r: 1)


@define("RBP")
def rbp(t, cutoff, p):
    return (1 - p) / t.ratio[-1] * sum(t.g(r) * p ** (r - 1) for r in t.cut(cutoff))


def expected_utility(t, go_on, gain):
    """The gain of the ranks over their number, each times the probability that it is read. Both take i, g and total."""
    reached, total, gained, read = 1.0, 0.0, 0.0, 0.0
    for i in range(1, 1001):
        g = t.g(i) / t.ratio[-1]
        total += g
        gained, read = gained + reached * gain(i, g, total), read + reached
        reached *= go_on(i, g, total)
    return gained, read, reached, total


def rational(t, n, x):
    """The utility of users who go on with probability ((x-1)/x)^2, of i and total; x grows by 1 a rank at the end."""
    go_on = lambda i, g, total: ((x(i, total) - 1) / x(i, total)) ** 2  # noqa: E731
    gained, read, left, total = expected_utility(t, go_on, lambda i, g, total: g)
    end = x(1000, total)
    return gained / (read + (left * end**2 * float(polygamma(1, end)) if n == "inf" else 0.0))


@define("INST")
def inst(t, T, n):
    return rational(t, n, lambda i, total: i + 2 * T - total)


@define("INSQ")
def insq(t, T, n):
    return rational(t, n, lambda i, total: i + 2 * T)


@define("CWL")
def cwl(t, C, gain, T):
    def read(text):
        code = compile(text, text, "eval")
        functions = {"min": min, "max": max, "exp": math.exp, "sqrt": math.sqrt, "T": T}
        return lambda i, g, total: min(max(eval(code, functions, {"i": i, "g": g, "total": total}), 0.0), 1.0)

    gained, seen, _, _ = expected_utility(t, read(C), read(gain))
    return gained / seen


@define("nRBP")
def nrbp(t, cutoff, p):
    ideal = sum(t.g_ideal(r) * p ** (r - 1) for r in range(1, (t.R if cutoff is None else cutoff) + 1))
    return sum(t.g(r) * p ** (r - 1) for r in t.cut(cutoff)) / ideal


@define("RBPresidual")
def rbp_residual(t, cutoff, p):
    unjudged = sum(p ** (r - 1) for r in t.cut(cutoff) if t.retrieved[r - 1] is None)
    return p ** len(t.cut(cutoff)) + (1 - p) * unjudged


@define("Judged")
def judged(t, cutoff):
    ranks = t.cut(cutoff)
    return sum(t.retrieved[r - 1] is not None for r in ranks) / len(ranks) if ranks else 0.0


@define("Unjudged")
def unjudged(t, cutoff):
    return sum(t.retrieved[r - 1] is None for r in t.cut(cutoff)) / cutoff


def found(t):
    return t.count(len(t.retrieved))


@define("setP")
def set_p(t):
    return found(t) / len(t.retrieved) if t.retrieved else 0.0


@define("setRecall")
def set_recall(t):
    return found(t) / t.R


@define("setF")
def set_f(t, weight):
    precision, share = set_p(t), set_recall(t)
    return (weight + 1) * precision * share / (weight * precision + share) if found(t) else 0.0


@define("setAP")
def set_ap(t):
    return set_p(t) * set_recall(t)


@define("setRelP")
def set_relative_p(t):
    return found(t) / min(len(t.retrieved), t.R) if t.retrieved else 0.0


@define("relP")
def relative_p(t, cutoff):
    return t.count(cutoff) / min(cutoff, t.R)


@define("IPrec")
def interpolated_precision(t, recall, rounding):
    documents = {
        "up": math.ceil(recall * t.R - 1e-9),
        "nearest": math.floor(recall * t.R + 0.5),
        "trec_eval9": int(recall * t.R + 0.9),
    }
    needed = max(1, documents[rounding])
    return max((t.count(r) / r for r in t.cut(None) if t.count(r) >= needed), default=0.0)


@define("AP11pt")
def eleven_points(t, rounding):
    return sum(interpolated_precision(t, tenth / 10, rounding) for tenth in range(11)) / 11


@define("RprecMult")
def rprec_multiple(t, multiple):
    rank = int(multiple * t.R + 0.9)
    return t.count(rank) / rank if rank else 0.0


@define("binG")
def bin_g(t):
    above = [sum(not t.isrel(i) for i in range(1, r)) for r in t.relevant_ranks(None)]
    return sum(1 / math.log2(2 + each) for each in above) / t.R


@define("G")
def g(t):
    cost = [sum(max(1.0, t.g_ideal(i)) for i in range(1, r + 1)) for r in range(len(t.retrieved) + 1)]
    return sum(t.g(r) / math.log2(2 + cost[r] - t.cg(r)) for r in t.relevant_ranks(None)) / sum(t.ideal)


def msndcg_at(t, r):
    return discounted(t.g, microsoft, r) / discounted(t.g_ideal, microsoft, r)


@define("nDCGrel")
def ndcg_rel(t):
    ranks = t.relevant_ranks(None)
    missed = (t.R - len(ranks)) * discounted(t.g, microsoft, len(t.retrieved)) / discounted(t.g_ideal, microsoft, t.R)
    return (sum(msndcg_at(t, r) for r in ranks) + missed) / t.R


@define("RnDCG")
def rndcg(t):
    ranks = [r for r in range(1, t.R + 1) if t.g_ideal(r) > t.g_ideal(r + 1)]
    return statistics.mean(
        msndcg_at(t, r) for r in (*ranks, *([len(t.retrieved)] if len(t.retrieved) > t.R + 1 else []))
    )


def nonrelevant(t, levels):
    return sum(level is not None and 0 <= level < t.rel for level in levels)


@define("bpref")
def bpref(t):
    total = 0.0
    for r in t.relevant_ranks(None):
        above = nonrelevant(t, t.retrieved[: r - 1])
        total += 1 - min(above, t.R) / min(nonrelevant(t, t.judged), t.R) if above else 1.0
    return total / t.R


@define("infAP")
def infap(t):
    total, e = 0.0, 1e-5
    for k in t.relevant_ranks(None):
        a, b = t.count(k - 1), nonrelevant(t, t.retrieved[: k - 1])
        u = sum(level is not None and level < 0 for level in t.retrieved[: k - 1])
        total += 1.0 if k == 1 else 1 / k + (k - 1) / k * (a + b + u) / (k - 1) * (a + e) / (a + b + 2 * e)
    return total / t.R


def graded_uniform(t, stops, r):
    """The share of users who stop at the relevant document at rank r."""
    of_level = t.gains if stops is None else Topic(t.judged, [], [], stops.values, stops.adjusted, t.rel).gains
    return of_level[t.retrieved[r - 1] or 0] / sum(of_level[level] for level in t.judged if level >= t.rel)


@define("NCUguP")
def ncu_gu_p(t, stops):
    return sum(graded_uniform(t, stops, r) * t.count(r) / r for r in t.relevant_ranks(None))


@define("NCUguBR")
def ncu_gu_br(t, stops, beta):
    return sum(graded_uniform(t, stops, r) * t.blended(r, beta) for r in t.relevant_ranks(None))


def ncu_rb(t, gamma, cutoff, utility):
    weights = sum(gamma**j for j in range(t.R)) if cutoff is None else min(cutoff, t.R)
    return sum(gamma ** (t.count(r) - 1) * utility(r) for r in t.relevant_ranks(cutoff)) / weights


@define("NCUrbP")
def ncu_rb_p(t, gamma, cutoff):
    return ncu_rb(t, gamma, cutoff, lambda r: t.count(r) / r)


@define("NCUrbBR")
def ncu_rb_br(t, gamma, beta, cutoff):
    return ncu_rb(t, gamma, cutoff, lambda r: t.blended(r, beta))


@define("NCUrbIE")
def ncu_rb_ie(t, gamma, p, cutoff):
    return ncu_rb(t, gamma, cutoff, lambda r: p**r)


@define("ADM")
def adm(t, urs, srs):
    low, high = min(t.scores, default=0.0), max(t.scores, default=0.0)
    unit = 1.0 if urs == "raw" else t.ratio[-1]

    def system(value):
        return value if srs == "raw" else (value - low) / (high - low) if high > low else 1.0

    retrieved = list(zip(t.retrieved, t.scores, strict=True))
    missed = list(t.judged)
    for level in t.retrieved:
        if level is not None:
            missed.remove(level)
    distances = [abs((0.0 if x is None else t.gains[x]) / unit - system(s)) for x, s in retrieved]
    distances += [t.gains[level] / unit for level in missed]
    return 1 - sum(distances) / len(distances)


def plain_score(name, topic, missing, graded, **parameters):
    """The definition, with the edge cases that hold for every metric."""
    if name != "Judged" and (topic.R == 0 or (graded and not any(topic.ideal))):
        return math.nan
    return float(name == "RBPresidual") if missing else DEFINITIONS[name](topic, **parameters)
