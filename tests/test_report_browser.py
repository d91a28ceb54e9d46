"""The report as a browser shows it: it is opened, read, clicked and typed on."""

from __future__ import annotations

import json
import os
from itertools import pairwise

import polars as pl
import pytest
from selenium.webdriver import Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

import veracity
from browser import BROWSER, DRIVER, open_browser, set_theme, set_width

SOURCES = "Sources, the worst first"
EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def driver():
    """A browser; where none can be had the tests are skipped, but never in CI."""
    if (BROWSER is None or DRIVER is None) and "CI" not in os.environ:
        pytest.skip("no browser: 'make browser' installs Debian's chromium and chromium-driver")
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def address(flights, tmp_path_factory):
    """A report with a source that would like to be a script, and with a warning."""
    mirrors = [
        flights.claims.filter(source="hoppit").with_columns(source=pl.lit(name))
        for name in (EVIL, "echo", "parrot")
    ]
    claims = pl.concat([flights.claims, *mirrors])
    folder = tmp_path_factory.mktemp("browser")
    path = veracity.discover(claims).write_report(folder / "report.html", truth=flights.truth)
    return path.as_uri()


@pytest.fixture
def page(driver, address):
    """The report, as it is when it has just been opened on a desktop."""
    set_width(driver, 1280)
    set_theme(driver, "light")
    driver.get("about:blank")
    for log in ("browser", "performance"):
        driver.get_log(log)
    driver.get(address)
    return driver


def table_of(page, caption):
    return next(
        table
        for table in page.find_elements(By.TAG_NAME, "table")
        if caption in table.find_element(By.TAG_NAME, "caption").get_attribute("textContent")
    )


def column(table, number):
    script = """return Array.from(arguments[0].tBodies[0].rows).filter(row => !row.hidden)
        .map(row => row.cells[arguments[1]].textContent)"""
    return table.parent.execute_script(script, table, number)


def heading(table, name):
    return next(
        each for each in table.find_elements(By.CSS_SELECTOR, "thead th") if each.text == name
    )


def tab_to(page, start, goal):
    """Press the tab key, from one element on, until another has the focus."""
    page.execute_script("arguments[0].focus()", start)
    for _ in range(60):
        page.switch_to.active_element.send_keys(Keys.TAB)
        if page.switch_to.active_element == goal:
            return goal
    raise AssertionError("the keyboard does not lead there")


def test_nothing_goes_wrong_and_nothing_is_asked_of_the_network(page):
    set_theme(page, "dark")
    set_width(page, 390)
    page.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert page.get_log("browser") == []
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    asked = [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]
    assert [url for url in asked if not url.startswith(("file:", "data:", "about:"))] == []
    assert sum(url.startswith("file:") for url in asked) == 1
    assert page.execute_script("return performance.getEntriesByType('resource')") == []


@pytest.mark.slow
def test_a_script_that_a_source_smuggles_in_could_not_run_anyway(page):
    page.execute_script(
        "const s = document.createElement('script'); s.textContent = 'window.hacked = true';"
        "document.body.append(s)"
    )
    assert page.execute_script("return window.hacked") is None
    assert any("Content Security Policy" in entry["message"] for entry in page.get_log("browser"))


def test_a_click_on_a_heading_sorts_and_another_one_turns_it_round(page):
    table = table_of(page, SOURCES)
    accuracy = heading(table, "accuracy (90% interval)")
    assert accuracy.get_attribute("aria-sort") is None
    accuracy.find_element(By.TAG_NAME, "button").click()
    assert accuracy.get_attribute("aria-sort") == "descending"
    rates = [float(cell.split()[0]) for cell in column(table, 1)]
    assert rates == sorted(rates, reverse=True)
    accuracy.find_element(By.TAG_NAME, "button").click()
    assert accuracy.get_attribute("aria-sort") == "ascending"
    assert [float(cell.split()[0]) for cell in column(table, 1)] == sorted(rates)
    names = heading(table, "source")
    names.find_element(By.TAG_NAME, "button").click()
    assert accuracy.get_attribute("aria-sort") is None
    assert names.get_attribute("aria-sort") == "ascending"
    assert [name for name in column(table, 0) if name != EVIL] == sorted(
        name for name in column(table, 0) if name != EVIL
    )


@pytest.mark.slow
@pytest.mark.parametrize("key", [Keys.ENTER, Keys.SPACE])
def test_the_keyboard_sorts(page, key):
    table = table_of(page, SOURCES)
    button = heading(table, "tpr (90% interval)").find_element(By.TAG_NAME, "button")
    box = page.find_element(By.CSS_SELECTOR, "#sources input")
    reached = tab_to(page, box, button)
    assert reached.value_of_css_property("outline-style") == "solid"
    reached.send_keys(key)
    assert heading(table, "tpr (90% interval)").get_attribute("aria-sort") == "descending"
    rates = [float(cell.split()[0]) for cell in column(table, 4)]
    assert rates == sorted(rates, reverse=True)


def test_search_filters_and_counts(page):
    table = table_of(page, SOURCES)
    box = page.find_element(By.XPATH, f"//label[contains(., '{SOURCES}')]/following::input")
    n_sources = len(column(table, 0))
    box.send_keys("RADAR")
    assert column(table, 0) == ["radar"]
    count = box.find_element(By.XPATH, "following::output")
    assert count.text == f"1 of {n_sources} rows"
    box.clear()
    box.send_keys("script>")
    assert column(table, 0) == [EVIL]
    box.send_keys(Keys.BACKSPACE * len("script>"))
    assert len(column(table, 0)) == n_sources
    assert count.text == ""


@pytest.mark.slow
def test_every_box_has_a_label_and_every_table_a_caption(page):
    for box in page.find_elements(By.TAG_NAME, "input"):
        name = box.get_attribute("id")
        assert page.find_element(By.CSS_SELECTOR, f"label[for='{name}']").text
    unnamed = "return Array.from(document.querySelectorAll('table')).filter(t => !t.caption).length"
    assert page.execute_script(unnamed) == 0
    scopes = "return document.querySelectorAll('th:not([scope])').length"
    assert page.execute_script(scopes) == 0
    levels = page.execute_script(
        "return Array.from(document.querySelectorAll('h1,h2,h3')).map(h => Number(h.tagName[1]))"
    )
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


@pytest.mark.parametrize("key", [Keys.ENTER, Keys.SPACE])
def test_the_keyboard_opens_an_explanation(page, key):
    first = page.find_element(By.ID, "item-0")
    summary = first.find_element(By.TAG_NAME, "summary")
    links = page.find_elements(By.CSS_SELECTOR, "#items tbody a")
    reached = tab_to(page, links[-1], summary)
    assert first.get_attribute("open") is None
    reached.send_keys(key)
    assert first.get_attribute("open") is not None
    assert "because" in first.text


@pytest.mark.slow
def test_a_link_in_the_table_opens_the_explanation(page):
    link = page.find_element(By.CSS_SELECTOR, "#items tbody a")
    link.send_keys(Keys.ENTER)
    opened = page.find_element(By.ID, link.get_attribute("href").split("#")[1])
    assert opened.get_attribute("open") is not None


@pytest.mark.slow
def test_any_item_can_be_looked_up(page):
    count = page.find_element(By.CSS_SELECTOR, "#looked-up output")
    WebDriverWait(page, 20).until(lambda _: count.text == "the first 8 of 400")
    assert len(page.find_elements(By.CSS_SELECTOR, "#looked-up details")) == 8
    box = page.find_element(By.ID, "look-up")
    box.send_keys("vc-299 GATE")
    WebDriverWait(page, 20).until(lambda _: count.text == "1 found")
    found = page.find_elements(By.CSS_SELECTOR, "#looked-up details")
    assert [each.find_element(By.TAG_NAME, "b").text for each in found] == ["VC-299 · gate"]
    assert "airline" in found[0].text
    box.send_keys("X")
    WebDriverWait(page, 20).until(lambda _: count.text == "none has this name")


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1440])
def test_figures_fit_the_screen(page, width):
    set_width(page, width)
    over = """return Array.from(document.querySelectorAll('figure img'))
        .filter(each => each.checkVisibility() && each.getBoundingClientRect().right > innerWidth)
        .length"""
    assert page.execute_script(over) == 0


@pytest.mark.slow
def test_tables_are_not_squeezed_on_a_phone(page):
    set_width(page, 390)
    heights = page.execute_script(
        "return [...document.querySelectorAll('section .table tbody tr')]"
        ".filter(row => row.checkVisibility())"
        ".map(row => row.getBoundingClientRect().height / 16)"
    )
    assert len(heights) > 10
    assert max(heights) < 10  # lines, of which the reasons for a question take a few


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_only_tables_scroll_sideways(page, width):
    set_width(page, width)
    page.execute_script("document.querySelectorAll('details').forEach(each => each.open = true)")
    wide = page.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width


@pytest.mark.slow
def test_light_and_dark(page):
    paper = "return getComputedStyle(document.body).backgroundColor"
    shown = """return Array.from(document.querySelectorAll('figure img'))
        .map(each => atob(each.currentSrc.split(',')[1])).map(svg => svg.includes('#15191e'))"""
    for theme in ("light", "dark"):
        set_theme(page, theme)
        colour = page.execute_script(paper)
        assert (colour == "rgb(255, 255, 255)") == (theme == "light")
        WebDriverWait(page, 20).until(
            lambda page, theme=theme: set(page.execute_script(shown)) == {theme == "dark"}
        )


@pytest.mark.slow
def test_text_stands_out_from_the_paper(page):
    """WCAG AA: a contrast of 4.5 or more, in both themes, for all colours of text."""
    script = """
      const light = (colour) => {
        const [r, g, b] = colour.match(/\\d+/g).map(Number).map(part => part / 255)
          .map(part => part <= .04045 ? part / 12.92 : ((part + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b;
      };
      const paperOf = (element) => {
        for (let each = element; each; each = each.parentElement) {
          const colour = getComputedStyle(each).backgroundColor;
          if (colour !== 'rgba(0, 0, 0, 0)') return colour;
        }
      };
      const tags = 'p, li, th, td, dt, dd, a, small, strong, summary, caption, output';
      return Math.min(...Array.from(document.querySelectorAll(tags), (each) => {
        const ink = light(getComputedStyle(each).color), paper = light(paperOf(each));
        return (Math.max(ink, paper) + .05) / (Math.min(ink, paper) + .05);
      }));"""
    for theme in ("light", "dark"):
        set_theme(page, theme)
        assert page.execute_script(script) >= 4.5


@pytest.mark.slow
def test_in_print_everything_is_open_and_light(page):
    set_theme(page, "dark")
    page.execute_script("window.dispatchEvent(new Event('beforeprint'))")
    closed = "return document.querySelectorAll('details:not([open])').length"
    assert page.execute_script(closed) == 0
    page.execute_script("window.dispatchEvent(new Event('afterprint'))")
    assert page.execute_script(closed) > 0
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": features})
    ink = "return getComputedStyle(document.body).color"
    assert page.execute_script(ink) == "rgb(0, 0, 0)"
    dark = "return document.querySelector('figure img').currentSrc"
    light = page.find_element(By.CSS_SELECTOR, "figure img").get_attribute("src")
    WebDriverWait(page, 20).until(lambda page: page.execute_script(dark) == light)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})


@pytest.mark.slow
def test_without_scripts_the_page_can_be_read(page, address):
    page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        page.get(address)
        assert page.find_elements(By.TAG_NAME, "input") == []
        assert page.find_elements(By.CSS_SELECTOR, "thead button") == []
        assert "sources make" in page.find_element(By.ID, "summary").text
    finally:
        page.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})


# --- nothing is clipped, whatever there is to show ------------------------------------------------

LONG = "The International Consolidated Register of Departures and Arrivals, revised edition of 2026"
WORD = "Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft"

CLIPPED = """
const found = [];
for (const picture of document.querySelectorAll("svg")) {
  const box = picture.getBoundingClientRect();
  if (!box.width) continue;
  for (const label of picture.querySelectorAll("text")) {
    const own = label.getBoundingClientRect();
    const is_inside = own.left > box.left - 1 && own.right < box.right + 1
      && own.top > box.top - 1 && own.bottom < box.bottom + 1;
    if (own.width && !is_inside) found.push(label.textContent);
  }
}
return found;
"""


def many_names():
    claims = veracity.synthetic.flights().claims
    return claims.with_columns(
        pl.col("source").replace({"radar": LONG, "airline": WORD}),
        pl.col("attribute").replace({"gate": LONG.lower()}),
    )


def three_sources():
    return veracity.synthetic.Synthetic(sources=3, items=12).draw(seed=2).claims


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 390])
@pytest.mark.parametrize("make", [many_names, three_sources], ids=lambda make: make.__name__)
def test_no_name_in_a_figure_is_clipped(driver, tmp_path, make, width):
    plots = veracity.discover(make()).plot
    names = ("sources", "agreement", "plausibility")
    page, svgs = tmp_path / "figures.html", [getattr(plots, name)().svg() for name in names]
    page.write_text(f"<!DOCTYPE html><meta charset=utf-8>{''.join(svgs)}", encoding="utf-8")
    set_width(driver, width)
    driver.get(page.as_uri())
    assert driver.execute_script(CLIPPED) == []
    assert "null" not in driver.execute_script(
        "return [...document.querySelectorAll('svg text')].map(label => label.textContent)"
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", [1440, 390])
def test_long_names_do_not_widen_the_page(driver, tmp_path, width):
    page = veracity.discover(many_names()).write_report(tmp_path / "report.html")
    set_width(driver, width)
    driver.get(page.as_uri())
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
