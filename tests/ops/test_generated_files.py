"""Every file that a program writes is what the program would write now."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
TOOLS = ROOT / "cpp_loader" / "tools"
GENERATORS = sorted(path.name for path in TOOLS.glob("generate_*.py"))

HAS_COMPILER = bool(shutil.which(os.environ.get("CXX", "c++")))


@pytest.mark.parametrize("program", GENERATORS)
def test_what_a_generator_writes_is_up_to_date(program):
    """`python cpp_loader/tools/generate.py` brings all of them up to date."""
    if program == "generate_ops_def.py" and not HAS_COMPILER:
        pytest.skip("it reads the C++ sources with a compiler")
    if program == "generate_special_tables.py":
        pytest.importorskip("mpmath")
    done = subprocess.run(
        [sys.executable, f"cpp_loader/tools/{program}", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_program_runs_all_generators_that_read_the_operators():
    text = (TOOLS / "generate.py").read_text()
    named = re.findall(r"cpp_loader/tools/(generate_\w+\.py)", text)
    assert set(GENERATORS) - set(named) - {"generate.py"} == {"generate_special_tables.py"}
