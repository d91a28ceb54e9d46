"""Build the wheel and the sdist, and try them as a stranger would: ``make package``.

They are ready to publish if this ends with "ready": the metadata are well-formed, everything that
belongs in is in and nothing else, the wheel installs into a fresh environment and the demo runs
there, and no dependency is known to be vulnerable (where the service that knows can be reached).
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"

IN_WHEEL = ("veracity/py.typed", "veracity/show/style.css", "veracity/show/script.js")
IN_SDIST = (
    "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "docs/index.md", "tests/test_docs.py"
)  # fmt: skip


def main() -> int:
    """Build and try both; the exit code is 0 if they are ready."""
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "-q", "--outdir", str(DIST), str(ROOT))
    (wheel,), (sdist,) = DIST.glob("*.whl"), DIST.glob("*.tar.gz")
    run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    missing = [*missing_in_wheel(wheel), *missing_in_sdist(sdist)]
    if missing:
        print(f"not as it should be: {', '.join(missing)}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        try_wheel(wheel, Path(folder))
    is_safe = audit()
    for file in (wheel, sdist):
        print(f"{file.relative_to(ROOT)}: {file.stat().st_size / 1e6:.1f} MB")
    print("ready: twine upload dist/*" if is_safe else "not ready: see what pip-audit says")
    return 0 if is_safe else 1


def missing_in_wheel(wheel: Path) -> list[str]:
    """Return what lacks in the wheel, or does not belong there."""
    names = zipfile.ZipFile(wheel).namelist()
    strangers = [n for n in names if not n.startswith(("veracity/", "veracity-"))]
    return [
        *(f"{name} is not in the wheel" for name in IN_WHEEL if name not in names),
        *(f"{name} is in the wheel" for name in strangers),
    ]


def missing_in_sdist(sdist: Path) -> list[str]:
    """Return what lacks in the sdist."""
    with tarfile.open(sdist) as packed:
        names = {name.partition("/")[2] for name in packed.getnames()}
    return [f"{name} is not in the sdist" for name in IN_SDIST if name not in names]


def try_wheel(wheel: Path, folder: Path) -> None:
    """Install the wheel where nothing else is, and run the demo there."""
    run(sys.executable, "-m", "venv", str(folder / "env"))
    python = folder / "env" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    pins = str(ROOT / "constraints.txt")
    run(str(python), "-m", "pip", "install", "-q", "-c", pins, str(wheel))
    run(str(python), "-m", "pip", "check")
    demo = run(str(python), "-m", "veracity", "demo", "--out", "run", cwd=folder, quiet=True)
    assert "A majority vote would have been right on" in demo
    assert (folder / "run" / "report.html").is_file()


def audit() -> bool:
    """Return False if a pinned dependency is known to be vulnerable."""
    command = [sys.executable, "-m", "pip_audit", "-r", str(ROOT / "constraints.txt"), "--no-deps",
               "--disable-pip", "--progress-spinner", "off", "--format", "json"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print("pip-audit cannot reach its service: vulnerabilities were not looked for")
        return True
    asked = [each for each in found if "vulns" in each]
    print(f"pip-audit knows of {len(asked)} of {len(found)} pinned dependencies")
    vulnerable = [each for each in asked if each["vulns"]]
    for each in vulnerable:
        known = ", ".join(one["id"] for one in each["vulns"])
        print(f"{each['name']} {each['version']} is vulnerable: {known}")
    return not vulnerable


def run(*command: str, cwd: Path | None = None, quiet: bool = False) -> str:
    """Run a command, which must succeed."""
    print("$", *command, flush=True)
    done = subprocess.run(command, cwd=cwd, check=True, capture_output=quiet, text=True)
    return done.stdout or ""


if __name__ == "__main__":
    sys.exit(main())
