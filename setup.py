"""Builds the native engine with CMake; everything else about the package is in setup.cfg.

Where there is no compiler, or the build fails, the package installs without the native engine and
leaves the reason in `scriptlang/interpreter/native_build.txt`, which `scriptlang.info()` prints.
SCRIPTLANG_NATIVE=0 leaves the engine out; SCRIPTLANG_NATIVE=1 makes a failed build an error.
SCRIPTLANG_ABI3=1 builds a wheel for CPython 3.12 and all later ones.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent
WISH = os.environ.get("SCRIPTLANG_NATIVE", "auto")
ABI3 = (
    os.environ.get("SCRIPTLANG_ABI3") == "1"
    and sys.implementation.name == "cpython"
    and sys.version_info >= (3, 12)
    and not sysconfig.get_config_var("Py_GIL_DISABLED")
)
REASON = "native_build.txt"
"""The file that says why there is no native engine, beside where it would be."""


class OptionalExtension(build_ext):
    """Extension modules that may not be there in the end; `native_build.txt` then says why.

    An older engine must not stay where the new one is missing: it would run beside newer sources.
    """

    def leave_out(self, target: pathlib.Path, reason: str) -> None:
        """Leave the reason where the extension module would be, and no module."""
        target.unlink(missing_ok=True)
        target.with_name(REASON).write_text(reason + "\n")

    def copy_extensions_to_source(self):
        """For an editable install: copies what was built, or the reason why there is nothing."""
        for ext in self.extensions:
            built = self.built_file(ext)
            package = self.get_finalized_command("build_py").get_package_dir(
                ext.name.rpartition(".")[0]
            )
            beside_sources = pathlib.Path(package, built.name)
            reason = built.with_name(REASON)
            if built.exists():
                beside_sources.with_name(REASON).unlink(missing_ok=True)
            else:
                beside_sources.unlink(missing_ok=True)
                if reason.exists():
                    shutil.copyfile(reason, beside_sources.with_name(REASON))
        self.extensions = [e for e in self.extensions if self.built_file(e).exists()]
        super().copy_extensions_to_source()

    def built_file(self, ext):
        """Where the module is before it is copied (`get_ext_fullpath` says: beside the sources)."""
        return pathlib.Path(self.build_lib, self.get_ext_filename(self.get_ext_fullname(ext.name)))


class NativeEngine(OptionalExtension):
    """Runs CMake on cpp_loader/ and puts the extension module where Python looks for it."""

    def build_extension(self, ext):
        target = pathlib.Path(self.get_ext_fullpath(ext.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            self.build_with_cmake(target)
            target.with_name(REASON).unlink(missing_ok=True)
        except (OSError, subprocess.CalledProcessError) as e:
            if WISH == "1":
                raise
            text = f"it could not be built ({self.explain(e)})"
            self.leave_out(target, text)
            print(
                f"warning: the native engine: {text}\n"
                "warning: scriptlang installs with its numpy engine only",
                file=sys.stderr,
            )

    def build_with_cmake(self, target: pathlib.Path) -> None:
        build = self.build_folder()
        build.mkdir(parents=True, exist_ok=True)
        # pip's build environments come and go: what CMake found in the last one is not there now.
        (build / "CMakeCache.txt").unlink(missing_ok=True)
        generator = ["-G", "Ninja"] if self.has("ninja") else []
        self.call(
            "cmake",
            "-S",
            str(ROOT / "cpp_loader"),
            "-B",
            str(build),
            *generator,
            "-DCMAKE_BUILD_TYPE=Release",
            "-DSCRIPTLANG_PYTHON=ON",
            "-DSCRIPTLANG_TESTS=OFF",
            "-DSCRIPTLANG_EXAMPLES=OFF",
            f"-DSCRIPTLANG_ABI3={'ON' if ABI3 else 'OFF'}",
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-DSCRIPTLANG_PYTHON_OUTPUT={target}",
        )
        jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 2))
        self.call("cmake", "--build", str(build), "--target", "_native", "-j", jobs)

    def build_folder(self) -> pathlib.Path:
        """Where CMake builds.  That of an editable install stays, so that installing again after a
        change compiles what has changed only: setuptools gives a new folder each time."""
        if self.inplace or getattr(self, "editable_mode", False):
            version = f"{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"  # 13t: without a lock
            return ROOT / "build" / f"editable-{sysconfig.get_platform()}-{version}"
        return pathlib.Path(self.build_temp).resolve() / "native"

    @staticmethod
    def has(program: str) -> bool:
        try:
            return subprocess.run([program, "--version"], capture_output=True).returncode == 0
        except OSError:
            return False

    @staticmethod
    def call(*command: str) -> None:
        """Run a command; what it prints is shown as it comes, as `pip install -v` lets one see."""
        lines = []
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as running:
            assert running.stdout is not None
            for line in running.stdout:
                print(line, end="", flush=True)
                lines.append(line)
        if running.returncode:
            raise subprocess.CalledProcessError(running.returncode, command, "".join(lines))

    @staticmethod
    def explain(error: Exception) -> str:
        """One line out of what CMake or the compiler printed: the first that says what is wrong."""
        output = getattr(error, "output", None) or str(error)
        lines = [line.strip() for line in output.splitlines() if line.strip()]
        for sign in (
            "is not able to compile",
            "No CMAKE_CXX_COMPILER",
            "Could NOT find",
            "error:",
            "Error",
        ):
            for line in lines:
                if sign in line:
                    return line[:300]
        return (lines or ["unknown reason"])[-1][:300]


class NoNativeEngine(OptionalExtension):
    """SCRIPTLANG_NATIVE=0: leaves the engine out and says so."""

    def build_extension(self, ext):
        target = pathlib.Path(self.get_ext_fullpath(ext.name)).resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        self.leave_out(target, "SCRIPTLANG_NATIVE=0 was set when the package was installed")


setup(
    ext_modules=[Extension("scriptlang.interpreter._native", [], py_limited_api=ABI3)],
    options={"bdist_wheel": {"py_limited_api": "cp312"}} if ABI3 else {},
    cmdclass={"build_ext": NoNativeEngine if WISH == "0" else NativeEngine},
)
