from __future__ import annotations

import re
import sys
from dataclasses import replace

import polars as pl
import pytest
from click.testing import CliRunner
from numpy.testing import assert_allclose

import veracity
from veracity.cli import main
from veracity.cli.runs import FIGURE_NAMES as FIGURES
from veracity.errors import ParameterError
from veracity.show.figures.decision import decision_figure
from veracity.show.figures.measures import plausibility_figure, share_interval

THEMES = ("light", "dark")


def frame(rows, *columns):
    return pl.DataFrame(rows, schema=list(columns), orient="row")


@pytest.fixture(scope="module")
def of_kind(flights):
    """A result of each kind of claims, known truths, and an item."""
    values = frame(
        [(s, e, v) for s in "abc" for e in "xy" for v in "12"] + [("d", "x", "3")],
        "source", "entity", "value",
    )  # fmt: skip
    facts = frame(
        [(s, f, (f == "q") == (s == "c")) for s in "abc" for f in "pqr"], "source", "fact", "claim"
    )
    numbers = frame(
        [(s, e, float(n + m)) for n, s in enumerate("abc") for m, e in enumerate("xyz")],
        "source", "entity", "value",
    )  # fmt: skip
    return {
        "categorical": (veracity.discover(flights.claims), flights.truth, ("VC-111", "gate")),
        "multiple": (
            veracity.discover(values, kind="multiple"),
            frame([("x", "1"), ("x", "2")], "entity", "value"),
            ("x",),
        ),
        "binary": (
            veracity.discover(facts, kind="binary"),
            frame([("p", True), ("q", False)], "fact", "claim"),
            ("p",),
        ),
        "numeric": (
            veracity.discover(numbers, kind="numeric"),
            frame([("x", 1.0), ("y", 2.5)], "entity", "value"),
            ("x",),
        ),
    }


def arguments_of(what, truth, item):
    if what in ("calibration", "accuracy"):
        return (truth,)
    return item if what == "decision" else ()


def svg_of(figure, folder):
    text = figure.save(folder / "figure.svg", force=True).read_text(encoding="utf-8")
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


def crowd(n_sources):
    """Claims of many sources about few items: every tenth source is mistaken."""
    rows = [
        (f"source {n:05}", f"x{m % 7}", "2" if n % 10 == 0 else "1")
        for n in range(n_sources)
        for m in range(n % 3, n % 3 + 3)
    ]
    return frame(rows, "source", "entity", "value")


# --- every figure, every kind of claims -----------------------------------------------------------

NOT_FOR_NUMBERS = ("plausibility", "calibration", "history")
OF_LABELS = "confusions"
"""Flights share no labels: tests of this figure are in test_labels.py."""
OF_ALL = [what for what in FIGURES if what != OF_LABELS]


@pytest.mark.parametrize("kind", ["categorical", "multiple", "binary", "numeric"])
@pytest.mark.parametrize("what", OF_ALL)
def test_every_figure_is_drawn_for_every_kind_of_claims_it_is_for(of_kind, kind, what, tmp_path):
    result, truth, item = of_kind[kind]
    draw = getattr(result.plot, what)
    if kind == "numeric" and what in NOT_FOR_NUMBERS:
        with pytest.raises(ParameterError, match="not for numeric claims"):
            draw(*arguments_of(what, truth, item))
        return
    for theme in THEMES:
        figure = draw(*arguments_of(what, truth, item), theme=theme)
        assert figure.save(tmp_path / f"{theme}.svg").stat().st_size > 1000


SAYS = {
    "sources": ("The sources", "accuracy", "tpr: claims what is true", "airline"),
    "agreement": ("How often sources say the same", "airline", "skyfare", "agreement"),
    "plausibility": ("How sure the answer is", "plausibility of the value settled on", "contested"),
    "calibration": ("Calibration", "share that is right", "judged", "400 known truths"),
    "accuracy": ("How right, by attribute", "all items", "gate", "departure"),
    "history": ("The sources over time", "batch", "accuracy", "airline"),
    "decision": ("VC-111 gate: D13", "log-odds of D13 against B2", "airline: D13", "all in all"),
}


@pytest.mark.parametrize("what", OF_ALL)
def test_the_words_are_in_the_picture(of_kind, what, tmp_path):
    result, truth, item = of_kind["categorical"]
    text = svg_of(getattr(result.plot, what)(*arguments_of(what, truth, item)), tmp_path)
    missing = [word for word in SAYS[what] if word not in text.replace("&#39;", "'")]
    assert not missing, text


@pytest.mark.parametrize(
    ("suffix", "start"),
    [(".svg", b"<svg"), (".png", b"\x89PNG"), (".pdf", b"%PDF"), (".HTML", b"<!D")],
)
def test_a_figure_is_saved_as_its_ending_says(of_kind, suffix, start, tmp_path):
    figure = of_kind["categorical"][0].plot.plausibility()
    written = figure.save(tmp_path / f"figure{suffix}")
    assert written.read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [f"figure{suffix}"]


def test_a_page_loads_nothing_and_no_name_can_break_out_of_it(tmp_path):
    evil = "</script><script>alert(1)</script>"
    claims = frame(
        [(evil, "x", "1"), ("b", "x", "2"), ("c", "x", "1")], "source", "entity", "value"
    )
    figure = veracity.discover(claims).plot.sources(theme="dark")
    page = figure.save(tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"""<(script|link|img|iframe)[^>]*\b(src|href)=["']?https?:""", page)
    assert not re.search(r"""(cdn\.jsdelivr|unpkg\.com|@import|fonts\.googleapis)""", page)
    assert "alert(1)" in page
    assert evil not in page
    assert "body { background: #15191e }" in page


def test_dark_and_light_differ_in_colours_only(of_kind):
    light, dark = (of_kind["categorical"][0].plot.sources(theme=theme) for theme in THEMES)
    assert light.chart.to_dict()["config"]["background"] == "#ffffff"
    assert dark.chart.to_dict()["config"]["background"] == "#15191e"
    assert light.table.equals(dark.table)


# --- five sources, and five thousand --------------------------------------------------------------


@pytest.mark.parametrize("n_sources", [2, 5, 41, 5_000])
def test_figures_of_sources_stay_small(n_sources, tmp_path):
    result = veracity.discover(crowd(n_sources), "majority-vote")
    for most, figure in ((40, result.plot.sources()), (60, result.plot.agreement())):
        assert figure.table["source"].n_unique() == min(most, n_sources)
        rows = [len(data) for data in figure.chart.to_dict()["datasets"].values()]
        assert max(rows) <= 3_600
        text = svg_of(figure, tmp_path)
        assert (f"{n_sources:,} sources" in text) == (n_sources > most)


def test_the_best_source_is_on_top_and_guessers_are_marked(of_kind, tmp_path):
    figure = of_kind["categorical"][0].plot.sources()
    assert figure.table["accuracy"].is_sorted(descending=True)
    assert figure.table["source"][0] == "airline"
    assert "guessing" not in figure.note
    crowded = veracity.discover(crowd(41), "majority-vote").plot.sources()
    assert (crowded.table["tpr"] <= crowded.table["fpr"]).any()
    assert "no better than guessing" in svg_of(crowded, tmp_path)


def test_runs_without_intervals_have_points_without_bars(of_kind, tmp_path):
    result = of_kind["categorical"][0]
    bounds = [name for name in result.tables.sources.columns if name.endswith(("_low", "_high"))]
    tables = replace(result.tables, sources=result.tables.sources.drop(bounds))
    bare = veracity.Result(tables, result.run, encoded=result.encoded)
    assert "tpr_low" not in bare.plot.sources().table.columns
    assert "intervals" not in svg_of(bare.plot.sources(), tmp_path)


# --- the numbers behind ---------------------------------------------------------------------------


def test_agreement_is_counted_on_shared_items():
    said = {"a": "111111", "b": "111112", "c": "222222", "d": "1     "}
    rows = [
        (source, f"x{n}", value)
        for source, values in said.items()
        for n, value in enumerate(values)
        if value != " "
    ]
    result = veracity.discover(frame(rows, "source", "entity", "value"), "majority-vote")
    table = result.plot.agreement().table
    pairs = {(r["source"], r["other"]): r for r in table.iter_rows(named=True)}
    assert len(pairs) == 12
    assert (pairs["a", "b"]["shared"], pairs["a", "b"]["same"]) == (6, 5)
    assert pairs["a", "b"]["agreement"] == pytest.approx(5 / 6)
    assert pairs["a", "c"]["agreement"] == 0.0
    assert pairs["b", "c"]["same"] == 1
    assert (pairs["a", "d"]["same"], pairs["a", "d"]["agreement"]) == (1, None)  # one item only


def test_near_copies_stand_side_by_side():
    def says(source, n):
        return str(n % 3) if source in ("a", "e") else str((n + ord(source)) % 5 + 10)

    rows = [(source, f"x{n}", says(source, n)) for source in "abcde" for n in range(60)]
    table = veracity.discover(frame(rows, "source", "entity", "value")).plot.agreement().table
    order = table["source"].unique(maintain_order=True).to_list()
    assert abs(order.index("a") - order.index("e")) == 1


def test_agreement_of_binary_claims_is_on_true_and_on_false(of_kind):
    table = of_kind["binary"][0].plot.agreement().table
    same = {(s, o): n for s, o, n in table.select("source", "other", "same").iter_rows()}
    assert (same["a", "b"], same["a", "c"]) == (3, 0)


def test_a_source_that_names_several_values_agrees_if_all_are_the_same(of_kind):
    table = of_kind["multiple"][0].plot.agreement().table
    same = {(s, o): n for s, o, n in table.select("source", "other", "same").iter_rows()}
    assert (same["a", "b"], same["a", "d"]) == (2, 0)


def test_calibration_counts_in_tenths(flights):
    claims = frame(
        [("a", "x", "1"), ("b", "x", "1"), ("c", "x", "2"), ("a", "y", "1")],
        "source",
        "entity",
        "value",
    )
    result = veracity.discover(claims, "majority-vote")
    table = result.plot.calibration(frame([("x", "2"), ("y", "1")], "entity", "value")).table
    told = table.select("low", "plausibility", "right", "judged").rows()
    assert_allclose(told, [(0.6, 2 / 3, 0.0, 1), (0.9, 1.0, 1.0, 1)])
    full = veracity.discover(flights.claims).plot.calibration(flights.truth).table
    gap = ((full["right"] - full["plausibility"]).abs() * full["judged"]).sum() / 400
    found = veracity.evaluate(veracity.discover(flights.claims), flights.truth)
    assert gap == pytest.approx(found.calibration_error)


def test_wilsons_interval_is_that_of_the_textbook():
    # z = 1.6449, n = 10, p = 1: the lower bound is 1 / (1 + z²/n)
    assert_allclose(share_interval(1.0, 10), (1 / 1.27055, 1.0), atol=1e-5)
    assert_allclose(share_interval(0.5, 4), (0.5 - 0.31768, 0.5 + 0.31768), atol=1e-4)


def test_plausibilities_are_counted_in_bins(two_against_one):
    more = pl.concat([two_against_one, frame([("a", "y", "1")], "source", "entity", "value")])
    table = plausibility_figure(veracity.discover(more, "majority-vote"), n=10).table
    assert table.rows() == [(0.6, 0.7, True, 1), (0.9, 1.0, False, 1)]


def test_accuracy_by_attribute_is_that_of_evaluate(of_kind, flights):
    result = of_kind["categorical"][0]
    found = veracity.evaluate(result, flights.truth)
    table = result.plot.accuracy(flights.truth).table
    assert table.row(0)[:3] == ("all items", 400, found.accuracy)
    told = dict(table[1:].select("attribute", "accuracy").iter_rows())
    assert told == dict(found.by_attribute.select("attribute", "accuracy").iter_rows())
    assert table[1:]["accuracy"].is_sorted()


@pytest.mark.parametrize("algorithm", ["ltd-rbm", "majority-vote", "truth-finder", "accu", "mle"])
def test_the_steps_of_a_waterfall_add_up(flights, algorithm):
    result = veracity.discover(flights.claims, algorithm)
    steps = result.plot.decision("VC-111", "gate").table
    assert (steps["part"][0], steps["part"][-1]) == ("prior", "score")
    assert steps["weight"][:-1].sum() == pytest.approx(steps["weight"][-1])
    assert_allclose(steps["end"][:-2], steps["start"][1:-1])
    values = result.why("VC-111", "gate").tables[0]["score"]
    assert steps["weight"][-1] == pytest.approx(values[0] - values[1])


def test_a_vote_is_a_waterfall_of_ones(two_against_one):
    steps = veracity.discover(two_against_one, "majority-vote").plot.decision("x").table
    assert steps.select("label", "weight", "part").rows() == [
        ("before any claim", 0.0, "prior"),
        ("a: 1", 1.0, "for"),
        ("b: 1", 1.0, "for"),
        ("c: 2", -1.0, "against"),
        ("all in all", 1.0, "score"),
    ]


def test_of_many_claims_the_lightest_are_summed_up():
    result = veracity.discover(crowd(300), "majority-vote")
    steps = decision_figure(result, "x2", most=5).table
    assert steps["label"].to_list()[1:] == [
        *(f"source {n:05}: 1" for n in (1, 2, 3, 4, 5)),
        "265 others for",
        "30 others against",
        "all in all",
    ]
    assert steps["weight"][-1] == 240.0


def test_algorithms_are_ranked_and_those_that_failed_are_counted(flights, tmp_path):
    names = ["dawid-skene", "majority-vote", "ltd-rbm"]
    found = veracity.compare(flights.claims, flights.truth, algorithms=names)
    table = found.plot().table
    assert table["algorithm"].to_list() == ["ltd-rbm", "majority-vote"]
    assert_allclose(
        table.select("accuracy_low", "accuracy_high").row(0),
        share_interval(table["accuracy"][0], 400),
    )
    text = svg_of(found.plot(theme="dark"), tmp_path)
    assert "400 known truths, with 90 % intervals. 1 failed." in text
    with pytest.raises(ParameterError, match="without known truths"):
        veracity.compare(flights.claims, algorithms=names[1:]).plot()


def test_algorithms_for_numbers_are_ranked_by_distance(of_kind, tmp_path):
    claims = frame(
        [(s, e, float(n)) for n, s in enumerate("abc") for e in "xy"], "source", "entity", "value"
    )
    truth = frame([("x", 1.0), ("y", 1.0)], "entity", "value")
    found = veracity.compare(claims, truth, kind="numeric")
    assert found.plot().table["mae"].is_sorted()
    assert "mean absolute distance" in svg_of(found.plot(), tmp_path)


# --- what cannot be drawn -------------------------------------------------------------------------


def test_what_is_not_installed_is_named(of_kind, tmp_path, monkeypatch):
    plots = of_kind["categorical"][0].plot
    figure = plots.plausibility()
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ParameterError, match="vl_convert is missing"):
        figure.save(tmp_path / "figure.svg")
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(ParameterError, match=r"altair is missing.*pip install .*\[plot\]'"):
        plots.plausibility()


def test_unknown_names_are_told_with_what_there_is(of_kind, flights, tmp_path):
    result = of_kind["categorical"][0]
    with pytest.raises(ParameterError, match="theme must be 'light' or 'dark', got 'pink'"):
        result.plot.sources(theme="pink")
    with pytest.raises(ParameterError, match="no entity 'VC-999'; did you mean"):
        result.plot.decision("VC-999", "gate")
    with pytest.raises(ParameterError, match="several attributes; name one of 'departure', 'gate'"):
        result.plot.decision("VC-111")
    with pytest.raises(ParameterError, match="must end in one of"):
        result.plot.plausibility().save(tmp_path / "figure.jpg")


def test_what_is_not_there_to_be_drawn_is_said(two_against_one):
    alone = veracity.discover(two_against_one.head(1), "majority-vote")
    with pytest.raises(ParameterError, match="two sources or more"):
        alone.plot.agreement()
    weightless = veracity.discover(two_against_one, "three-estimates")
    with pytest.raises(ParameterError, match="does not judge by weights"):
        weightless.plot.decision("x")


# --- the command ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(of_kind, flights, tmp_path_factory):
    folder = tmp_path_factory.mktemp("plot")
    of_kind["categorical"][0].save(folder / "run")
    flights.truth.write_csv(folder / "truth.csv")
    return folder


@pytest.mark.parametrize("what", ["sources", "accuracy", "decision"])
def test_the_command_draws(run, what, tmp_path):
    more = {
        "accuracy": ["--truth", str(run / "truth.csv")],
        "decision": ["--entity", "VC-111", "--attribute", "gate"],
    }
    out = tmp_path / "figure.svg"
    arguments = ["plot", str(run / "run"), what, "--out", str(out), *more.get(what, [])]
    answer = CliRunner().invoke(main, arguments)
    assert (answer.exit_code, answer.output) == (0, f"drawn in {out}\n")
    assert SAYS[what][0] in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["pie"], "'pie' is not one of 'sources', 'agreement'"),
        (["calibration"], "plot calibration needs known truths: --truth TRUTH"),
        (["decision"], "plot decision needs an item: --entity E"),
        (["decision", "--entity", "VC-1111"], "no entity 'VC-1111'; did you mean"),
    ],
)
def test_the_command_says_what_is_wrong(run, arguments, said, tmp_path):
    out = tmp_path / "figure.svg"
    answer = CliRunner().invoke(main, ["plot", str(run / "run"), *arguments, "--out", str(out)])
    assert answer.exit_code == 2
    assert said in answer.output
    assert not out.exists()


@pytest.mark.parametrize(
    "command", [("plot", "absent", "sources", "--out"), ("compare", "absent.csv", "--figure")]
)
@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nowhere/f.svg", "there is no folder"),
        ("f.txt", "must end in one of"),
        ("mine.svg", "mine.svg exists; choose another name, or replace it with"),
    ],
)
def test_a_figure_that_cannot_be_written_is_refused_before_the_work(
    command, target, said, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.svg").write_text("mine")
    outcome = CliRunner().invoke(main, [*command, target])
    assert outcome.exit_code != 0
    assert said in outcome.output
    assert (tmp_path / "mine.svg").read_text() == "mine"


def test_where_all_claims_are_known_to_be_false_there_are_no_confusions_to_draw():
    claims = pl.DataFrame(
        [("a", f"e{number}", f"v{number % 4}") for number in range(8)],
        schema=["source", "entity", "value"],
        orient="row",
    )
    known = claims.select("entity", value=pl.lit("other"))
    result = veracity.discover(claims, "dawid-skene", known=known)
    with pytest.raises(ParameterError, match="no true label is among the claims"):
        result.plot.confusions()


def test_confusions_of_sources_with_ends_of_lines_in_their_names_are_drawn(tmp_path):
    rows = [
        (s, f"x{i}", "yn"[(i + j) % 2]) for i in range(9) for j, s in enumerate(("a\u2029b", "c"))
    ]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    figure = veracity.discover(claims, "dawid-skene").plot.confusions()
    assert figure.save(tmp_path / "figure.svg").exists()
