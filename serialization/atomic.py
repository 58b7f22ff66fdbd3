"""Writes a file atomically: under its name there is either the whole new file or the old one."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import stat
import time
from collections.abc import Iterator
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

OLD_ENOUGH = 60.0
"""The age in seconds from which a temporary file that is not locked counts as left behind.  A new
one is locked only a moment after it is created."""


@contextlib.contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to, which replaces `path` if the block ends without an error.

    It is written beside the target, synced, then renamed, so that after a crash or with a full disk
    the old file is unchanged.  Symbolic links are followed, and the mode of an old file is kept.
    Temporary files that killed processes left beside the target are removed.  A target that is not
    a regular file (a device, a pipe) is written directly.  Raises OSError, which names `path`.
    """
    target = os.path.realpath(path)
    try:
        with open(target, "wb") if is_special(target) else _beside(target) as file:
            yield file
    except OSError as e:
        if e.errno is None or e.filename == os.fspath(path):
            raise
        raise type(e)(e.errno, e.strerror, os.fspath(path)) from None


def is_special(path: str) -> bool:
    """Whether there is something at `path` that is not a regular file, and must not be replaced."""
    try:
        return not stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        return False


@contextlib.contextmanager
def _beside(target: str) -> Iterator[BinaryIO]:
    folder, name = os.path.split(target)
    remove_leftovers(folder, name)
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.part")
    # The kernel applies the umask.  Reading the umask would mean changing it for other threads.
    descriptor = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            lock(descriptor)
            yield file
            file.flush()
            os.fsync(descriptor)
            with contextlib.suppress(FileNotFoundError):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(temporary, target)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    sync_folder(folder)


def lock(descriptor: int) -> bool:
    """Lock an open file until it is closed; return False if another process has locked it, or if
    the system has no such locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def remove_leftovers(folder: str, name: str) -> None:
    """Remove the temporary files that killed saves of this file left: old ones without a lock."""
    for left in glob.glob(os.path.join(glob.escape(folder), f".{glob.escape(name)}.*.part")):
        with contextlib.suppress(OSError), open(left, "rb") as file:
            found = os.fstat(file.fileno())
            fresh = time.time() - found.st_mtime < OLD_ENOUGH
            if stat.S_ISREG(found.st_mode) and not fresh and lock(file.fileno()):
                os.unlink(left)


def sync_folder(folder: str) -> None:
    """Make the rename durable, if the system supports it."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
