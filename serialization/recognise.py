"""Recognises files that are not TorchScript archives, for errors that say what to do with them.

It looks at the beginnings of files and at the names of records in zip files.
"""

from __future__ import annotations

from collections.abc import Collection

from ..errors import ArchiveError

SAVE_SCRIPT = (
    "save the model with torch.jit.save(torch.jit.script(model), path) or "
    "torch.jit.trace, and load that file"
)
DOWNLOAD_AGAIN = "download or copy the file again"
WRONG_FILE = "give the path of the TorchScript archive (usually .pt, .pth, .jit or .ptl)"
UNPACK = "unpack it first; the archive is inside"

CHECKPOINT = "a torch.save file (weights or a pickled object), not a TorchScript archive"
CHECKPOINT_HELP = (
    "it holds no program; scriptlang.load_state_dict(path) reads its weights; to "
    "keep the program too, load it into the model in PyTorch, then " + SAVE_SCRIPT
)

LEGACY_SAVE_MAGIC = b"\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19."

BEGINNINGS: list[tuple[int, bytes, str, str]] = [
    (
        2,
        LEGACY_SAVE_MAGIC,
        "a torch.save file in the format from before PyTorch 1.6",
        CHECKPOINT_HELP,
    ),
    (0, b"\x80\x02", "a Python pickle, not a TorchScript archive", CHECKPOINT_HELP),
    (0, b"\x80\x03", "a Python pickle, not a TorchScript archive", CHECKPOINT_HELP),
    (0, b"\x80\x04", "a Python pickle, not a TorchScript archive", CHECKPOINT_HELP),
    (0, b"\x80\x05", "a Python pickle, not a TorchScript archive", CHECKPOINT_HELP),
    (257, b"ustar", "a tar archive", UNPACK),
    (0, b"\x1f\x8b", "gzip-compressed data", UNPACK),
    (0, b"BZh", "bzip2-compressed data", UNPACK),
    (0, b"\xfd7zXZ\0", "xz-compressed data", UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "zstandard-compressed data", UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (0, b"Rar!", "a RAR archive", UNPACK),
    (0, b"\xff\xd8\xff", "a JPEG image", WRONG_FILE),
    (0, b"\x89PNG", "a PNG image", WRONG_FILE),
    (0, b"GIF8", "a GIF image", WRONG_FILE),
    (0, b"%PDF", "a PDF document", WRONG_FILE),
    (0, b"\x7fELF", "an ELF program or library", WRONG_FILE),
    (0, b"MZ", "a Windows program or library", WRONG_FILE),
    (0, b"\xcf\xfa\xed\xfe", "a macOS program or library", WRONG_FILE),
    (0, b"\xca\xfe\xba\xbe", "a macOS program or a Java class", WRONG_FILE),
    (0, b"RIFF", "a WAV, AVI or WebP file", WRONG_FILE),
    (0, b"\x93NUMPY", "a numpy array (.npy)", WRONG_FILE + "; numpy.load reads arrays"),
    (0, b"\x89HDF", "an HDF5 file (Keras weights, perhaps)", SAVE_SCRIPT),
    (0, b"GGUF", "a GGUF file (llama.cpp weights)", WRONG_FILE),
    (4, b"TFL3", "a TensorFlow Lite model", WRONG_FILE),
    (
        4,
        b"PTMF",
        "a PyTorch mobile module in the flatbuffer format",
        "save it in the zip format: module._save_for_lite_interpreter(path, "
        "_use_flatbuffer=False), or torch.jit.save",
    ),
    (4, b"ET12", "an ExecuTorch program (.pte)", SAVE_SCRIPT),
    (
        0,
        b"version https://git-lfs",
        "a Git LFS pointer: the file itself was not downloaded",
        "run `git lfs pull` where it came from",
    ),
    (0, b"SQLite format", "an SQLite database", WRONG_FILE),
]
"""Beginnings of files: (offset, bytes there, what the file is, what to do)."""

ZIP_CONTENTS: list[tuple[str, str, str]] = [
    (
        "archive_format",
        "an exported program (.pt2), not a TorchScript archive",
        "it holds another kind of program; " + SAVE_SCRIPT,
    ),
    (
        "serialized_exported_program.json",
        "an exported program (.pt2), not a TorchScript archive",
        "it holds another kind of program; " + SAVE_SCRIPT,
    ),
    (
        "model.json",
        "a TorchScript archive of PyTorch 1.0 to 1.2 (model.json)",
        "load and save it again with PyTorch: torch.jit.save(torch.jit.load(path), path)",
    ),
    (
        ".data/extern_modules",
        "a torch.package archive, not a TorchScript archive",
        "import the model with torch.package, then " + SAVE_SCRIPT,
    ),
    ("MAR-INF/MANIFEST.json", "a TorchServe model archive (.mar)", UNPACK),
    ("META-INF/MANIFEST.MF", "a Java archive", WRONG_FILE),
    ("[Content_Types].xml", "an Office document", WRONG_FILE),
    ("model.weights.h5", "a Keras model", WRONG_FILE),
]
"""Zip files: (name of a record, with or without the top folder; what the file is; what to do)."""


def explain(data: memoryview) -> ArchiveError | None:
    """The error for a file that is not a zip file; None if it begins like a zip file."""
    head = bytes(data[:512])
    if not head:
        return error("an empty file", DOWNLOAD_AGAIN)
    if head[:2] == b"PK":
        return None
    for offset, mark, what, help in BEGINNINGS:
        if head[offset : offset + len(mark)] == mark:
            return error(what, help)
    for look in (safetensors, onnx, text):
        found = look(head, len(data))
        if found is not None:
            return found
    return error(
        "no TorchScript archive: it does not begin as a zip file does",
        f"{WRONG_FILE}, or {DOWNLOAD_AGAIN}",
    )


def truncated(size: int) -> ArchiveError:
    """The error for a zip file without the directory at its end."""
    return error(
        f"a zip file that was cut short (at {size:,} bytes): its directory, at the end, is missing",
        DOWNLOAD_AGAIN,
    )


def explain_zip(names: Collection[str]) -> ArchiveError:
    """The error for a zip file that is not a TorchScript archive."""
    short = {name.partition("/")[2] for name in names} | set(names)
    for name, what, help in ZIP_CONTENTS:
        if name in short:
            return error(what, help)
    if "data.pkl" in short:
        return error(CHECKPOINT, CHECKPOINT_HELP)
    if names and all(name.endswith(".npy") for name in names):
        return error("numpy arrays (.npz)", WRONG_FILE + "; numpy.load reads arrays")
    if any(".dist-info/" in name for name in names):
        return error("a Python wheel", WRONG_FILE)
    return error("a zip file without data.pkl and code/, so no TorchScript archive", WRONG_FILE)


def safetensors(head: bytes, size: int) -> ArchiveError | None:
    header = int.from_bytes(head[:8], "little")
    if len(head) > 9 and header + 8 <= size and head[8:9] == b"{" and head[9:10] in b'"} ':
        return error("a safetensors file: weights without a program", CHECKPOINT_HELP)
    return None


def onnx(head: bytes, size: int) -> ArchiveError | None:
    """The error for an ONNX model, a protobuf that begins with the version of the format."""
    if len(head) > 4 and head[0] == 8 and 1 <= head[1] <= 32 and head[2] in (0x12, 0x3A, 0x42):
        return error("an ONNX model", "run it with onnxruntime, or in PyTorch " + SAVE_SCRIPT)
    return None


def text(head: bytes, size: int) -> ArchiveError | None:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower()
    if start.startswith((b"<!doctype html", b"<html", b"<?xml", b"<head")):
        return error(
            "a web page, not a model: the download gave an error page or needs a login",
            "open it in a browser to see what it says, then " + DOWNLOAD_AGAIN,
        )
    if start.startswith((b"{", b"[")):
        return error("JSON text", WRONG_FILE)
    if size and all(c in b"\t\r\n" or 32 <= c < 127 for c in head):
        return error("a text file", WRONG_FILE)
    return None


def error(what: str, help: str) -> ArchiveError:
    return ArchiveError(f"this is {what}", None, help)
