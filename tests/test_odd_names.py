"""Names and texts that are odd: nothing obeys them, nothing chokes on them, nothing is endless."""

from __future__ import annotations

import base64
import io
import os
import re
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import polars as pl
import pytest
from click.testing import CliRunner

import veracity
from veracity.algorithms import Prior, Rate
from veracity.cli import main
from veracity.errors import BadValue, ParameterError, VeracityError
from veracity.naming import as_text, name_text, text_like
from veracity.printing import Filtered, in_short, message, printable
from veracity.show.figures.base import chart_of, drawable

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
ODD = [
    ESCAPE,
    "\u2028",
    "\u202e",
    "\ufffe",
    "\uffff",
    "\x00",
    "\x7f",
    "\x85",
    "\r",
    "a\nb",
    "\U000e0041",
]


def claims_named(*names: str) -> pl.DataFrame:
    """Claims in which every name and every value is odd."""
    rows = [
        (s, e, v)
        for s in names
        for e in names
        for v in (names[0], names[-1])[:: -1 if s == names[-1] else 1][:1]
    ]
    return pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")


def veracity_command(*words: str, **options) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "veracity", *words], capture_output=True, check=False, **options
    )


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_what_cannot_be_printed_is_spelt_out(name):
    assert printable(name).isprintable()
    assert printable(printable(name)) == printable(name)
    assert in_short(name * 100).isprintable()


@pytest.mark.parametrize("name", ["Zoë", "東京\u3000駅", "ക്\u200dഷ", "👩\u200d💻", "a\u00a0b"])
def test_what_people_write_stays(name):
    assert printable(name) == name


def test_messages_are_never_endless():
    told = message("x" * 10**6 + "\x00" * 10**6 + "; mend it")
    assert len(told) < 2000
    assert told.endswith("; mend it")
    assert len(str(VeracityError("y" * 10**6))) < 2000


def test_a_filtered_stream_passes_on_what_can_be_printed():
    behind = io.StringIO()
    print(f"two\nlines{ESCAPE}", file=Filtered(behind))
    assert behind.getvalue() == "two\nlines\\x1b]0;owned\\x07\\x1b[31m\n"


# --- the terminal ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def odd_run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("odd")
    claims_named(ESCAPE, f"{ESCAPE}b", f"{ESCAPE}c").write_parquet(folder / "claims.parquet")
    veracity.discover(folder / "claims.parquet").save(folder / "run")
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ["discover", "{}/claims.parquet", "--normalise"],
        ["check", "{}/claims.parquet"],
        ["profile", "{}/claims.parquet"],
        ["explain", "{}/run", ESCAPE],
        ["explain", "{}/run", "other"],
        ["ask", "{}/run"],
        ["discover", f"{ESCAPE}.csv"],
        ["discover", "{}/claims.parquet", "--kind", ESCAPE],
        ["discover", "{}/claims.parquet", "--columns", f"source={ESCAPE}"],
        ["discover", "{}/claims.parquet", f"--{ESCAPE}"],
        [ESCAPE],
        ["plot", "{}/run", "decision", "--entity", "y", "--out", f"{ESCAPE}.svg"],
    ],
    ids=lambda words: ascii(" ".join(words)),
)
def test_no_escape_sequence_reaches_the_terminal(odd_run, words):
    found = CliRunner().invoke(main, [word.replace("{}", str(odd_run)) for word in words])
    assert "\x1b" not in found.output
    assert "\x07" not in found.output
    assert "bug" not in found.output


def test_progress_is_filtered_too(odd_run, monkeypatch):
    """An algorithm of somebody else may have any name; `compare` tells it as it goes on."""
    from veracity.show import terminal

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", Filtered(screen))
    with terminal.at_work() as progress:
        progress(f"[bold]{ESCAPE}", 1, 2)
    assert "owned\x07" not in screen.getvalue()
    assert "[bold]" in screen.getvalue()


def test_reprs_do_not_obey_names(odd_run):
    result = veracity.load(odd_run / "run")
    for shown in (result, result.why(ESCAPE), veracity.check(result), veracity.profile(result)):
        assert "\x1b" not in repr(shown)


# --- what is typed, and where it goes -------------------------------------------------------------


@pytest.mark.parametrize(
    "columns", ["source=a\nb", "source=a\rb", 'source="a', "source=" + "x" * 200_000]
)
def test_odd_columns_are_no_bug(odd_run, columns):
    found = CliRunner().invoke(
        main, ["discover", f"{odd_run}/claims.parquet", "--columns", columns]
    )
    assert found.exit_code in (1, 2)
    assert "bug" not in found.output
    assert len(found.output) < 2000


def test_a_name_with_a_line_break_may_be_quoted(tmp_path):
    claims = claims_named("a", "b").rename({"value": "the\nvalue"})
    claims.write_parquet(tmp_path / "claims.parquet")
    words = ["discover", f"{tmp_path}/claims.parquet", "--columns", '"value=the\nvalue"']
    assert CliRunner().invoke(main, words).exit_code == 0


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_a_closed_output_is_no_traceback(odd_run):
    command = f"{sys.executable} -m veracity profile {odd_run}/claims.parquet"
    for line in (
        f"{command} >&-",
        f"{command} 2>&-",
        f"{command} | head -c 1",
        f"{command} | true",
    ):
        found = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
        assert found.stderr == b""
    assert (
        subprocess.run(["sh", "-c", f"{command} >&-"], capture_output=True, check=False).returncode
        == 0
    )


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_while_loading_is_one_sentence(tmp_path):
    """A package of the command that takes long to load, and is interrupted meanwhile."""
    (tmp_path / "rich").mkdir()
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    path = os.pathsep.join([str(tmp_path), str(Path(veracity.__file__).parents[1])])
    found = veracity_command("--help", env={**os.environ, "PYTHONPATH": path})
    assert b"Traceback" not in found.stderr
    assert found.stderr.startswith(b"error: stopped")
    assert found.returncode == 1


def ran_in_python(setup, *arguments):
    """The command in a program that does something else before."""
    program = (
        "import atexit, os, signal, sys\n"
        "from veracity import cli\nfrom veracity.__main__ import main\n"
        f"signal.signal(signal.SIGINT, signal.default_int_handler)\n{setup}\n"
        f"sys.argv[1:] = {list(arguments)}\nmain()"
    )
    return subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_while_another_is_told_of_is_one_sentence():
    setup = "cli._explain = lambda error: os.kill(os.getpid(), signal.SIGINT)"
    found = ran_in_python(setup, "discover", "nowhere.csv")
    assert found.stderr == b"error: stopped before the end; no half-written result is left\n"
    assert found.returncode == 1


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_after_the_work_is_done_is_no_failure():
    found = ran_in_python("atexit.register(os.kill, os.getpid(), signal.SIGINT)", "--version")
    assert (found.returncode, found.stderr) == (0, b"")


def test_no_warning_reaches_the_terminal(odd_run, monkeypatch):
    def warn(*given, **more):
        import warnings

        warnings.warn("for programmers only", RuntimeWarning, stacklevel=1)
        return real(*given, **more)

    from veracity.inspect import checking

    real = checking.check
    monkeypatch.setattr(checking, "check", warn)
    found = CliRunner().invoke(main, ["check", f"{odd_run}/claims.parquet"])
    assert found.exit_code == 0
    assert found.stderr == ""


# --- figures and pages ----------------------------------------------------------------------------


EVERY_LETTER = """
import polars as pl, sys
from veracity.show.figures.base import chart_of
numbers = [*range(0xD800), *range(0xE000, 0x10000), 0x1F468, 0xE0041, 0x10FFFF]
letters = [chr(number) for number in numbers]
names = ["".join(letters[n : n + 150]) for n in range(0, len(letters), 150)]
chart = chart_of(pl.DataFrame({"name": names, "x": range(len(names))})).mark_point()
chart.encode(y="name:N", x="x:Q").save(sys.argv[1])
"""


@pytest.mark.slow
def test_figures_are_drawn_of_every_letter_there_is(tmp_path):
    """In a process of its own, which the library would end if it could not bear one."""
    target = str(tmp_path / "letters.svg")
    program = [sys.executable, "-c", EVERY_LETTER, target]
    found = subprocess.run(program, capture_output=True, check=False)
    assert found.returncode == 0, found.stderr[-500:]
    ElementTree.parse(target)


def test_labels_stay_distinct():
    names = ["a\x1b", "a\\x1b", "x" * 1000, "x" * 1001]
    labels = drawable(pl.DataFrame({"name": names}))["name"]
    assert labels.n_unique() == 4
    assert labels.str.len_chars().max() < 220
    assert drawable(labels.to_frame())["name"].to_list() == labels.to_list()
    assert chart_of(labels.to_frame()).data["name"].to_list() == labels.to_list()


@pytest.mark.parametrize("name", ["a\x1b[31m", '\\"+datum.weight+"', "back\\slash\\"])
def test_no_name_becomes_a_part_of_a_program_in_a_decision(name, tmp_path):
    claims = pl.DataFrame({"source": list("abc"), "entity": ["x"] * 3, "value": [name, name, "c"]})
    veracity.discover(claims).plot.decision("x").save(tmp_path / "figure.svg")
    drawing = ElementTree.parse(tmp_path / "figure.svg")
    told = {mark.get("aria-label", "") for mark in drawing.iter()}
    assert any(printable(name) in label for label in told)


def test_labels_of_a_decision_are_on_one_line():
    result = veracity.discover(claims_named("a\u2028b", "c\u2029d", "e\x0bf"))
    spec = result.plot.decision("a\u2028b").chart.to_json(ensure_ascii=False)
    assert printable(spec, lines=True) == spec


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ['x role="', 'id="y', "url(#z)", 'href="#', "<svg>&lt;", "]]>", "<!--"]
)
def test_a_name_does_not_break_the_figures_of_a_page(tmp_path, name):
    result = veracity.discover(claims_named(name, f"{name} b", "c"))
    page = result.write_report(tmp_path / "report.html").read_text()
    drawn = re.findall(r'"data:image/svg\+xml;base64,([^"]*)"', page)
    assert len(drawn) >= 6
    figures = [base64.b64decode(each).decode() for each in drawn]
    words = ["".join(ElementTree.fromstring(figure).itertext()) for figure in figures]
    assert any(name in told for told in words)


# --- too much of it -------------------------------------------------------------------------------


def test_a_source_with_very_many_values_is_told_in_short(tmp_path):
    n = 20_000
    many = pl.DataFrame(
        {"source": ["a"] * n, "entity": ["x"] * n, "value": [f"v{i}" for i in range(n)]}
    )
    claims = pl.concat([many, claims_named("b", "x")])
    result = veracity.discover(claims, "majority-vote")
    began = time.perf_counter()
    why = result.why("x")
    assert time.perf_counter() - began < 30.0  # it was minutes
    assert len(repr(why)) < 20_000
    assert why.rows["claimed"].str.len_chars().max() < 200
    assert why.rows["claimed"].str.contains(f"and {n - 5} more$").any()


def test_an_entity_with_very_many_attributes_is_told_in_short():
    n = 400
    claims = pl.DataFrame({
        "source": ["a", "b"] * n, "entity": ["x"] * 2 * n,
        "attribute": [f"a{i // 2}" for i in range(2 * n)], "value": ["1", "2"] * n,
    })  # fmt: skip
    words = veracity.discover(claims, "majority-vote").why("x").words
    assert "... and 350 more attributes" in words


def test_a_header_without_end_makes_no_message_without_end(tmp_path):
    (tmp_path / "claims.csv").write_text(f"{'h' * 10**6},b,c\n1,2,3\n")
    found = CliRunner().invoke(main, ["discover", str(tmp_path / "claims.csv")])
    assert found.exit_code == 1
    assert len(found.output) < 2000
    assert "--columns" in found.output


def test_endless_names_are_cut_everywhere(tmp_path):
    claims_named("a" * 10**5, "b" * 10**5, "c" * 10**5).write_parquet(tmp_path / "claims.parquet")
    run = str(tmp_path / "run")
    for words in (
        ["discover", f"{tmp_path}/claims.parquet", "--out", run],
        ["explain", run, "a" * 10**5],
        ["explain", run, "a" * (10**5 - 1)],
        ["check", f"{tmp_path}/claims.parquet"],
    ):
        assert len(CliRunner().invoke(main, words).output) < 30_000


# --- what is no text, and what is written otherwise -----------------------------------------------


FACTS = {"fact": "entity", "claim": "claim"}
BEYOND = [
    pl.Series([2**31 - 1] * 3, dtype=pl.Int32).cast(pl.Date),
    pl.Series([-(2**63)] * 3).cast(pl.Datetime("us")),
    pl.Series([2**63 - 1] * 3).cast(pl.Datetime("ms", "Europe/Berlin")),
    pl.Series([2**63 - 1] * 3).cast(pl.Duration("ms")),
]


@pytest.mark.parametrize("dtype", [pl.Date, pl.Datetime("us"), pl.Datetime("ms")])
def test_the_first_and_the_last_day_of_the_calendar_are_read(dtype):
    days = pl.Series([date.min, date.max, date(2024, 2, 29)]).cast(dtype)
    claims = pl.DataFrame({"source": days, "entity": ["x", "x", "y"], "value": days})
    found = veracity.discover(claims, "majority-vote")
    assert sorted(found.facts["value"]) == sorted(days)
    assert found.sources["source"].to_list() == sorted(days)


@pytest.mark.parametrize("odd", BEYOND)
def test_dates_beyond_the_calendar_are_refused_or_read_as_text_wherever_they_stand(odd):
    claims = pl.DataFrame(
        {"source": ["a", "b", "c"], "entity": ["x", "x", "y"], "value": ["1"] * 3}
    )
    features = pl.DataFrame({"source": ["a", "b", "c"], "n": odd})
    for refused in (
        lambda: veracity.discover(claims.with_columns(claim=odd), kind="binary", columns=FACTS),
        lambda: veracity.discover(claims.with_columns(value=odd), kind="numeric"),
        lambda: veracity.discover(claims.with_columns(odd.alias("w")), columns={"weight": "w"}),
        lambda: veracity.discover(claims, source_features=features),
    ):
        with pytest.raises(BadValue, match=r"row 1: .* no date from the year|too long a span"):
            refused()
    both = {"value": ["value", "odd"]}
    veracity.discover(claims.with_columns(odd.alias("odd")), "majority-vote", columns=both)
    wide = pl.DataFrame({"entity": ["x", "y", "z"], "a": odd, "b": odd})
    with pytest.raises(BadValue):
        veracity.discover(wide, "majority-vote", wide="sources")
    mixed = wide.with_columns(c=pl.lit("text"))
    veracity.discover(mixed, "majority-vote", wide="sources")


def test_dates_beyond_the_calendar_are_refused_with_their_row():
    for dtype in (pl.Datetime("us"), pl.Datetime("ms", "UTC")):
        when = pl.Series([0, 2**63 - 1]).cast(dtype)
        claims = pl.DataFrame({"source": ["a", "b"], "entity": when, "value": ["1", "2"]})
        with pytest.raises(BadValue, match=r"row 2: the entity is no date"):
            veracity.discover(claims)


def test_names_of_different_types_in_different_files_are_one():
    with_text = pl.DataFrame({"source": ["a"], "entity": ["2024-01-31 00:00:00"], "value": ["1"]})
    dated = with_text.with_columns(pl.col("entity").str.to_datetime(), source=pl.lit("b"))
    fit = veracity.discover(dated, "majority-vote").fitted
    assert as_text(dated["entity"]).to_list() == with_text["entity"].to_list()
    assert fit.judge(with_text).truths["value"].to_list() == ["1"]


@pytest.mark.parametrize(
    ("told", "dtype", "meant"),
    [
        ("TRUE", pl.Boolean(), "true"),
        ("2024-01-31T10:00:00.500Z", pl.Datetime("ms", "UTC"), "2024-01-31 10:00:00.5+00:00"),
        ("2024-01-31", pl.Datetime("us"), "2024-01-31 00:00:00"),
        ("2024-01-31 00:00:00", pl.Date(), "2024-01-31"),
        ("10:00:00.000", pl.Time(), "10:00:00"),
        ("007", pl.Int64(), "7"),
        ("1.50", pl.Decimal(10, 2), "1.5"),
        ("0.0000001", pl.Float64(), "1e-7"),
        ("x", pl.Float64(), "x"),
    ],
)
def test_text_is_read_as_names_of_a_type_are_rendered(told, dtype, meant):
    assert text_like(pl.Series([told]), dtype).to_list() == [meant]


def test_names_that_are_objects_have_a_text():
    assert name_text(object) == str(object)
    assert name_text(None) == "None"
    assert name_text(2**200) == str(2**200)


@pytest.mark.parametrize(
    "given",
    [
        {"normalise": "x"},
        {"engine": "x"},
        {"columns": "x"},
        {"algorithm": 3},
        {"min_plausibility": "x"},
    ],
    ids=str,
)
def test_a_wrong_parameter_is_named(given):
    (name,) = given
    with pytest.raises(ParameterError, match=name):
        veracity.discover(claims_named("a", "b"), **given)


def test_a_lone_carriage_return_ends_a_line(tmp_path):
    path = tmp_path / "claims.csv"
    path.write_bytes(b"source,entity,value\na,x,1\rb,x,2\nc,x,2\n")
    assert veracity.discover(path).run.input.claims == 3
    path.write_bytes(b'source,entity,value\na,x,"1\rb"\nc,x,2\n')
    assert set(veracity.discover(path).facts["value"]) == {"1\rb", "2"}


def test_truths_of_an_attribute_nobody_claims_are_left_out_where_numbers_are_asked_for():
    claims = pl.DataFrame(
        {
            "source": ["a", "b"],
            "entity": ["x", "x"],
            "attribute": ["w", "w"],
            "value": ["1 kg", "2 kg"],
        }
    )
    truth = pl.DataFrame(
        {"entity": ["x", "x"], "attribute": ["w", "other"], "value": ["2 kg", "unknown"]}
    )
    found = veracity.profile(claims, truth, kind="numeric", normalise=True)
    assert found.known == 1


@pytest.mark.parametrize("source", [True, 1.0, 7, date(2024, 1, 31)], ids=str)
def test_a_prior_speaks_of_sources_of_any_type(source):
    other = pl.Series([source]).dtype
    names = pl.Series([source, source], dtype=other)
    told = pl.DataFrame({"source": [name_text(source)], "tpr": ["0.9"], "fixed": ["yes"]})
    claims = pl.DataFrame({"source": names, "entity": ["x", "y"], "value": ["1", "2"]})
    for prior in (Prior.from_table(told), Prior(of_source={source: Rate(tpr=0.9, fixed=True)})):
        assert prior.unknown(claims["source"].to_list()) == []
        assert prior.rates(claims["source"].to_list()).tpr.tolist() == [0.9, 0.9]
