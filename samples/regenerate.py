"""Write samples/expected/ anew: for each sample, what `tapetrace check` prints. Run by `make samples`; read the diff before you commit it.

python samples/regenerate.py [SAMPLE …]
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent
EXPECTED = SAMPLES / "expected"


def printed_for(sample: str) -> str:
    """What the command line prints for one sample, with the version of TensorFlow left open.

    Raises `RuntimeError` with what was said on stderr when the check could not answer.
    """
    path = f"samples/{sample}.py"
    command = [sys.executable, "-m", "tapetrace", "check", f"{path}:train_step", "--args", f"{path}:make_batch"]
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "NO_COLOR": "1", "COLUMNS": "150"}
    done = subprocess.run(command, cwd=SAMPLES.parent, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        raise RuntimeError(f"{sample}: exit code {done.returncode}: {done.stderr.strip()[-2000:]}")
    return re.sub(r"TensorFlow \d+\.\d+\.\d+\S*", "TensorFlow X.Y.Z", done.stdout)


def main(names: list[str]) -> None:
    EXPECTED.mkdir(exist_ok=True)
    for path in sorted(SAMPLES.glob("*.py")):
        if path.stem != "regenerate" and (not names or path.stem in names):
            (EXPECTED / f"{path.stem}.txt").write_text(printed_for(path.stem), encoding="utf-8")
            print(f"samples/expected/{path.stem}.txt")


if __name__ == "__main__":
    main(sys.argv[1:])
