"""Print one of the two commands README opens with, as a reader would copy it.

    python .ci/readme_commands.py {1,2} [README.md]

CI runs what this prints, so the README cannot promise what was not run.
"""

import re
import sys
from pathlib import Path

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"^```(?:sh|bash|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(text: str) -> list[str]:
    """Return the command lines of all shell blocks, continued lines joined."""
    blocks = "".join(BLOCK.findall(text)).replace("\\\n", " ")
    lines = (line.strip().removeprefix("$ ") for line in blocks.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def main(number: str, readme: str | None = None) -> None:
    """Print the command of that number, counted from 1."""
    text = Path(readme or README).read_text("utf-8")
    print(commands(text)[:2][int(number) - 1])


if __name__ == "__main__":
    main(*sys.argv[1:])
