"""Names and values that nobody hopes for."""

from __future__ import annotations

from hypothesis import strategies as st

from attack.verdict import MARK

MARKUP = (
    f"<{MARK}>", f"<script>{MARK}()</script>", f'"><img src=x onerror={MARK}()>',
    f"</script><script>{MARK}()</script>", 'x role="', f"' onload='{MARK}()", "<!--", "]]>",
    f"javascript:{MARK}()", "&lt;b&gt;", "{{7*7}}", "${7*7}", "[bold red]x[/]", "[/]", "\\",
)  # fmt: skip
ESCAPES = (
    "\x1b[31mred\x1b[0m", "\x1b]0;title\x07", "\x1b[2J", "\x9b31m", "a\rb", "a\x08b", "\x07",
    "\u202eabc", "\x7f", "\x00", "\ufffe", "\uffff", "a\u2028b", "a\u2029b", "\u200b", "\ufeff",
)  # fmt: skip
FORMULAS = ("=1+1", "=cmd|' /C calc'!A0", "@SUM(1)", "+1", "-1", "\t=1")
NUMBERS = (
    "0", "-0", "1e308", "-1e308", "1e155", "1e-320", "nan", "inf", "-inf", "NaN", "1,5", "1.000,5",
    "9" * 25, "0x10", "1_000", "\u0661\u0662", "12:30", "7:05 PM", "24:00", "2024-01-01",
    "2024-02-30", "01/02/03", "9999-12-31", "0000-00-00", "10000-01-01T00:00:00Z", "true", "0.1",
)  # fmt: skip
BLANKS = (
    "",
    " ",
    "\t",
    "\n",
    "a\nb",
    "a\r\nb",
    "null",
    "None",
    "NULL",
    "NA",
    "\xa0",
    '"',
    "'",
    ",",
)
WORDS = (
    "a",
    "b",
    "source",
    "entity",
    "x" * 300,
    "\u00e9",
    "e\u0301",
    "\U0001f600",
    "../..",
    "~",
    "*",
)

ODD = (*MARKUP, *ESCAPES, *FORMULAS, *NUMBERS, *BLANKS, *WORDS)

odd_texts = st.sampled_from(ODD)
texts = st.one_of(
    odd_texts,
    st.text(max_size=12),
    st.text(st.characters(categories=("Cc", "Cf", "Zl", "Zp", "Cn")), min_size=1, max_size=4),
    st.builds("".join, st.lists(odd_texts, min_size=2, max_size=3)),
)
numbers = st.one_of(
    st.floats().map(str),
    st.integers(-(10**30), 10**30).map(str),
    st.sampled_from(NUMBERS),
    st.sampled_from(("1", "2", "3.5")),
)
