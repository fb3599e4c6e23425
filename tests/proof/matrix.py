"""The same tests with other versions of Python and TensorFlow: ``make matrix``. What came out stands in docs/versions.md.

Each pair gets a virtual environment of its own in ``.matrix/``, with the newest of all other packages that go with that TensorFlow. A pair whose
Python is not on this machine, or whose TensorFlow cannot be installed, is said to be so and fails nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".matrix"
PAGE = ROOT / "docs/versions.md"

TESTS = (
    "tests/capture/test_branches.py",
    "tests/capture/test_custom_gradients.py",
    "tests/capture/test_custom_gradients_in_bodies.py",
    "tests/capture/test_custom_gradients_of_variables.py",
    "tests/capture/test_dependence.py",
    "tests/capture/test_escapes.py",
    "tests/capture/test_every_api.py",
    "tests/capture/test_function_calls.py",
    "tests/capture/test_functions.py",
    "tests/capture/test_gates.py",
    "tests/capture/test_gates_of_custom_gradients.py",
    "tests/capture/test_gates_of_handles.py",
    "tests/capture/test_gates_undisturbed.py",
    "tests/capture/test_keras.py",
    "tests/capture/test_loops.py",
    "tests/capture/test_loops_over_elements.py",
    "tests/capture/test_meta_steps.py",
    "tests/capture/test_numbers.py",
    "tests/capture/test_numbers_of_python.py",
    "tests/capture/test_numbers_of_steps.py",
    "tests/capture/test_oracle.py",
    "tests/capture/test_raising.py",
    "tests/capture/test_raising_gradient_functions.py",
    "tests/capture/test_tape_windows.py",
    "tests/capture/test_tapes_across_borders.py",
    "tests/capture/test_undisturbed.py",
    "tests/capture/test_values_read_in_python.py",
    "tests/capture/test_watching.py",
    "tests/capture/test_writes.py",
    "tests/functional/test_cli_errors.py",
    "tests/functional/test_run.py",
)
"""What touches TensorFlow's own parts most; ``--all`` runs everything."""


@dataclass(frozen=True)
class Pair:
    python: str
    tensorflow: str
    more: tuple[str, ...] = ()
    tests: tuple[str, ...] = field(default=TESTS)

    @property
    def name(self) -> str:
        return f"python{self.python}-{re.sub(r'[^0-9a-z.]+', '-', self.tensorflow)}"


PAIRS = (
    Pair("3.10", "tensorflow-cpu==2.16.2"),
    Pair("3.11", "tensorflow-cpu==2.18.1"),
    Pair("3.12", "tensorflow-cpu==2.19.1", ("tf_keras==2.19.*",), (*TESTS, "tests/models/test_tf_keras.py")),
    Pair("3.13", "tensorflow-cpu==2.21.0"),
    Pair("3.12", "tf-nightly-cpu"),
)


KNOWN = {
    "tf-nightly-cpu": (
        "TensorFlow 2.22 gives `AdjustContrastv2` a gradient, which these tests take as an op without one (`tapetrace ops 'AdjustContrast*'` says "
        "so), and its `tf.norm` has a gradient of zero at zero, not NaN: the answers are right, the tests speak of older versions.",
        "",
    ),
}
"""What is known about what differs."""


@dataclass(frozen=True)
class Outcome:
    pair: Pair
    versions: str
    tests: str
    seconds: float
    failed: tuple[str, ...] = ()
    day: str = ""

    def save(self) -> None:
        """Keep it beside the environment, so that pairs can be run one by one."""
        kept = {"versions": self.versions, "tests": self.tests, "seconds": self.seconds, "failed": self.failed, "day": date.today().isoformat()}
        PLACE.mkdir(exist_ok=True)
        (PLACE / f"{self.pair.name}.json").write_text(json.dumps(kept), encoding="utf-8")

    @staticmethod
    def load(pair: Pair) -> Outcome | None:
        file = PLACE / f"{pair.name}.json"
        if not file.exists():
            return None
        kept = json.loads(file.read_text(encoding="utf-8"))
        return Outcome(pair, kept["versions"], kept["tests"], kept["seconds"], tuple(kept["failed"]), kept["day"])


def interpreter(version: str) -> str | None:
    """A Python of that version: on PATH, or one of pyenv's."""
    found = shutil.which(f"python{version}")
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = [found] if found else []
    candidates += [str(p / "bin/python") for p in sorted(pyenv.glob(f"{version}.*"))] if pyenv.is_dir() else []
    for candidate in candidates:
        done = subprocess.run([candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.strip() == version:
            return candidate
    return None


def install(pair: Pair) -> tuple[Path | None, str]:
    """The Python of the pair's environment; or None, and why there is none."""
    base = interpreter(pair.python)
    if base is None:
        return None, f"no Python {pair.python} on this machine"
    folder = PLACE / pair.name
    python = folder / "bin/python"
    if not (folder / ".made").exists():
        subprocess.run([base, "-m", "venv", "--clear", str(folder)], check=True)
        wanted = [pair.tensorflow, *pair.more, "pytest>=8.3", "pytest-xdist>=3.6", "hypothesis>=6.115", "jsonschema>=4.23", "pygraphviz>=2.0.4"]
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
        done = subprocess.run([*pip, "--editable", str(ROOT), *wanted], capture_output=True, text=True, check=False)
        if done.returncode:
            return None, f"cannot be installed: {(done.stderr.strip().splitlines() or ['pip failed'])[-1]}"
        (folder / ".made").touch()
    return python, ""


def versions(python: Path) -> str:
    code = "import tensorflow, keras, numpy; print(f'TensorFlow {tensorflow.__version__}, Keras {keras.__version__}, NumPy {numpy.__version__}')"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=False, env=environment())
    return done.stdout.strip() or f"TensorFlow cannot be imported: {(done.stderr.strip().splitlines() or [''])[-1]}"


def environment() -> dict[str, str]:
    return {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONWARNINGS": "default"}


def run(pair: Pair, tests: tuple[str, ...]) -> Outcome:
    python, why = install(pair)
    if python is None:
        return Outcome(pair, "", why, 0.0)
    begun = time.monotonic()
    found = versions(python)
    command = [str(python), "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment())
    (PLACE / f"{pair.name}.log").write_text(done.stdout + done.stderr, encoding="utf-8")
    lines = done.stdout.strip().splitlines() or ["pytest printed nothing"]
    failed = tuple(sorted({m[1] for line in lines if (m := re.match(r"(?:FAILED|ERROR) (.*?)(?: - |$)", line))}))
    return Outcome(pair, found, re.sub(r" in [0-9.]+s.*", "", lines[-1]), time.monotonic() - begun, failed)


def page(outcomes: list[Outcome]) -> str:
    """What came out, as a page of the documentation."""
    rows = [f"| {o.pair.python} | `{o.pair.tensorflow}` | {o.versions or '-'} | {o.tests} | {o.day} |" for o in outcomes]
    parts = [
        "# Versions", "", "`make matrix` runs the same tests with these versions, each pair in an environment of its own.", "",
        "| Python | asked for | installed | tests | on |", "|---|---|---|---|---|", *rows, "",
    ]  # fmt: skip
    for o in outcomes:
        if o.failed:
            parts += [f"Differs with {o.versions}:", "", *(f"- `{name}`" for name in o.failed), "", *KNOWN.get(o.pair.tensorflow, ())]
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="pairs whose name contains this")
    parser.add_argument("--all", action="store_true", help="all tests that use TensorFlow")
    asked = parser.parse_args()
    failed = False
    for pair in PAIRS:
        if asked.only in pair.name:
            found = run(pair, ("tests/capture", "tests/functional", "tests/models") if asked.all else pair.tests)
            found.save()
            print(f"{pair.name}: {found.versions or '-'}; {found.tests}; {found.seconds:.0f} s", flush=True)
            failed = failed or bool(found.failed and "nightly" not in pair.tensorflow)
    PAGE.write_text(page([o for p in PAIRS if (o := Outcome.load(p)) is not None]), encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
