import subprocess
import sys
from pathlib import Path

RUN = Path(__file__).parents[1] / "mutants" / "run.py"


def test_every_mutant_still_has_its_text_in_the_model_and_its_tests() -> None:
    done = subprocess.run([sys.executable, RUN, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
