"""Wheels made here, so that environments are made without a network."""

import base64
import hashlib
import zipfile
from collections.abc import Mapping
from importlib.metadata import distribution
from pathlib import Path

HARNESS = (
    "annotated-types",
    "pydantic",
    "pydantic-core",
    "typing-extensions",
    "typing-inspection",
)
"""What a side needs of the harness, with all that this needs."""


WHEEL = b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def wheel(folder: Path, name: str, version: str, source: str) -> Path:
    """Write the wheel of a package that is one module."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": source.encode(),
        f"{info}/METADATA": (
            f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
        ),
        f"{info}/WHEEL": WHEEL,
    }
    return packed(folder / f"{name}-{version}-py3-none-any.whl", info, files)


def harness_wheels(folder: Path) -> None:
    """Pack what is installed here of the harness' needs into wheels again."""
    for name in HARNESS:
        found = distribution(name)
        tag = (found.read_text("WHEEL") or "").partition("Tag: ")[2].split()[0]
        files = {
            str(each): Path(str(found.locate_file(each))).read_bytes()
            for each in found.files or ()
            if ".." not in each.parts and "__pycache__" not in each.parts
        }
        info = next(each.partition("/")[0] for each in files if ".dist-info/" in each)
        packed(folder / f"{info.removesuffix('.dist-info')}-{tag}.whl", info, files)


def packed(path: Path, info: str, files: Mapping[str, bytes]) -> Path:
    """Write a wheel with the record that pip asks for."""
    record = f"{info}/RECORD"
    kept = {name: data for name, data in files.items() if name != record}
    lines = [f"{name},{digest(data)},{len(data)}" for name, data in kept.items()]
    with zipfile.ZipFile(path, "w") as made:
        for name, data in kept.items():
            made.writestr(name, data)
        made.writestr(record, "\n".join([*lines, f"{record},,"]))
    return path


def digest(data: bytes) -> str:
    found = hashlib.sha256(data).digest()
    return f"sha256={base64.urlsafe_b64encode(found).rstrip(b'=').decode()}"
