"""The golden files of the checkpoint format: ``python -m tools.state.golden``.

    python -m tools.state.golden tests/golden/checkpoints/v1

writes one file a sample, and none that stands there already: what was written by an
older version stays as it is. Tests read all of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path

from refengine.state.codec import encode_step
from tools.state.samples import WRITER, sample_types, samples


def golden() -> Iterator[tuple[str, bytes]]:
    """Yield each sample's file name and bytes, as this version writes it."""
    types = sample_types()
    for name, step in samples().items():
        yield f"{name}.ckpt", encode_step(step, types, writer=WRITER)


def write(folder: Path) -> list[Path]:
    """Write the files that are not there yet, and return them."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [(folder / name, each) for name, each in golden()]
    written = [(path, each) for path, each in missing if not path.exists()]
    for path, each in written:
        path.write_bytes(each)
    return [path for path, _ in written]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the golden files to the folder that is given, and name them."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.state.golden", description=__doc__
    )
    parser.add_argument("folder", type=Path, help="tests/golden/checkpoints/v1")
    for path in write(parser.parse_args(arguments).folder):
        print(f"wrote {path}")  # noqa: T201  # a command answers


if __name__ == "__main__":
    main()
