"""A wrong file is named, and the error says what to do."""

import io

import numpy as np
import pytest
from scriptlang.serialization.archive import read_archive

from scriptlang.errors import ArchiveError
from tests.serialization.archives import DATA, zipped

FIXTURE = (DATA / "mlp.trace.pt").read_bytes()


def npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, a=np.zeros(3))
    return file.getvalue()


def npy() -> bytes:
    file = io.BytesIO()
    np.save(file, np.zeros(3))
    return file.getvalue()


WRONG = {
    "an empty file": b"",
    "cut short": FIXTURE[:1000],
    "JPEG": b"\xff\xd8\xff\xe0\x00\x10JFIF" + b"\0" * 40,
    "PNG": b"\x89PNG\r\n\x1a\n" + b"\0" * 40,
    "ELF": b"\x7fELF" + b"\0" * 60,
    "gzip": b"\x1f\x8b\x08" + b"\0" * 40,
    "tar": b"\0" * 257 + b"ustar" + b"\0" * 250,
    "numpy array": npy(),
    "numpy arrays": npz(),
    "safetensors": (16).to_bytes(8, "little") + b'{"__metadata__":{}}' + b" " * 20,
    "ONNX": b"\x08\x08\x12\x07pytorch\x1a\x052.0.0" + b"\0" * 40,
    "web page": b"<!DOCTYPE html><html><body>404</body></html>",
    "JSON": b'{"a": 1}',
    "text file": b"hello, world\n",
    "Git LFS pointer": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    "flatbuffer": b"\x18\0\0\0PTMF" + b"\0" * 40,
    "ExecuTorch": b"\x18\0\0\0ET12" + b"\0" * 40,
    "torch.save file (weights": (DATA / "serialization" / "checkpoint.pth").read_bytes(),
    "before PyTorch 1.6": (DATA / "serialization" / "legacy.pth").read_bytes(),
    "a Python pickle": b"\x80\x04K\x01.",
    "exported program (.pt2)": zipped({"m/archive_format": b"pt2", "m/data.pkl": b""}),
    "model.json": zipped({"m/model.json": b"{}", "m/code/m.py": b""}),
    "torch.package": zipped({"m/.data/extern_modules": b"", "m/data.pkl": b""}),
    ".mar": zipped({"MAR-INF/MANIFEST.json": b"{}"}),
    "wheel": zipped({"a-1.dist-info/METADATA": b""}),
    "no TorchScript archive": zipped({"a/b": b""}),
    "does not begin as a zip file does": bytes(range(128, 256)),
}


@pytest.mark.parametrize("what", WRONG, ids=str)
def test_named(what):
    with pytest.raises(ArchiveError) as e:
        read_archive(WRONG[what])
    assert what in str(e.value) and e.value.help


def test_a_missing_file_is_a_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_archive(tmp_path / "no.pt")


def test_a_text_stream_is_named():
    with pytest.raises(TypeError, match="binary mode"):
        read_archive(io.StringIO("x"))


def test_something_else_is_a_type_error():
    with pytest.raises(TypeError, match="takes a path, a binary file object or bytes, not int"):
        read_archive(3)
