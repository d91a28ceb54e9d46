"""Make the pictures of the docs: the report of the demo, as a browser shows it, and figures.

    python docs/screenshots/make.py

It needs the `test` extra, and Chromium: `make browser` installs it.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

import veracity

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests"))

from browser import open_browser, set_theme, set_width  # noqa: E402

PICTURES = {
    "summary": (1280, "light", "header", "#summary"),
    "items": (1280, "light", "#items h3", "#item-0"),
    "sources": (1280, "light", "#sources figure", "#sources .table"),
    "phone": (390, "dark", "header", "#summary .numbers"),
}
"""What is in each picture: width and theme, the first and the last element."""

FIGURES = {
    "sources": {},
    "agreement": {},
    "decision": {"entity": "VC-111", "attribute": "gate"},
}

BOUNDS = """
const [first, last] = Array.from(arguments, (each) => document.querySelector(each));
const top = first.getBoundingClientRect().top, bottom = last.getBoundingClientRect().bottom;
return [top + scrollY, bottom - top];
"""


def main() -> None:
    """Write the pictures beside this script."""
    flights = veracity.synthetic.flights()
    result = veracity.discover(flights.claims)
    for name, given in FIGURES.items():
        getattr(result.plot, name)(**given).save(HERE / f"plot-{name}.svg", force=True)
    with tempfile.TemporaryDirectory() as folder, open_browser() as driver:
        page = result.write_report(Path(folder) / "report.html", truth=flights.truth)
        for name, (width, theme, first, last) in PICTURES.items():
            set_width(driver, width)
            set_theme(driver, theme)
            driver.get(page.as_uri())
            driver.execute_script("document.getElementById('item-0').open = true")
            top, height = driver.execute_script(BOUNDS, first, last)
            clip = {"x": 0, "y": max(top - 12, 0), "width": width, "height": height + 24}
            taken = driver.execute_cdp_cmd(
                "Page.captureScreenshot",
                {"captureBeyondViewport": True, "clip": {**clip, "scale": 1}},
            )
            (HERE / f"report-{name}.png").write_bytes(base64.b64decode(taken["data"]))


if __name__ == "__main__":
    main()
