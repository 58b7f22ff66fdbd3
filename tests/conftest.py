"""Command line options, markers, and `.case` files as tests (see golden.py)."""

from __future__ import annotations

import gc
import importlib.util
import inspect
import os
import pathlib
import re
import signal
import sys

import pytest

ROOT = str(pathlib.Path(__file__).resolve().parent.parent)

# An installed copy is what is tested where there is one; the checkout where there is none.
sys.path[:] = [p for p in sys.path if os.path.abspath(p) != ROOT]
installed = importlib.util.find_spec("scriptlang") is not None
if installed:
    import scriptlang  # noqa: F401
sys.path.insert(0, ROOT)

from tests import golden, native_build, round_trip

WHOLLY_ORACLE = re.compile(r"^pytestmark = .*\bpytest\.mark\.oracle\b", re.MULTILINE)
"""What a file says whose tests all compare with PyTorch."""

# A shell starts what it runs in the background with SIGINT ignored, and Python leaves it so: tests
# of Ctrl-C, and the processes that they start, would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.setdefault("SCRIPTLANG_VERIFY", "1")
round_trip.watch()


def pytest_addoption(parser):
    parser.addoption(
        "--update", action="store_true", help="rewrite .case files with what is now computed"
    )
    parser.addoption("--slow", action="store_true", help="run the tests marked slow, too")
    parser.addoption(
        "--native",
        help="the extension module to test in place of the checkout's "
        "own (see tests/native_build.py)",
    )
    parser.addoption(
        "--without-native",
        action="store_true",
        help="test as where the extension module was not built: numpy's kernels run all calls; "
        "tests that ask for the native engine by name fail",
    )


def pytest_configure(config):
    if config.getoption("--native"):
        native_build.use(os.path.abspath(config.getoption("--native")))
    if config.getoption("--without-native"):
        sys.modules["scriptlang.interpreter._native"] = None


def leaves_out_oracle(config) -> bool:
    return config.getoption("markexpr") == "not oracle"


def pytest_ignore_collect(collection_path, config):
    """Where no test that compares with PyTorch is wanted, files of such tests are not imported,
    nor PyTorch by them."""
    if collection_path.suffix == ".py" and leaves_out_oracle(config):
        text = collection_path.read_text(encoding="utf-8")
        if WHOLLY_ORACLE.search(text):
            return True
    return None


def pytest_pycollect_makeitem(name, obj, collector):
    """And of others, no tests are made of functions with that mark."""
    if inspect.isfunction(obj) and leaves_out_oracle(collector.config):
        if any(mark.name == "oracle" for mark in getattr(obj, "pytestmark", ())):
            return []
    return None


def pytest_collection_modifyitems(config, items):
    skips = []
    if importlib.util.find_spec("torch") is None:
        why = "compares with PyTorch, which is not installed"
        skips.append(("oracle", pytest.mark.skip(reason=why)))
    if not config.getoption("--slow"):
        skips.append(("slow", pytest.mark.skip(reason="slow; run with --slow")))
    for item in items:
        for name, mark in skips:
            if name in item.keywords:
                item.add_marker(mark)


def pytest_collection_finish(session):
    """The tests live to the end: the collector of garbage need not look at them each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="module")
def settled_garbage():
    """What earlier files of tests have left lives to the end, too: tests that ask the collector
    look at what they have made themselves."""
    gc.collect()
    gc.freeze()


def modes():
    """What a program can set for all of its thread."""
    import scriptlang

    return {
        "is_grad_enabled": scriptlang.is_grad_enabled(),
        "is_inference_mode_enabled": scriptlang.is_inference_mode_enabled(),
        "default dtype": scriptlang.get_default_dtype(),
    }


@pytest.fixture(autouse=True)
def kept_modes():
    """A test that leaves a mode behind changes those that run after it, which are other ones in
    each run of several workers."""
    import scriptlang

    before = modes()
    yield
    after = modes()
    scriptlang.set_grad_enabled(before["is_grad_enabled"])
    scriptlang.set_default_dtype(before["default dtype"])
    assert after == before, "the test leaves a mode behind"


def pytest_collect_file(file_path, parent):
    if file_path.suffix == ".case":
        return CaseFile.from_parent(parent, path=file_path)
    return None


class CaseFile(pytest.File):
    def collect(self):
        titles = set()
        for case in golden.read_cases(self.path):
            if case.title in titles:
                raise ValueError(f"{self.path}:{case.line}: a second case {case.title!r}")
            titles.add(case.title)
            yield CaseItem.from_parent(self, name=case.title, case=case)


class CaseItem(pytest.Item):
    def __init__(self, *, case, **kwargs):
        super().__init__(**kwargs)
        self.case = case

    def runtest(self):
        difference = golden.check(self.case)
        if difference and self.config.getoption("--update"):
            golden.update(self.path, self.case.title)
        elif difference:
            raise Difference(difference)

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, Difference):
            return f"{excinfo.value}\n(pytest --update rewrites the case)"
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        return self.path, self.case.line - 1, f"{self.path.stem}: {self.case.title}"


class Difference(Exception):
    """The sections of a case differ from what is computed now."""
