"""The wheel in a clean environment, outside of the repository: its command runs, and its types are those of the source.

The application is checked by `mypy --strict`; it uses decorators, the language, the client and the testing helpers.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.page import ROOT

pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
LOCATED = re.compile(r"^\w+\.py:(\d+): (\w+): (.*?)(?:  \[([\w-]+)\])?$", re.MULTILINE)
MISTAKE = "# wrong: "


def execute(folder: Path, *words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, without the paths of the source."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "MYPYPATH", "VIRTUAL_ENV")}
    env["UV_LINK_MODE"] = "copy"
    return subprocess.run(words, cwd=folder, env=env, capture_output=True, text=True, timeout=240, check=False)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with an environment `venv`, in which only the wheel and mypy are installed."""
    folder = tmp_path_factory.mktemp("wheel")
    build = execute(folder, "uv", "build", "--quiet", "--wheel", "--out-dir", folder, ROOT)
    assert build.returncode == 0, build.stderr
    (wheel,) = folder.glob("*.whl")
    environment = execute(folder, "uv", "venv", "--quiet", "--python", sys.executable, "venv")
    assert environment.returncode == 0, environment.stderr
    install = execute(folder, "uv", "pip", "install", "--quiet", "--python", "venv", wheel, "mypy>=1.18")
    assert install.returncode == 0, install.stderr
    return folder


def checked(folder: Path, name: str) -> list[tuple[int, str, str, str]]:
    """Check a file of this folder in the environment, and return line, severity, message and code of each message."""
    shutil.copy(HERE / name, folder)
    result = execute(folder, folder / "venv" / "bin" / "mypy", "--strict", "--no-incremental", name)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    return [(int(line), severity, text, code) for line, severity, text, code in LOCATED.findall(result.stdout)]


def test_wheel_runs_the_conformance_tests(installed):
    result = execute(installed, installed / "venv" / "bin" / "kron", "conformance", "fuzzy")
    assert result.returncode == 0, result.stderr
    assert result.stdout.splitlines()[-1] == "62 of 62 tests pass; conformance level 3"


def test_wheel_has_the_package_and_no_tests(installed):
    listing = execute(installed, installed / "venv" / "bin" / "python", "-c", "import kron; print(kron.__file__)")
    package = Path(listing.stdout.strip()).parent
    assert installed in package.parents
    assert not (package.parent / "tests").exists()
    source = {path.relative_to(ROOT / "src" / "kron") for path in (ROOT / "src" / "kron").rglob("*.*")}
    shipped = {path.relative_to(package) for path in package.rglob("*.*")}
    assert {path for path in source - shipped if path.suffix != ".pyc"} == set()


def test_typed_application_has_no_errors_and_keeps_signatures(installed):
    messages = checked(installed, "typed_application.py")
    assert [message for message in messages if message[1] == "error"] == []
    assert [re.sub(r"\btyping\.", "", text) for _, severity, text, _ in messages if severity == "note"] == [
        'Revealed type is "def (year: int =) -> Coroutine[Any, Any, str]"',
        'Revealed type is "def (folder: str, *, dry: bool =) -> int"',
        'Revealed type is "def () -> Coroutine[Any, Any, None]"',
    ]


def test_wrong_calls_are_reported(installed):
    lines = (HERE / "typed_mistakes.py").read_text(encoding="utf-8").splitlines()
    marked = [(number, line.split(MISTAKE)[1]) for number, line in enumerate(lines, 1) if MISTAKE in line]
    messages = checked(installed, "typed_mistakes.py")
    assert [(line, code) for line, severity, _, code in messages if severity == "error"] == marked
    assert len(marked) == 9
