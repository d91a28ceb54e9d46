from __future__ import annotations

import re
import shlex
import sys
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner
from numeric import draw_numbers

import veracity
from veracity.algorithms import CATALOGUE
from veracity.cli import main
from veracity.errors import OutputError
from veracity.extras import how_to_get
from veracity.io.atomic import check_can_write
from veracity.show.lookup import chunks_of
from veracity.show.report import MOST_ASKED, gather
from veracity.show.report_sections import MOST_SOURCES, wrong_items
from veracity.show.reproduce import command

EVIL = "<script>alert(1)</script>\"'&<img src=x onerror=alert(2)>"
VOID = {"meta", "link", "br", "input", "img", "hr", "source"}


class Page(HTMLParser):
    """What a browser would see: the tables by caption, and every tag and address."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tables: dict[str, list[list[str]]] = {}
        self.tags: list[str] = []
        self.open: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.pictures: list[str] = []
        self.text, self.said = text, ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        is_data = tag == "script" and ("type", "application/gzip") in attrs  # which nobody runs
        self.tags.append("data" if is_data else tag)
        sources = ("src", "srcset", "href", "action")
        self.addresses += [value for name, value in attrs if name in sources]
        self.pictures += [dict(attrs)["alt"]] if tag == "img" else []
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.rows: list[list[str]] = []
            self.caption = ""
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, f"</{tag}> closes something else"
        if tag == "table":
            self.tables[re.sub(r" \([\d,]+ of .*", "", self.caption)] = self.rows

    def handle_data(self, data):
        if "style" in self.open or "script" in self.open:
            return
        self.said += data
        if "caption" in self.open:
            self.caption += data
        if "table" in self.open and {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def page_of(result, tmp_path, **given) -> Page:
    path = result.write_report(tmp_path / "report.html", force=True, **given)
    return Page(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def flights_page(flights, tmp_path_factory):
    result = veracity.discover(flights.claims)
    return page_of(result, tmp_path_factory.mktemp("flights"), truth=flights.truth)


KINDS = {
    "categorical": pl.DataFrame(
        {"source": list("abcabc"), "entity": list("xxxyyy"), "value": list("112121")}
    ),
    "multiple": pl.DataFrame(
        {"source": list("abcabca"), "entity": list("xxxyyyy"), "value": list("1121213")}
    ),
    "binary": pl.DataFrame(
        {"source": list("abcabc"), "fact": list("xxxyyy"), "claim": [1, 1, 0, 0, 1, 0]}
    ),
    "numeric": pl.DataFrame(
        {"source": list("abcabc"), "entity": list("xxxyyy"), "value": [1.0, 1.1, 9.0, 4, 5, 6]}
    ),
}
TRUTHS = {
    "categorical": pl.DataFrame({"entity": ["x", "y"], "value": ["2", "1"]}),
    "multiple": pl.DataFrame({"entity": ["x", "y", "y"], "value": ["2", "1", "3"]}),
    "binary": pl.DataFrame({"fact": ["x", "y"], "claim": [False, True]}),
    "numeric": pl.DataFrame({"entity": ["x", "y"], "value": [1.0, 5.0]}),
}


@pytest.fixture
def no_figures(monkeypatch):
    """As where the plot extra is not installed."""
    monkeypatch.setitem(sys.modules, "altair", None)


# --- what is told ---------------------------------------------------------------------------------


def test_numbers_of_sources_are_those_of_the_table(flights_page, flights):
    sources = veracity.discover(flights.claims).sources
    head, *rows = flights_page.tables["Sources, the worst first"]
    assert [row[0] for row in rows] == sources.sort("accuracy_high")["source"].to_list()
    told = {row[0]: dict(zip(head, row, strict=True)) for row in rows}
    assert len(told) == len(sources)
    for source in sources.iter_rows(named=True):
        row = told[source["source"]]
        for rate in ("accuracy", "tpr", "fpr"):
            low, high = source[f"{rate}_low"], source[f"{rate}_high"]
            told_rate = row[f"{rate} (90% interval)"]
            assert told_rate == f"{source[rate]:.3f} {low:.2f}-{high:.2f}"
        assert (row["claims"], row["items"]) == (str(source["claims"]), str(source["items"]))


def test_measures_are_those_of_evaluate(flights_page, flights):
    evaluation = veracity.evaluate(veracity.discover(flights.claims), flights.truth)
    told = {row[0]: row[1] for row in flights_page.tables["Against 400 known truths"][1:]}
    assert told["accuracy"] == f"{evaluation.accuracy:.3f}"
    assert told["calibration error"] == f"{evaluation.calibration_error:.3f}"
    assert f"{evaluation.accuracy:.1%}" in flights_page.said


def test_the_summary_says_how_far_from_a_vote_and_how_sure(flights_page, flights):
    result = veracity.discover(flights.claims)
    assert "9 sources make 3,213 claims about 400 items; 385 of them (96%)" in flights_page.said
    n_sure = int((result.truths["plausibility"] >= 0.95).sum())
    assert f"at least 95% plausible for {n_sure} of 400 items" in flights_page.said
    differs = str(veracity.check(result).against_vote)
    assert differs[1:] in flights_page.said
    assert "No check gave a warning" in flights_page.said
    assert "This does not show that the answer is right" in flights_page.said


def test_sources_have_their_accuracy_by_attribute(flights_page, flights):
    head, *rows = flights_page.tables["accuracy by attribute"]
    by_attribute = veracity.discover(flights.claims).attributes
    assert sorted(head[1:]) == ["departure", "gate"]
    for source, attribute, accuracy in by_attribute["source", "attribute", "accuracy"].rows():
        row = next(row for row in rows if row[0] == source)
        assert row[head.index(attribute)] == f"{accuracy:.3f}"


def test_readers_who_only_got_the_page_meet_no_options_of_a_command(flights_page):
    before, after = flights_page.said.split("The command that makes it again")
    assert not re.search(r"(^|\s)--[a-z]|veracity (ask|explain)", before)
    assert "veracity discover CLAIMS" in after


def test_the_vote_stands_beside_the_answer(flights_page, flights):
    vote = veracity.evaluate(veracity.discover(flights.claims, "majority-vote"), flights.truth)
    assert f"right, by a majority vote{vote.accuracy:.1%}" in flights_page.said
    assert flights_page.tables["Against 400 known truths"][1][:3] == ["accuracy", "0.980", "0.914"]
    assert "right more often here" not in flights_page.said


def test_where_a_vote_is_better_the_page_warns(tmp_path, no_figures):
    """Three that copy each other are taken for one: here that is wrong, and the vote is right."""
    rows = [(f"s{s}", f"i{i}", "ab"[(i + s) % 3 == 0]) for s in range(4) for i in range(12)]
    claims = pl.DataFrame(rows, schema=["source", "entity", "value"], orient="row")
    vote = veracity.discover(claims, "majority-vote")
    prior = veracity.Prior(
        of_source={"s1": veracity.algorithms.Rate(tpr=0.99, fpr=0.01, fixed=True)}
    )
    result = veracity.discover(claims, veracity.algorithms.Veracity(prior=prior, labels=False))
    page = page_of(result, tmp_path, truth=vote.tables.truths.select("entity", "value"))
    assert "A plain majority vote is right more often here" in page.said


def test_a_crowd_sees_its_labels_and_confusions(tmp_path, no_figures):
    rows = [("good", f"i{i:02}", "xy"[i % 2]) for i in range(20)]
    rows += [(name, f"i{i:02}", "xy"[i % 2]) for i in range(20) for name in ("fine", "sound")]
    rows += [("stuck", f"i{i:02}", "x") for i in range(20)]
    result = veracity.discover(pl.DataFrame(rows, ["source", "entity", "value"], orient="row"))
    page = page_of(result, tmp_path)
    assert page.tables["Labels"][1:] == [
        ["x", "50", "0.625", "0.500"],
        ["y", "30", "0.375", "0.500"],
    ]
    stuck = page.tables["What stuck says of it"]
    assert [row[0] for row in stuck] == ["true", "x", "y"]
    assert float(stuck[2][1]) > 0.8, "what is y it calls x"
    assert " · :" not in page.said


def test_tables_name_items_and_sources_as_the_claims_do(tmp_path, no_figures):
    rows = [(w, f"t{i}", "ab"[i % 2]) for i in range(6) for w in ("ann", "bob")]
    rows += [("cem", f"t{i}", "a") for i in range(6)]
    labels = pl.DataFrame(rows, ["worker", "task", "label"], orient="row")
    truth = pl.DataFrame({"task": ["t0", "t1"], "label": ["b", "b"]})
    page = page_of(veracity.discover(labels), tmp_path, truth=truth)
    assert page.tables["Sources, the worst first"][0][0] == "worker"
    assert page.tables["Items to look up next"][0][0] == "task"
    assert page.tables["What is wrong, the surest first"][0][0] == "task"


def test_every_item_can_be_looked_up(flights):
    result = veracity.discover(flights.claims)
    sources, *chunks = chunks_of(result)
    items = {
        tuple(names): (value, values) for chunk in chunks for names, value, _, values, _ in chunk
    }
    assert len(items) == len(result.tables.truths)
    told, values = items["VC-176", "departure"]
    assert told == "06:55"
    (first, plausibility, n_sources, numbers), *_ = values
    assert (first, plausibility, n_sources) == ("06:55", "0.962", 3)
    said = flights.claims.filter(entity="VC-176", attribute="departure", value="06:55")["source"]
    assert sorted(sources[number] for number in numbers) == sorted(said)


def test_of_a_fact_looked_up_the_answer_is_plausible():
    claims = pl.DataFrame({"source": ["a", "b"], "fact": ["f"] * 2, "claim": [False, False]})
    _, ((names, answer, plausibility, _, _),) = chunks_of(veracity.discover(claims, kind="binary"))
    assert (names, answer) == (["f"], "false")
    assert float(plausibility) > 0.5


def test_wrong_items_are_all_that_evaluate_counts(flights):
    result = veracity.discover(flights.claims)
    found, _ = gather(result, flights.truth)
    wrong = wrong_items(found)
    assert len(wrong) == round(400 * (1 - found.evaluation.accuracy))
    assert (wrong["settled_on"] != wrong["truth"]).all()
    assert wrong["plausibility"].is_sorted(descending=True)


def test_explanations_are_those_of_why(flights_page, flights):
    result = veracity.discover(flights.claims)
    first = result.questions(MOST_ASKED).row(0, named=True)
    why = result.why(first["entity"], first["attribute"])
    for sentence in why.words.splitlines():
        assert sentence in flights_page.said
    best = why.values.row(0, named=True)
    captions = re.findall(r"<caption><div>claims, and what they weigh", flights_page.text)
    assert len(captions) == MOST_ASKED
    weights = why.rows.filter(value=best["value"])["weight"]
    assert best["prior"] + weights.sum() == pytest.approx(best["score"])
    assert all(f"</span>{weight:.3f}" in flights_page.text for weight in weights)


def test_a_report_encodes_nothing_again(flights, monkeypatch, no_figures, tmp_path):
    result = veracity.discover(flights.claims)
    monkeypatch.delattr("veracity.engines.local.encode")
    assert page_of(result, tmp_path).said


def test_a_saved_run_gives_the_same_page(flights, tmp_path, no_figures):
    result = veracity.discover(flights.claims)
    before = page_of(result, tmp_path)
    after = page_of(veracity.load(result.save(tmp_path / "run")), tmp_path)
    same = set(before.tables) - {"Versions"}
    assert same == set(after.tables) - {"Versions"}
    assert all(before.tables[name] == after.tables[name] for name in same)


def test_warnings_are_at_the_head(tmp_path, no_figures):
    claims = pl.DataFrame({"source": ["a", "b"], "entity": ["x", "y"], "value": ["1", "2"]})
    page = page_of(veracity.discover(claims), tmp_path)
    health = veracity.check(claims)
    assert health.findings
    summary = page.said.split("What to check next")[1]
    for finding in health.findings:
        assert finding.name in summary
        assert finding.meaning in summary
        assert finding.remedy in summary


def test_what_was_normalised_and_left_out_is_told(tmp_path, no_figures):
    values = ["7:05 PM", "19:05", "7:10 pm", "8:00", "8:00 AM", "n/a"]
    claims = pl.DataFrame(
        {"source": list("abcabc"), "entity": list("xxxyyy"), "attribute": "t", "value": values}
    )
    result = veracity.discover(claims, normalise=True)
    page = page_of(result, tmp_path)
    rows = page.tables["Values that normalising changed, the most frequent first"]
    assert len(rows) - 1 == len(result.changes)
    assert ["t", "time", "7:05 PM", "19:05", "rewritten", "1"] in rows
    assert "6 rows were read. 5 claims count." in page.said
    for note in result.notes:
        assert note[1:] in page.said.split("How it was made")[-1]


def test_copies_are_suspected_and_good_sources_are_not(flights, tmp_path, no_figures):
    mirror = flights.claims.filter(source="hoppit").with_columns(source=pl.lit("echo"))
    claims = pl.concat([flights.claims, mirror])
    page = page_of(veracity.discover(claims), tmp_path)
    head, row = page.tables["Pairs of sources that may have copied"]
    assert head[:2] == ["copier", "original"]
    assert set(row[:2]) == {"echo", "hoppit"}
    page = page_of(veracity.discover(flights.claims), tmp_path)
    assert "No pair of sources shares more mistakes than chance explains." in page.said


def test_copiers_that_the_algorithm_found_are_told(flights, tmp_path, no_figures):
    result = veracity.discover(flights.claims, "accu-copy")
    rows = page_of(result, tmp_path).tables["Pairs that accu-copy discounts as copies"]
    copies = result.copies.select("source", "original")
    assert [tuple(row[:2]) for row in rows[1:]] == copies.rows()


def test_what_to_check_first_is_what_is_asked(flights_page, flights):
    asked = veracity.discover(flights.claims).questions(MOST_ASKED)
    head, *rows = flights_page.tables["Items to look up next"]
    assert head == ["entity", "attribute", "values to choose from", "plausibility", "claims", "why"]
    assert [tuple(row[:2]) for row in rows] == asked.select("entity", "attribute").rows()
    assert [row[-1] for row in rows] == asked["why"].to_list()


def test_what_to_check_next_says_on_which_items_two_answers_differ(tmp_path, no_figures, flights):
    worst = flights.claims.filter(source="hoppit")
    mirrors = [worst.with_columns(source=pl.lit(f"mirror {n}")) for n in range(4)]
    result = veracity.discover(pl.concat([flights.claims, *mirrors]))
    assert len(result.alternatives)
    _, *rows = page_of(result, tmp_path).tables["Items to look up next"]
    assert any(row[-1].startswith("the two possible answers differ here") for row in rows)


# --- every kind, every algorithm, and little to tell ----------------------------------------------


@pytest.mark.parametrize(
    ("kind", "name"),
    [(kind, name) for kind in KINDS for name in CATALOGUE if kind in CATALOGUE[name].make().kinds],
)
@pytest.mark.filterwarnings("ignore::veracity.errors.NotConverged")
def test_every_algorithm_and_kind_of_claims_has_a_report(kind, name, tmp_path, no_figures):
    result = veracity.discover(KINDS[kind], name, kind=kind)
    page = page_of(result, tmp_path, truth=TRUTHS[kind])
    assert page.open == []
    assert "How right it is" in page.said
    assert "Settings" in page.tables


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_figures_are_drawn_for_every_kind(kind, tmp_path):
    result = veracity.discover(KINDS[kind], kind=kind)
    page = page_of(result, tmp_path)
    assert page.tags.count("figure") >= (1 if kind == "numeric" else 2)  # no two numbers agree
    assert page.tags.count("img") == page.tags.count("source") == page.tags.count("figure")
    assert all(page.pictures)
    behind = page.text.count("The numbers in this figure")
    assert behind == page.tags.count("figure")
    names = re.findall(r'\bid="([^"]+)"', page.text)
    assert len(names) == len(set(names))


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_one_claim_is_enough(kind, tmp_path):
    page = page_of(veracity.discover(KINDS[kind].head(1), kind=kind), tmp_path)
    what = "fact" if kind == "binary" else "item"
    assert f"1 source makes 1 claim about 1 {what}, and nobody contradicts another." in page.said
    assert "a check of" in page.said


def test_without_the_plotting_library_the_page_says_so(flights, tmp_path, no_figures):
    page = page_of(veracity.discover(flights.claims), tmp_path)
    assert f"There are no figures, which need an extra: {how_to_get('plot')}." in page.said
    assert "figure" not in page.tags


def test_known_truths_count_in_the_health_check(flights, tmp_path, no_figures):
    result = veracity.discover(flights.claims, known=flights.truth.head(50))
    page = page_of(result, tmp_path)
    assert ["known truths", "50"] in page.tables["Settings"]
    assert "--known TRUTHS" in page.said.split("The command that makes it again")[1]


# --- safe, small and whole ------------------------------------------------------------------------


def test_nothing_a_source_says_becomes_markup(tmp_path):
    claims = pl.DataFrame(
        {
            "source": [EVIL, "b", "c", EVIL, "b", "c"],
            "entity": [EVIL] * 3 + ["y"] * 3,
            "attribute": [EVIL] * 6,
            "value": [EVIL, "2", "\x00\u202e" + EVIL, "1", "2", "1"],
        }
    )
    truth = pl.DataFrame({"entity": [EVIL], "attribute": [EVIL], "value": ["2"]})
    page = page_of(veracity.discover(claims), tmp_path, truth=truth)
    assert page.tags.count("script") == 1
    assert page.tags.count("img") == page.tags.count("figure")
    assert page.handlers == []
    assert EVIL in page.said
    assert "\x00" not in page.text
    assert page.open == []


def test_the_page_asks_the_network_for_nothing(flights_page):
    assert all(address.startswith(("#", "data:")) for address in flights_page.addresses)
    assert "@import" not in flights_page.text
    assert not re.search(r"url\((?!#)", flights_page.text)
    assert "default-src 'none'" in flights_page.text


def test_links_lead_somewhere(flights_page):
    names = set(re.findall(r'\bid="([^"]+)"', flights_page.text))
    links = [a[1:] for a in flights_page.addresses if a.startswith("#")]
    assert set(links) <= names
    assert f"item-{MOST_ASKED - 1}" in links


def test_many_sources_items_and_long_values_stay_below_five_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    n = 60_000
    item, source = rng.integers(0, 6_000, n), rng.integers(0, 3_000, n)
    value = np.where(rng.random(n) < 0.6, 0, rng.integers(1, 30, n))
    claims = pl.DataFrame({"source": source, "entity": item, "value": value}).select(
        source=pl.format("a source with a name of its own {}", "source"),
        entity=pl.format("an entity with a rather long name {}", "entity"),
        attribute=pl.lit("an attribute"),
        value=pl.format("value {} " + "and so on " * 100, "value"),
    )
    page = page_of(veracity.discover(claims), tmp_path)
    assert len(page.text.encode()) < 5e6
    assert len(page.tables["Sources, the worst first"]) == MOST_SOURCES + 1
    assert f"({MOST_SOURCES:,} of 3,000 are shown)" in page.said
    assert len(page.tables["Items to look up next"]) == MOST_ASKED + 1


def test_a_run_with_its_report_in_it_may_be_replaced(two_against_one, tmp_path, no_figures):
    result = veracity.discover(two_against_one)
    folder = result.save(tmp_path / "run")
    page = result.write_report(folder / "report.html")
    check_can_write(folder, force=True, marker="run.json")
    page.write_text("<!DOCTYPE html><p>mine")
    with pytest.raises(OutputError, match=r"did not write 'report\.html'"):
        check_can_write(folder, force=True, marker="run.json")


# --- making it again ------------------------------------------------------------------------------


def test_the_command_names_what_differs_from_the_defaults(flights, tmp_path):
    file = tmp_path / "my flights.csv"
    flights.claims.write_csv(file)
    result = veracity.discover(
        file, veracity.algorithms.LTDRBM(seed=7, batch_size=50), min_plausibility=0.6
    )
    told = command(result)
    assert told.startswith(f"veracity discover '{file}' --algorithm ltd-rbm --min-plausibility 0.6")
    assert "--set seed=7" in told
    assert told.endswith("--set batch_size=50 --out run/")


def test_the_command_says_what_makes_the_same_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("claims.csv").write_bytes(
        "source,entity,value\na,x,łódź\nb,x,łódź\nc,x,q\n".encode("cp1250")
    )
    one = veracity.algorithms.Veracity(strength=3.0, temper=False)
    result = veracity.discover("claims.csv", one, encoding="cp1250")
    assert result.truths["value"].to_list() == ["łódź"]
    told = shlex.split(command(result))
    for words in (["--encoding", "cp1250"], ["--set", "strength=3.0"], ["--set", "temper=false"]):
        assert words[1] in told[told.index(words[0]) :]
    CliRunner().invoke(main, told[1:], catch_exceptions=False)
    assert veracity.load("run").truths.equals(result.truths)


# --- the command ----------------------------------------------------------------------------------


def test_the_command_writes_a_page(flights, tmp_path, no_figures):
    folder = veracity.discover(flights.claims).save(tmp_path / "run")
    flights.truth.write_csv(tmp_path / "truth.csv")
    out = tmp_path / "report.html"
    words = ["report", str(folder), "--out", str(out)]
    done = CliRunner().invoke(main, [*words, "--truth", str(tmp_path / "truth.csv")])
    assert done.exit_code == 0, done.output
    assert done.output == f"written to {out}\n"
    assert "How right it is" in out.read_text(encoding="utf-8")
    again = CliRunner().invoke(main, words)
    assert again.exit_code == 1
    assert "exists" in again.output
    assert CliRunner().invoke(main, [*words, "--force"]).exit_code == 0


def test_a_page_is_not_given_the_ending_of_another_form(flights, tmp_path, no_figures):
    folder = veracity.discover(flights.claims).save(tmp_path / "run")
    done = CliRunner().invoke(main, ["report", str(folder), "--out", str(tmp_path / "page.xlsx")])
    assert done.exit_code == 1
    assert "a report is a page of HTML; let its name end in .html" in done.output
    assert not (tmp_path / "page.xlsx").exists()


# --- numbers --------------------------------------------------------------------------------------


def test_measured_numbers_are_short_and_not_compared_as_if_they_were_names(tmp_path):
    claims, truth = draw_numbers(1, n_sources=4, n_items=30)
    result = veracity.discover(claims, kind="numeric")
    page = result.write_report(tmp_path / "report.html", truth=truth).read_text("utf-8")
    written = re.sub(r"<(script|style)\b.*?</\1>|data:[^\"]*", "", page, flags=re.DOTALL)
    assert not re.search(r"\d\.\d{8,}", written)
    for words in ("agreement with others", "right on known truths", "How often sources say"):
        assert words not in page
