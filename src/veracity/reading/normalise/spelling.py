"""Clean text: tidy, plain and folded forms, and placeholders.

Each step builds on the one before. *Tidy* text may be shown: HTML entities and white space are
corrected. *Plain* text is the input for dates and numbers: one kind of each quote, dash and digit.
*Folded* text is compared: case and punctuation do not count.
"""

from __future__ import annotations

import html
import re

import polars as pl

ENTITY = r"&(?:#\d+|#[xX][0-9a-fA-F]+|[A-Za-z]+\d*);|&nbsp"
SPACE = "[\\s\u200b\u2060\ufeff]+"
FRACTION_SIGN = "([0-9])([¼-¾⅐-⅞])"

SAME_SIGN = {
    **dict.fromkeys("\u2018\u2019\u201b\u02bc\u00b4\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb\u2033", '"'),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"),
    "\u2044": "/",
}
"""Variants of quotes, dashes and slashes, with the plain character for each."""

IN_BRACKETS = r"^(?:\(([^()]*\p{L}[^()]*)\)|\[([^\[\]]*\p{L}[^\[\]]*)\]|(\p{L})[)\]])$"
"""A whole text in brackets, or a letter that one closes, as in a list; (5) may be a loss of 5."""

RIGHT_EDGE = " .,;:!?'\"*-_/"
LEFT_EDGE = " ,;:!?'\"*"

WITH_MINUS = r"^\p{L}{1,3}-$"
"""Blood groups, grades and ratings: a minus is as much a part of them as a plus."""

UNSAID = (
    r"^(?:n/?a|#n/a|null|nil|none|nan|unknown|undefined|missing|tb[acd]|to be announced"
    r"|(?:[a-z]+ )?(?:not|no) (?:yet )?(?:available|provided|specified|known|applicable|reported"
    r"|recorded|given|stated|data|information|info|value|answer)(?: .*)?"
    r"|n\.? ?a|k\.? ?a|n\.?v\.?t|\\n|<n(?:a|ull)>|blank"
    r"|#(?:ref|value|name|num|null|div/0|bezug|wert|nv)"
    r"|(?:unbekannt|inconnu|desconocid|sconosciut|onbekend|desconhecid)[aeo]?"
    r"|(?:keine|ohne) angaben?|aucune? (?:information|donnée)|sin (?:datos|información)"
    r"|geen (?:gegevens|informatie)|sem (?:dados|informação)|nessuna? informazione"
    r"|(?:nicht|non|no|niet|não) (?:verfügbar|bekannt|angegeben|vorhanden|disponible|disponibile"
    r"|renseigné|spécifié|especificado|specificato|beschikbaar|bekend|disponível|informado)"
    r"|keine|leer|vide|aucune?|néant|ningun[ao]|vacío|nessun[ao]|vuoto|geen|leeg|nenhuma?|vazio)$"
)
"""Pattern of placeholders for a missing value; ``-``, ``*`` and the like fold to an empty text."""

ELSEWHERE = r"^(?:please )?(?:contact|call|ask|see|check|consult) "


def tidy(texts: pl.Series) -> pl.Series:
    r"""Write text as it may be shown: no HTML entities, single blanks, none at the ends.

    >>> tidy(pl.Series(["\u00a0D54 ", "AT&amp;T", "R&D"])).to_list()
    ['D54', 'AT&T', 'R&D']
    """
    coded = texts.filter(texts.str.contains(ENTITY)).unique()
    if len(coded):
        meant = pl.Series([_unescape(text) for text in coded], dtype=pl.String)
        texts = texts.replace(coded, meant)
    return _made_of(texts, pl.col("text").str.replace_all(SPACE, " ").str.strip_chars(" "))


def _unescape(text: str) -> str:
    """Replace HTML entities, however often they were written as entities again.

    An ampersand without a semicolon may belong to an address and is left alone, but for ``&nbsp``.
    """
    before = None
    while text != before:
        before, text = text, re.sub(ENTITY, lambda entity: html.unescape(entity[0]), text)
    return text


def plain(tidied: pl.Series) -> pl.Series:
    r"""Write tidy text with one sign for one meaning.

    >>> plain(pl.Series(["\u22125", "1½", "\uff2454", "O\u2019Hara"])).to_list()
    ['-5', '1 1/2', 'D54', "O'Hara"]
    """
    is_odd = tidied.str.len_bytes() != tidied.str.len_chars()
    if not is_odd.any():
        return tidied
    apart = tidied.filter(is_odd).str.replace_all(FRACTION_SIGN, "$1 $2")
    same = apart.str.normalize("NFKC").str.replace_many(SAME_SIGN)
    same = same.str.replace_all(SPACE, " ").str.strip_chars(" ")
    return tidied.scatter(is_odd.arg_true(), same)


def fold(plain_texts: pl.Series) -> pl.Series:
    """Write plain text for comparing: no case, no dots after words, no punctuation at the ends.

    Separators of letters and digits, and brackets around the text, do not count. Between digits
    every sign counts.

    >>> fold(pl.Series(["Donald E. Knuth", "lee, ann ;", "C-19", "c 19", "1-9", "14?"])).to_list()
    ['donald e knuth', 'lee,ann', 'c19', 'c19', '1-9', '14']
    >>> fold(pl.Series(["(A)", "a)", "[a]", "A.", "(5)", "f(x)"])).to_list()
    ['a', 'a', 'a', 'a', '(5)', 'f(x)']
    >>> fold(pl.Series(["A-", "a", "A+", "BBB-", "Smith-"])).to_list()
    ['a-', 'a', 'a+', 'bbb-', 'smith']
    """
    lower = pl.col("text").str.to_lowercase()
    folded = (
        lower.str.replace_all("ß", "ss", literal=True)
        .str.replace_all(r"\.+([^\p{L}\p{N}]|$)", "$1")
        .str.replace_all(r" ?([,;:/]) ?", "$1")
        .str.replace_all(" - ", "-", literal=True)
        .str.strip_chars_end(RIGHT_EDGE)
        .str.strip_chars_start(LEFT_EDGE)
        .str.replace(IN_BRACKETS, "$1$2$3")
    )
    for apart in (r"(\p{L})[ ._-](\p{N})", r"(\p{N})[ ._-](\p{L})"):
        folded = folded.str.replace_all(apart, "$1$2")
    is_whole = pl.col("text").str.contains(WITH_MINUS)
    return _made_of(plain_texts, pl.when(is_whole).then(lower).otherwise(folded))


def _made_of(texts: pl.Series, made: pl.Expr) -> pl.Series:
    """Return an expression of `text` for texts, in one query, not one for each call."""
    return texts.to_frame("text").select(made.alias(texts.name)).to_series()


def says_nothing(folded: pl.Series) -> pl.Series:
    """Return True for texts that mean "no value".

    >>> says_nothing(pl.Series(["", "n/a", "not provided by airline", "no", "0"])).to_list()
    [True, True, True, False, False]
    """
    return _made_of(folded, (pl.col("text") == "") | pl.col("text").str.contains(UNSAID))


def says_where_to_look(folded: pl.Series) -> pl.Series:
    """Return which texts send the reader elsewhere: no value where a number or a time is due.

    >>> says_where_to_look(pl.Series(["contact airline", "contact"])).to_list()
    [True, False]
    """
    return folded.str.contains(ELSEWHERE)
