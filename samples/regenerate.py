"""Write samples/expected/ anew: for each sample, what `tapetrace check` prints. Run by `make samples`; read the diff before you commit it.

python samples/regenerate.py [SAMPLE …]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent
EXPECTED = SAMPLES / "expected"

# What differs between machines and versions of libraries, and what stands in its place.
LEFT_OPEN = (
    (r"(TensorFlow|Keras) \d+\.\d+\.\d+[^\s·]*", r"\1 X.Y.Z"),
    (r"(inside +\S+\.py):\d+", r"\1:N"),
    (r"(?<=: )in user code:\n(?:  \S.*\n)+", "…\n"),
)


def names() -> list[str]:
    """All samples, in alphabetical order."""
    return sorted(p.stem for p in SAMPLES.glob("*.py") if p.name != Path(__file__).name)


def printed_for(sample: str) -> str:
    """What the command line prints for one sample. Raises `RuntimeError` with what was said on stderr when the check could not answer."""
    path = f"samples/{sample}.py"
    command = [sys.executable, "-m", "tapetrace", "check", f"{path}:train_step", "--args", f"{path}:make_batch"]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "NO_COLOR": "1", "COLUMNS": "150", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run(command, cwd=SAMPLES.parent, env=environment, capture_output=True, encoding="utf-8", check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{sample}: exit code {done.returncode}: {done.stderr.strip()[-2000:]}")
    text = done.stdout
    for pattern, instead in LEFT_OPEN:
        text = re.sub(pattern, instead, text)
    return text


def main(wanted: list[str]) -> None:
    EXPECTED.mkdir(exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for name, text in zip(wanted, pool.map(printed_for, wanted)):
            (EXPECTED / f"{name}.txt").write_text(text, encoding="utf-8")
            print(f"samples/expected/{name}.txt")


if __name__ == "__main__":
    main(sys.argv[1:] or names())
