"""Compare texts by what they say: the same, the same more briefly, a part of it, or another thing.

The notion behind all of it is the share of the words of one text that another says, too. Texts
that say all of each other are one value. One that says less stays apart.

- *Words*: case, accents, marks, markdown and leading articles do not count. An initial says its
  word briefly. Words with digits have to be equal, in the same order.
- *People*: a list of persons says a part of a longer list. A surname, or an initial with it, says
  a full name briefly; the order of names, titles, "and", "&" and "et al." do not count.

A brief form that fits several values that differ is none of them: it says a part of each. A word
with a typing error is recognised only where one claim stands against several of another spelling,
because names may differ by a letter.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

AlikeKind = Literal["words", "spellings", "people", "numbers"]
"""Kinds of values that can be alike: free text, free text that is only merged, lists of people,
numbers and dates."""

ALIKE_KINDS: tuple[AlikeKind, ...] = get_args(AlikeKind)

SAME, BRIEF, PART, OTHER = range(4)
"""Relations of a text to another: the same, briefly the same, a part of it, another thing."""

LEADING = frozenset(["a", "an", "the", "is", "are", "was", "were", "be"])
"""Articles and auxiliaries, which say nothing at the beginning of an answer."""

NEGATIONS = frozenset([
    "not", "no", "non", "never", "nor", "neither", "none", "without", "except", "cannot", "cant",
    "dont", "doesnt", "didnt", "isnt", "arent", "wasnt", "werent", "wont", "hasnt", "havent",
])  # fmt: skip

LONG = 5
"""Letters of words in which one edit may be a typing error."""

CLAIMS_AGAINST = 3
"""Fewest claims of a spelling against a single one that differs by a typing error."""

LETTER = r"(?:[^\W_]|[\u0900-\u0963\u0e31-\u0e4e\u0eb1-\u0ece\u0f71-\u109f\u17b4-\u17d3\u3099])"
"""A letter or digit, or a vowel sign of a script whose signs Python does not call letters."""

TOKEN = re.compile(
    rf"(?<!\w)-(?=[\d.])|(?:{LETTER}+(?:[.,:][0-9]+)*)(?:[+#]+|-(?!\w))?"
    r"|[%$€£¥°=<>≈±≤≥\u0338]|!(?=[=\w])"
)
DASH = re.compile(r"[\u2010-\u2015\u2212]")
RAISED = re.compile(r"(?<=\d)(?=[²³¹⁰⁴-⁹⁺⁻¼-¾⅐-⅞])")
"""Place before a power or a fraction, which would become a part of the number."""

MARKDOWN = re.compile(r"[*_`~'\u2018\u2019\u02bc]")
ROLE = re.compile(
    r"[\[(][^\])]*(?:\b(?:author|editor|ed|eds|illustrator|translator)s?\b)[^\])]*[\])]"
)
BETWEEN = re.compile(r"[;/|&\n]|\s-\s|\band\b|\bwith\b")
NO_NAMES = frozenset(
    "et al etc others jr sr dr prof phd md ii iii iv mr mrs ms by author editor eds ed the".split()  # noqa: SIM905
)
PARTICLES = frozenset(
    "von van de der den del della di da la le dos du bin ibn ter ten st".split()  # noqa: SIM905
)


class Words(NamedTuple):
    """The words of a text, in order."""

    words: tuple[str, ...]
    is_turned: bool
    """True if a comma may have turned their order, as in Austen, Jane."""


Person = tuple[str, tuple[str, ...]]
"""Surname, and given names as initials or in full."""


def folded(text: str) -> str:
    """Return text without case, accents and markdown.

    >>> folded("**Zoë** O'Hara")
    'zoe ohara'
    """
    plain = text.casefold()
    if not plain.isascii():
        plain = unicodedata.normalize("NFKD", RAISED.sub(" ", plain)).casefold()
        # classes below 10 make another letter of a letter, such as the marks of voiced kana
        plain = "".join(sign for sign in plain if unicodedata.combining(sign) < 10)
        plain = DASH.sub("-", plain)
    return MARKDOWN.sub("", plain)


@lru_cache(maxsize=1 << 17)
def words_of(text: str, carriers: frozenset[str] = frozenset()) -> Words:
    """Return the words of a text, without leading ones that say nothing.

    >>> words_of("The capital is **Paris**.", frozenset({"capital"})).words
    ('paris',)
    >>> words_of("C++").words, words_of("the").words, words_of("-5 °C").words
    (('c++',), ('the',), ('-', '5', '°', 'c'))
    """
    words = TOKEN.findall(folded(text))
    first = 0
    while first < len(words) - 1 and (words[first] in LEADING or words[first] in carriers):
        first += 1
    return Words(tuple(words[first:]), "," in text)


@lru_cache(maxsize=1 << 17)
def people_of(text: str) -> tuple[Person, ...]:
    """Return the persons that a text lists, each once, in alphabetical order.

    >>> people_of("Knuth, Donald E.")
    (('knuth', ('donald', 'e')),)
    >>> [surname for surname, _ in people_of("SCAMBRAY, JOEL MCCLURE, STUART")]
    ['mcclure', 'scambray']
    >>> people_of("Ann Lee, Bo Lee & Cy Fox et al., A. Lee")
    (('fox', ('cy',)), ('lee', ('ann',)), ('lee', ('bo',)))
    """
    found: list[Person] = []
    listed = BETWEEN.sub(";", ROLE.sub(";", folded(text))).replace("-", "")
    for chunk in listed.split(";"):
        names = [_names(piece) for piece in chunk.split(",")]
        found += _persons([piece for piece in names if piece])
    persons: list[Person] = []
    for surname, given in sorted(found, key=lambda one: -sum(map(len, one[1]))):
        if not any(name == surname and _are_compatible(given, of) for name, of in persons):
            persons.append((surname, given))
    return tuple(sorted(persons))


def _names(piece: str) -> list[str]:
    return [word for word in re.findall(r"[^\W\d_]+", piece) if word not in NO_NAMES]


def _persons(pieces: list[list[str]]) -> Iterable[Person]:
    """Yield surname and given names of the persons in the pieces between commas."""
    if len(pieces) == 1 or all(_is_full(piece) for piece in pieces):
        for piece in pieces:  # Ann Lee, Bo Ek
            first = len(piece) - 1
            while first > 1 and piece[first - 1] in PARTICLES:
                first -= 1
            yield "".join(piece[first:]), tuple(piece[:first])
    elif len(pieces) % 2 and all(len(piece) > 1 for piece in pieces[1:-1]):
        surname = pieces[0]  # Lee, Ann Ek, Bo
        for piece in pieces[1:-1]:
            yield "".join(surname), tuple(piece[:-1])
            surname = piece[-1:]
        yield "".join(surname), tuple(pieces[-1])
    else:  # Lee, Ann, Ek, Bo
        for place in range(0, len(pieces), 2):
            given = pieces[place + 1] if place + 1 < len(pieces) else []
            yield "".join(pieces[place]), tuple(given)


def _is_full(piece: list[str]) -> bool:
    """Return True for given names with a surname, which is no initial, as in `Lee, Ann B.`."""
    return len(piece) > 1 and len(piece[-1]) > 1 and piece[0] not in PARTICLES


# --- two texts ------------------------------------------------------------------------------------


def relate_words(one: Words, other: Words) -> int:  # noqa: PLR0911 - one case after the other
    """Return the relation of a text to another, by their words.

    >>> relate = lambda one, other: relate_words(words_of(one), words_of(other))
    >>> relate("J. Austen", "Jane Austen") == BRIEF, relate("Milan", "Milan, Italy") == PART
    (True, True)
    >>> relate("Gate 1", "Gate 11") == OTHER, relate("Austen, Jane", "jane austen") == SAME
    (True, True)
    """
    if one.words == other.words:
        return SAME
    if len(one.words) == len(other.words):
        if one.is_turned != other.is_turned and not _has_digits(one.words):
            if sorted(one.words) == sorted(other.words):
                return SAME
            turned = one.words[-1:] + one.words[:-1] if one.is_turned else one.words
            beside = other.words[-1:] + other.words[:-1] if other.is_turned else other.words
            return _briefly(turned, beside)
        return _briefly(one.words, other.words)
    if len(one.words) > len(other.words) or not any(map(_tells, one.words)):
        return OTHER
    left = list(other.words)
    for word in one.words:
        if word not in left:
            return OTHER
        left.remove(word)
    return OTHER if NEGATIONS.intersection(left) else PART


def _briefly(one: Sequence[str], other: Sequence[str]) -> int:
    is_full = False
    for word, beside in zip(one, other, strict=True):
        if word == beside:
            is_full |= _tells(word)
        elif len(word) != 1 or beside[0] != word or _has_digits([word, beside]):
            return OTHER
    return BRIEF if is_full else OTHER


def _tells(word: str) -> bool:
    """Return True for words that are no numbers and no single letters."""
    return len(word) > 1 and word[0].isalpha()


def _has_digits(words: Iterable[str]) -> bool:
    """Return True if a word has a sign that is no letter, or is a Roman numeral such as II."""
    return any(not word.isalpha() or (len(word) > 1 and set(word) <= set("ivx")) for word in words)


def relate_people(one: Sequence[Person], other: Sequence[Person]) -> int:
    """Return the relation of a list of persons to another.

    >>> relate = lambda one, other: relate_people(people_of(one), people_of(other))
    >>> relate("Hutton", "Hutton, David V.") == BRIEF, relate("Ann Lee", "Lee, Bo") == OTHER
    (True, True)
    >>> relate("A. Lee", "Bo Ek; Ann Lee") == PART
    True
    """
    if not one or len(one) > len(other):
        return OTHER
    relation, left = SAME if len(one) == len(other) else PART, list(other)
    for surname, given in one:
        fits = [own for own in left if own[0] == surname and _are_compatible(given, own[1])]
        if not fits:
            return OTHER
        left.remove(max(fits, key=lambda own: own[1] == given))
        if relation == SAME and (surname, given) not in fits:
            relation = BRIEF
    return relation


def _are_compatible(given: tuple[str, ...], beside: tuple[str, ...]) -> bool:
    """Return True if each of the fewer given names shortens one of the others, or is shortened.

    So G. and Greg do Gregory. A name that lacks one letter is another one: Jan, Jane.
    """
    fewer, more = sorted((given, beside), key=len)
    return all(
        any(a == b or (b.startswith(a) and (len(a) == 1 or len(b) > len(a) + 1))
            for a, b in (sorted((own, other), key=len) for other in more))
        for own in fewer
    )  # fmt: skip


def is_typo(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return True if words differ by a typing error in one long word without digits.

    First letters have to be equal: Gambia is not Zambia, and atypical not typical.

    >>> is_typo(["jane", "austin"], ["jane", "austen"]), is_typo(["gate1"], ["gate2"])
    (True, False)
    """
    if len(one) != len(other):
        return False
    differing = [pair for pair in zip(one, other, strict=True) if pair[0] != pair[1]]
    if len(differing) != 1 or _has_digits(differing[0]):
        return False
    if differing[0][0][0] != differing[0][1][0] or min(map(len, differing[0])) < LONG:
        return False
    from rapidfuzz.distance import OSA  # noqa: PLC0415 - loaded where text is compared

    return OSA.distance(*differing[0], score_cutoff=1) <= 1


# --- the values of an item ------------------------------------------------------------------------


class Groups(NamedTuple):
    """Values of an item that mean the same, and pairs of groups of which one says less."""

    group: list[int]
    """The group of each value: the position of one of its values."""
    parts: list[tuple[int, int]]
    """Groups that say less, each with the group that says all."""
    rank: list[int]
    """The place of each value among all, the fullest and plainest spelling first."""


Compared = tuple[Sequence[Sequence[str]], Callable[[int, int], int]]
"""Words of some texts, and the function that relates two of them."""


def compare_words(texts: Sequence[str], carriers: frozenset[str]) -> Compared:
    """Return the words of texts, and the function that relates two of them."""
    parsed = [words_of(text, carriers) for text in texts]
    return [one.words for one in parsed], lambda a, b: relate_words(parsed[a], parsed[b])


def compare_people(texts: Sequence[str], carriers: frozenset[str]) -> Compared:
    """Return the names in texts, and the function that relates two of them."""
    parsed = [people_of(text) for text in texts]
    names = [[word for surname, given in one for word in (*given, surname)] for one in parsed]
    return names, lambda a, b: relate_people(parsed[a], parsed[b])


def groups_of(
    kind: AlikeKind, texts: Sequence[str], n_claims: Sequence[float], carriers: frozenset[str]
) -> Groups:
    """Group the values of an item by what they say, the fullest first.

    >>> texts = ["Ann Lee", "Lee, Ann", "A. Lee", "Ann Lee; Bo Ek", "Lee"]
    >>> groups_of("people", texts, [2, 1, 1, 1, 1], frozenset())
    Groups(group=[0, 0, 0, 3, 0], parts=[(0, 3)], rank=[1, 2, 3, 0, 4])
    """
    words, relate = (compare_people if kind == "people" else compare_words)(texts, carriers)
    group = list(range(len(texts)))
    order = _some_alike(words)
    if not order:
        return Groups(group, [], group)
    length = [sum(map(len, own)) for own in words]

    def plainness(value: int) -> tuple[int, int, bool, str]:
        text = texts[value]
        return -length[value], len(text), text.isupper(), text

    order.sort(key=plainness)
    members: dict[int, list[int]] = {}
    for value in order:
        fits = [
            first
            for first, own in members.items()
            if all(relate(value, k) <= BRIEF for k in own)  # the briefer to the fuller
        ]
        same = [first for first in fits if any(relate(value, k) == SAME for k in members[first])]
        if len(same or fits) == 1:
            (group[value],) = same or fits
            members[group[value]].append(value)
        else:
            members[value] = [value]
    total = {first: sum(n_claims[k] for k in own) for first, own in members.items()}
    for first in [first for first in members if total[first] <= 1]:
        known = [
            k for k, n in total.items() if n >= CLAIMS_AGAINST and is_typo(words[first], words[k])
        ]
        if len(known) == 1:
            group[first] = known[0]
            del members[first], total[first]
    parts = [
        (one, whole)
        for one in members
        for whole in members
        if length[one] < length[whole] and relate(one, whole) in (BRIEF, PART)
    ]
    rank = [0] * len(texts)
    for place, value in enumerate(order):
        rank[value] = place
    return Groups(group, parts, rank)


def _some_alike(words: Sequence[Sequence[str]]) -> list[int]:
    """Return the values that share a word with another, or may be the same word with an error."""
    seen: dict[str, int] = {}
    found = set[int]()
    for value, own in enumerate(words):
        keys = own if len(own) > 1 else [*own, *(word[:2] + "*" for word in own)]
        for word in keys:
            other = seen.setdefault(word, value)
            if other != value:
                found |= {other, value}
    return sorted(found)


@lru_cache(maxsize=1 << 17)
def is_divisible(kind: AlikeKind, text: str, carriers: frozenset[str]) -> bool:
    """Return True for values that can be told in part: of several words, or persons."""
    if kind == "people":
        return len(people_of(text)) > 1
    return sum(map(_tells, words_of(text, carriers).words)) > 1
