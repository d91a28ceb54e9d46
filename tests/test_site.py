"""The site is made of docs/ without a warning, and asks the network for nothing."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from browser import BROWSER, DRIVER, open_browser

ROOT = Path(__file__).parents[1]
REMOTE = re.compile(r"\s*(https?:)?//", re.IGNORECASE)
OF_STYLE = re.compile(r"(?:@import\s+|url\(\s*)[\"']?([^\"')\s]+)", re.IGNORECASE)
A_LINK_TO_CLICK = "a"


class Resources(HTMLParser):
    """What a page loads: all of its src and href, but for links that are there to be clicked."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        names = () if tag == A_LINK_TO_CLICK else ("src", "href", "srcset", "poster", "data")
        self.found += [given[name] for name in names if given.get(name)]


def remote_in(page: Path) -> list[str]:
    text = page.read_text(encoding="utf-8")
    reader = Resources()
    if page.suffix == ".html":
        reader.feed(text)
    return [each for each in [*reader.found, *OF_STYLE.findall(text)] if REMOTE.match(each)]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


def test_every_page_of_docs_is_on_the_site(site):
    pages = {page.relative_to(ROOT / "docs") for page in ROOT.glob("docs/**/*.md")}
    assert not [page for page in pages if not (site / page.with_suffix(".html")).is_file()]


def test_no_script_of_docs_is_on_the_site(site):
    assert not list(site.glob("**/*.py*"))


def test_nothing_is_loaded_from_the_network(site):
    pages = [*site.glob("**/*.html"), *site.glob("**/*.css")]
    assert {str(page): found for page in pages if (found := remote_in(page))} == {}


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://example.org/a.js"></script>',
        '<link rel="stylesheet" href="//example.org/a.css">',
        '<img src="http://example.org/a.png">',
        "<style>@import 'https://example.org/a.css';</style>",
        '<p style="background: url(https://example.org/a.png)">',
    ],
)
def test_what_is_loaded_from_the_network_is_seen(text, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(text, encoding="utf-8")
    assert len(remote_in(page)) == 1


def test_a_link_to_click_is_not_loaded(tmp_path):
    page = tmp_path / "page.html"
    page.write_text('<a href="https://example.org/">there</a>', encoding="utf-8")
    assert remote_in(page) == []


class Quiet(SimpleHTTPRequestHandler):
    """Hands out files, and tells nobody."""

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address(site):
    """Where the site can be had from a server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def asked_for(driver):
    """Every address the browser asked for since this was last called."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [each for each in messages if each["method"] == "Network.requestWillBeSent"]
    return [each["params"]["request"]["url"] for each in sent]


@pytest.mark.slow
@pytest.mark.skipif(
    (BROWSER is None or DRIVER is None) and "CI" not in os.environ,
    reason="no browser: 'make browser' installs Debian's chromium and chromium-driver",
)
@pytest.mark.parametrize("place", ["server", "folder"])
def test_a_browser_finds_a_page_and_asks_nobody_else(place, address, site):
    address = address if place == "server" else f"{site.as_uri()}/"
    with open_browser() as driver:
        asked_for(driver)
        driver.get(f"{address}index.html")
        driver.find_element(By.CSS_SELECTOR, "label[for=__search]").click()
        box = driver.find_element(By.NAME, "query")
        WebDriverWait(driver, 20).until(lambda _: box.is_displayed() and box.is_enabled())
        box.send_keys("gold questions")
        found = (By.CSS_SELECTOR, "a.md-search-result__link")
        WebDriverWait(driver, 20).until(lambda driver: driver.find_elements(*found))
        links = [each.get_attribute("href") for each in driver.find_elements(*found)]
        assert any("tutorials/crowd-labels.html" in link for link in links)
        asked = [url for url in asked_for(driver) if url.startswith(("http", "file"))]
        assert f"{address}index.html" in asked
        assert [url for url in asked if not url.startswith(address)] == []
        assert driver.get_log("browser") == []
