"""Other people's code, as it is and under ``tapetrace run``: ``make other-code``. Exit code 1 when anything differs.

Libraries get virtual environments of their own in ``.others/``. Each runs its program in ``tests/proof/others``, which is seeded: what it prints has
to be the same, byte for byte, and no verdict disagrees with TensorFlow. Then those tests of its wheel run that ``NAME.tests`` lists there: what comes
of each has to be the same, a failure included. With ``--tests gpflow=FOLDER [FILE...]`` those of a checkout run instead. A library that cannot be
installed here is said to be so, and fails nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
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


PATIENCE = 1800
"""Seconds after which a run is ended, and said to have hung."""

OPTIONS = ("-q", "-c", os.devnull, "--rootdir=.", "-p", "no:cacheprovider", "-W", "ignore")
"""No settings of the folders above."""

IN_PLACE = ("--import-mode=importlib", "-o", "consider_namespace_packages=true")
"""For tests that were copied: pytest would put ``tests`` on the path, and GPflow's ``tests/gpflow`` would hide ``gpflow``."""

COPIED = "copied"


@dataclass(frozen=True, slots=True)
class Environment:
    """``bare`` are installed without what they ask for: they name versions that go with an older TensorFlow, and run with this one."""

    name: str
    packages: tuple[str, ...]
    bare: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Library:
    """``program`` is run if there is one, and so are the tests in ``NAME.tests``. ``settings`` are added to the environment variables."""

    name: str
    environment: Environment
    program: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    ships_tests: bool = True


PROCESSES = Environment("gpflow", ("gpflow", "tensorflow-probability"))
EQUATIONS = Environment("deepxde", ("deepxde", "tensorflow-probability", "dm-sonnet"))
AGENTS = Environment(
    "tf-agents",
    ("tensorflow-probability", "tensorflow-recommenders", "tensorboard", "pillow", "cloudpickle", "gin-config", "mock"),
    ("tf-agents", "gym==0.23.0", "gym-notices"),
)
OLDER_KERAS = (("TF_USE_LEGACY_KERAS", "1"),)

LIBRARIES = (
    Library("tensorflow-probability", PROCESSES, "tfp_inference.py", ships_tests=False),
    Library("gpflow", PROCESSES, "gpflow_regression.py"),
    Library("deepxde", EQUATIONS, "deepxde_poisson.py"),
    Library("dm-sonnet", EQUATIONS, "sonnet_network.py"),
    Library("tf-agents", AGENTS, settings=OLDER_KERAS),
    Library("tensorflow-recommenders", AGENTS, settings=OLDER_KERAS),
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


def install(environment: Environment) -> tuple[Path, str]:
    """The folder of the environment's programs, and why it could not be made, if so."""
    folder = PLACE / environment.name
    if not (folder / ".made").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
        pip = [str(folder / "bin/python"), "-m", "pip", "--disable-pip-version-check", "-q", "install"]
        for asked in (["-e", str(ROOT), *TENSORFLOW, *environment.packages, "pytest"], ["--no-deps", *environment.bare]):
            done = subprocess.run([*pip, *asked], capture_output=True, text=True, check=False) if asked[1:] else None
            if done and done.returncode:
                return folder / "bin", (done.stderr.strip().splitlines() or ["pip failed"])[-1]
        (folder / ".made").touch()
    return folder / "bin", ""


def timed(library: Library, command: list[str], folder: Path) -> tuple[subprocess.CompletedProcess[str], float]:
    begun = time.monotonic()
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "DDE_BACKEND": "tensorflow", **dict(library.settings)}
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        try:
            stdout, stderr = running.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            running.kill()
            stdout, stderr = running.communicate()
    return subprocess.CompletedProcess(command, running.returncode, stdout, stderr), time.monotonic() - begun


def watched(library: Library, programs: Path, report: Path, rest: list[str], folder: Path) -> tuple[subprocess.CompletedProcess[str], float]:
    report.unlink(missing_ok=True)
    return timed(library, [str(programs / "tapetrace"), "run", "-o", str(report), *rest], folder)


def judged(report: Path, seen: subprocess.CompletedProcess[str]) -> tuple[int, int, list[str]]:
    """The calls that were looked at, the verdicts that TensorFlow contradicts, and what went wrong in tapetrace itself."""
    if seen.returncode < 0:
        return 0, 0, [f"ended by {signal.Signals(-seen.returncode).name}"]
    if not report.exists():
        return 0, 0, [f"no report: {(seen.stderr.strip().splitlines() or [''])[-1]}"]
    kept = json.loads(report.read_text(encoding="utf-8"))
    faults = [note for note in kept["notes"] if note.startswith("something went wrong in tapetrace")]
    return len(kept["calls"]), len(kept["agreement"]["disagreed"]), faults


def run_program(library: Library, programs: Path) -> Compared:
    plain, before = timed(library, [str(programs / "python"), library.program], PROGRAMS)
    report = PLACE / f"{library.name}.json"
    seen, after = watched(library, programs, report, [library.program], PROGRAMS)
    calls, disagreed, differs = judged(report, seen)
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


def shipped(library: Library) -> list[str]:
    """What ``NAME.tests`` lists: files, folders and single tests, from the folder that holds the package."""
    file = PROGRAMS / f"{library.name}.tests"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    return [line for line in lines if line and not line.startswith("#")]


def copied(library: Library, programs: Path, listed: list[str]) -> tuple[Path, list[str]]:
    """The tests that the wheel ships in a folder outside the environment, and ``listed`` from there.

    What is installed is a library to tapetrace: all calls would have the line in pytest that runs the tests, and of one line it looks at a few only.
    """
    packages = next((programs.parent / "lib").glob("python3.*/site-packages"))
    folder = PLACE / f"{library.name}-tests"
    shutil.rmtree(folder, ignore_errors=True)
    for top in {line.split("/")[0] for line in listed}:
        for file in (packages / top).rglob("*.py"):
            if top == "tests" or file.stem.endswith("_test"):
                to = folder / COPIED / file.relative_to(packages)
                to.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, to)
    return folder, [*IN_PLACE, *(f"{COPIED}/{line}" for line in listed)]


def run_tests(library: Library, programs: Path, folder: Path, files: list[str]) -> Compared:
    """``files`` are what pytest is asked for, options or files in ``folder``."""
    asked = ["pytest", *OPTIONS, *files]
    kept = {name: PLACE / f"{library.name}-{name}.xml" for name in ("plain", "watched")}
    for file in kept.values():
        file.unlink(missing_ok=True)
    alone, before = timed(library, [str(programs / "python"), "-m", *asked, f"--junitxml={kept['plain']}"], folder)
    report = PLACE / f"{library.name}-tests.json"
    seen, after = watched(library, programs, report, ["-m", *asked, f"--junitxml={kept['watched']}"], folder)
    (PLACE / f"{library.name}-watched.txt").write_text(seen.stdout + seen.stderr, encoding="utf-8")
    calls, disagreed, differs = judged(report, seen)
    if alone.returncode not in (0, 1):
        differs.append(f"pytest cannot run them: {(alone.stderr.strip().splitlines() or [''])[-1]}")
    if not all(file.exists() for file in kept.values()):
        return Compared(library.name, "tests", (before, after), calls, disagreed, (*differs, "pytest wrote no outcomes"))
    plain, other = outcomes(kept["plain"]), outcomes(kept["watched"])
    differs += [f"{name}: {plain.get(name)} became {other.get(name)}" for name in sorted(plain | other) if plain.get(name) != other.get(name)]
    passed = sum(outcome == "passed" for outcome in plain.values())
    return Compared(library.name, f"{len(plain)} tests, {passed} pass", (before, after), calls, disagreed, tuple(differs))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="libraries whose name contains this")
    parser.add_argument("--tests", nargs="+", default=[], metavar=("LIBRARY=FOLDER", "FILE"), help="a checkout whose tests run, and which of them")
    asked = parser.parse_args()
    owner, _, checkout = asked.tests[0].partition("=") if asked.tests else ("", "", "")
    PLACE.mkdir(exist_ok=True)
    print("| library | what ran | gradient calls seen | verdicts that disagree | differs | as it is | watched | ratio |\n" + 8 * "|---" + "|")
    failed = False
    for library in LIBRARIES:
        if asked.only not in library.name:
            continue
        programs, why = install(library.environment)
        if why:
            print(f"{library.name} cannot be installed here: {why}", file=sys.stderr)
            continue
        found = [run_program(library, programs)] if library.program else []
        listed = shipped(library)
        if owner == library.name:
            found.append(run_tests(library, programs, Path(checkout).resolve(), asked.tests[1:] or listed))
        elif listed and library.ships_tests:
            found.append(run_tests(library, programs, *copied(library, programs, listed)))
        for each in found:
            print(each.row(), flush=True)
            failed = failed or bool(each.differs or each.disagreed)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
