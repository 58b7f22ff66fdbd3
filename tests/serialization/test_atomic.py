"""Saving never loses what was there, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time

import pytest
from scriptlang.serialization.atomic import atomic_file

import scriptlang
from tests import children
from tests.serialization.archives import DATA

SAVER = """
import sys
from scriptlang.serialization.atomic import atomic_file
with atomic_file(sys.argv[1]) as file:
    file.write(b"half")
    file.flush()
    print("written", flush=True)
    sys.stdin.read()
"""


def test_an_atomic_file_appears_whole(tmp_path):
    path = tmp_path / "m.pt"
    path.write_bytes(b"old")
    path.chmod(0o640)
    with pytest.raises(RuntimeError), atomic_file(path) as file:
        file.write(b"half")
        raise RuntimeError("stopped")
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]
    with atomic_file(path) as file:
        file.write(b"new")
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new" and path.stat().st_mode & 0o777 == 0o640


def test_an_atomic_file_follows_a_link(tmp_path):
    target, link = tmp_path / "real.pt", tmp_path / "link.pt"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with atomic_file(link) as file:
        file.write(b"new")
    assert link.is_symlink() and target.read_bytes() == b"new"


def test_a_new_file_has_the_permissions_that_the_umask_leaves(tmp_path):
    before = os.umask(0o027)
    try:
        with atomic_file(tmp_path / "m.pt") as file:
            file.write(b"new")
    finally:
        os.umask(before)
    assert (tmp_path / "m.pt").stat().st_mode & 0o777 == 0o640


def test_a_full_disk_is_told_by_the_files_name_and_loses_nothing(tmp_path):
    resource = pytest.importorskip("resource")
    module = scriptlang.load(DATA / "resnet.script.pt")
    path = tmp_path / "m.pt"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(OSError) as e:
            module.save(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert e.value.filename == str(path)
    assert path.read_bytes() == b"old" and list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", [".", "no_such_folder/m.pt"])
def test_a_place_that_takes_no_file_is_named(name, tmp_path):
    path = tmp_path / name
    with pytest.raises(OSError) as e:
        scriptlang.load(DATA / "counter.script.pt").save(path)
    assert e.value.filename == str(path) and not list(tmp_path.iterdir())


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = children.start(
        "-c",
        "import sys; print(len(open(sys.argv[1], 'rb').read()))",
        path,
        stdout=subprocess.PIPE,
        text=True,
    )
    with atomic_file(path) as file:
        file.write(b"new")
    assert reader.communicate(timeout=60)[0].strip() == "3"
    assert path.is_fifo() and list(tmp_path.iterdir()) == [path]


def killed_save(path) -> None:
    """Another process begins to save and is killed."""
    saver = children.start("-c", SAVER, path, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert saver.stdout.readline() == b"written\n"
    saver.kill()
    saver.communicate()


def test_what_a_killed_save_left_goes_with_the_next_save(tmp_path):
    path, other = tmp_path / "m.pt", tmp_path / ".other.pt.1234.part"
    other.write_bytes(b"of another file")
    killed_save(path)
    (left,) = set(tmp_path.iterdir()) - {other}
    with atomic_file(path) as file:
        file.write(b"new")
    assert left.exists(), "it could be a save that has just begun"
    long_ago = time.time() - 3600
    os.utime(left, (long_ago, long_ago))
    os.utime(other, (long_ago, long_ago))
    with atomic_file(path) as file:
        file.write(b"newer")
    assert path.read_bytes() == b"newer" and set(tmp_path.iterdir()) == {path, other}


def test_a_save_under_way_is_no_leftover(tmp_path):
    path = tmp_path / "m.pt"
    with atomic_file(path) as slow:
        slow.write(b"slow")
        slow.flush()
        (part,) = tmp_path.iterdir()
        os.utime(part, (0, 0))
        with atomic_file(path) as file:
            file.write(b"quick")
        assert path.read_bytes() == b"quick" and part.exists()
    assert path.read_bytes() == b"slow" and list(tmp_path.iterdir()) == [path]
