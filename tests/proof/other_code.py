"""Other people's code, as it is and under ``tapetrace run``: ``make other-code``. Exit code 1 when anything differs.

Each library gets a virtual environment of its own in ``.others/`` and runs its program in ``tests/proof/others``, which is seeded: what it prints has
to be the same, byte for byte, and no verdict disagrees with TensorFlow. With ``--tests gpflow=FOLDER FILE...`` the named test files of a checkout
of the library run as well, and their outcomes are compared test by test. A library that cannot be installed here is said to be so, and fails nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / ".others"
PROGRAMS = Path(__file__).with_name("others")
TENSORFLOW = ("tensorflow-cpu==2.21.0", "tf_keras==2.21.*")


@dataclass(frozen=True, slots=True)
class Library:
    name: str
    program: str
    packages: tuple[str, ...]


LIBRARIES = (
    Library("tensorflow-probability", "tfp_inference.py", ("tensorflow-probability",)),
    Library("gpflow", "gpflow_regression.py", ("gpflow", "tensorflow-probability")),
    Library("deepxde", "deepxde_poisson.py", ("deepxde", "tensorflow-probability")),
    Library("dm-sonnet", "sonnet_network.py", ("dm-sonnet",)),
)


@dataclass(frozen=True, slots=True)
class Compared:
    """Two runs of the same thing. ``seconds`` are those of the run as it is and of the watched one; ``differs`` says what is not the same."""

    library: str
    what: str
    seconds: tuple[float, float]
    calls: int
    disagreed: int
    differs: tuple[str, ...]

    def row(self) -> str:
        plain, watched = self.seconds
        same = "; ".join(self.differs[:3]) or "nothing"
        return (
            f"| {self.library} | {self.what} | {self.calls} | {self.disagreed} | {same} | {plain:.1f} s | {watched:.1f} s | {watched / plain:.2f} |"
        )


def install(library: Library) -> tuple[Path, str]:
    """The folder of the programs of the library's environment, and why it could not be made, if so."""
    folder = PLACE / library.name
    if not (folder / ".made").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(folder / "bin/python"), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
        done = subprocess.run([*pip, "-e", str(ROOT), *TENSORFLOW, *library.packages, "pytest"], capture_output=True, text=True, check=False)
        if done.returncode:
            return folder / "bin", (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        (folder / ".made").touch()
    return folder / "bin", ""


def timed(command: list[str], folder: Path) -> tuple[subprocess.CompletedProcess[str], float]:
    begun = time.monotonic()
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "DDE_BACKEND": "tensorflow"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done, time.monotonic() - begun


def watched(programs: Path, report: Path, rest: list[str], folder: Path) -> tuple[subprocess.CompletedProcess[str], float]:
    report.unlink(missing_ok=True)
    return timed([str(programs / "tapetrace"), "run", "-o", str(report), *rest], folder)


def judged(report: Path, stderr: str) -> tuple[int, int, list[str]]:
    """The calls that were looked at, the verdicts that TensorFlow contradicts, and what went wrong if there is no report."""
    if not report.exists():
        return 0, 0, [f"no report: {(stderr.strip().splitlines() or [''])[-1]}"]
    kept = json.loads(report.read_text(encoding="utf-8"))
    return len(kept["calls"]), len(kept["agreement"]["disagreed"]), []


def run_program(library: Library, programs: Path) -> Compared:
    plain, before = timed([str(programs / "python"), library.program], PROGRAMS)
    report = PLACE / f"{library.name}.json"
    seen, after = watched(programs, report, [library.program], PROGRAMS)
    calls, disagreed, differs = judged(report, seen.stderr)
    if plain.returncode:
        differs.append(f"fails as it is: {(plain.stderr.strip().splitlines() or [''])[-1]}")
    if plain.stdout != seen.stdout:
        differs.append("what it prints")
    return Compared(library.name, library.program, (before, after), calls, disagreed, tuple(differs))


def outcomes(file: Path) -> dict[str, str]:
    """Each test by its name, with what came of it, from pytest's JUnit file."""
    found = {}
    for case in ElementTree.parse(file).iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        found[f"{case.get('classname')}::{case.get('name')}"] = kinds[0] if kinds else "passed"
    return found


def run_tests(library: Library, programs: Path, folder: Path, files: list[str]) -> Compared:
    asked = ["pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "-o", "filterwarnings=ignore", *files]
    kept = {name: PLACE / f"{library.name}-{name}.xml" for name in ("plain", "watched")}
    _, before = timed([str(programs / "python"), "-m", *asked, f"--junitxml={kept['plain']}"], folder)
    report = PLACE / f"{library.name}-tests.json"
    seen, after = watched(programs, report, ["-m", *asked, f"--junitxml={kept['watched']}"], folder)
    calls, disagreed, differs = judged(report, seen.stderr)
    plain, other = outcomes(kept["plain"]), outcomes(kept["watched"])
    differs += [f"{name}: {plain.get(name)} became {other.get(name)}" for name in sorted(plain | other) if plain.get(name) != other.get(name)]
    passed = sum(outcome == "passed" for outcome in plain.values())
    return Compared(library.name, f"{len(plain)} tests, {passed} pass", (before, after), calls, disagreed, tuple(differs))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="libraries whose name contains this")
    parser.add_argument("--tests", nargs="+", default=[], metavar=("LIBRARY=FOLDER", "FILE"), help="test files of a checkout, relative to it")
    asked = parser.parse_args()
    owner, _, checkout = asked.tests[0].partition("=") if asked.tests else ("", "", "")
    PLACE.mkdir(exist_ok=True)
    print("| library | what ran | gradient calls seen | verdicts that disagree | differs | as it is | watched | ratio |\n" + 8 * "|---" + "|")
    failed = False
    for library in LIBRARIES:
        if asked.only not in library.name:
            continue
        programs, why = install(library)
        if why:
            print(f"{library.name} cannot be installed here: {why}", file=sys.stderr)
            continue
        found = [run_program(library, programs)]
        if owner == library.name:
            found.append(run_tests(library, programs, Path(checkout), asked.tests[1:]))
        for each in found:
            print(each.row(), flush=True)
            failed = failed or bool(each.differs or each.disagreed)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
