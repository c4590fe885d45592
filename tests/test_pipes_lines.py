"""Which line of a program's log is quoted."""

import pytest

from compat.pipes import last_line

NODE = """\
/app/agent.mjs:3
    return model.cal();
                 ^

TypeError: model.cal is not a function
    at run (/app/agent.mjs:3:18)
    at async main (/app/agent.mjs:9:3)

Node.js v22.11.0
"""
GO = """\
reading the settings
panic: runtime error: index out of range [3] with length 2

goroutine 1 [running]:
main.run(...)
\t/app/main.go:12
main.main()
\t/app/main.go:5 +0x1d
exit status 2
"""
PYTHON = """\
Traceback (most recent call last):
  File "agent.py", line 3, in <module>
    main()
openai.APIConnectionError: Connection error.
"""


@pytest.mark.parametrize(
    ("log", "said"),
    [
        (NODE, "TypeError: model.cal is not a function"),
        (GO, "panic: runtime error: index out of range [3] with length 2"),
        (PYTHON, "openai.APIConnectionError: Connection error."),
        ("ValueError: tried again\nwaiting for the queue\n", "waiting for the queue"),
        ("one\n  two\n", "  two"),
        ("", ""),
    ],
)
def test_the_line_that_says_what_happened_is_quoted(log: str, said: str) -> None:
    assert last_line(log.encode()) == said
