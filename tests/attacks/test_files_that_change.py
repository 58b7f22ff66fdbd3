"""Files that are cut short or changed after they were loaded, and places that are no files."""

from __future__ import annotations

import os
import subprocess

import pytest
from scriptlang.serialization import sources

import scriptlang
from tests import children
from tests.serialization.archives import DATA

VICTIM = DATA / "mlp.script.pt"
TOUCH = """
import sys
import scriptlang
mmap = {"None": None, "False": False}[sys.argv[2]]
module = scriptlang.load(sys.argv[1], mmap=mmap)
open(sys.argv[1], "r+b").truncate(100)
print(sum(float(t.abs().sum()) for t in module.state_dict().values()))
"""


def total() -> float:
    return sum(float(t.abs().sum()) for t in scriptlang.load(VICTIM).state_dict().values())


@pytest.mark.parametrize("mmap", ["None", "False"])
def test_a_file_cut_short_after_loading(mmap, tmp_path):
    path = tmp_path / "m.pt"
    path.write_bytes(VICTIM.read_bytes())
    done = children.run("-c", TOUCH, path, mmap, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == total()


def test_mapped_or_read_the_contents_are_the_same(tmp_path, monkeypatch):
    path = tmp_path / "m.pt"
    path.write_bytes(VICTIM.read_bytes())
    monkeypatch.setattr(sources, "CHECKED_SIZE", 1000)
    for mmap in (None, True, False):
        loaded = scriptlang.load(path, mmap=mmap)
        assert sum(float(t.abs().sum()) for t in loaded.state_dict().values()) == total()
        for tensor in loaded.state_dict().values():
            tensor.zero_()
        assert path.read_bytes() == VICTIM.read_bytes(), "writing is private to the process"


def test_an_archive_comes_through_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = subprocess.Popen(["cp", str(VICTIM), str(path)])
    loaded = scriptlang.load(path)
    assert writer.wait(60) == 0
    assert sum(float(t.abs().sum()) for t in loaded.state_dict().values()) == total()


def test_a_device_without_end_is_no_archive():
    with pytest.raises(scriptlang.ArchiveError, match="empty|no TorchScript"):
        scriptlang.load(os.devnull)
