#!/usr/bin/env bash
# langgraph 1.0.10, the last release of its line, does not import any more. It asks for
# langgraph-prebuilt>=1.0.8,<1.1.0, and a later patch release of that, 1.0.13, imports a
# name which langgraph has only in later lines. So who pins langgraph alone, or langchain 1.0
# or 1.1 which bring it, gets a broken environment today from an unchanged requirement;
# langgraph-prebuilt has to be pinned beside it.
#
# Seen: the requirement, the versions that pip picks, and the error; then that an older
# langgraph-prebuilt imports.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet langgraph==1.0.10
cat >"$WORK/shows.py" <<'PYTHON'
from importlib.metadata import requires, version

print(next(each for each in requires("langgraph") if "prebuilt" in each))
print("langgraph", version("langgraph"), "with", version("langgraph-prebuilt"))
try:
    from langgraph.prebuilt import create_react_agent
except ImportError as error:
    print("ImportError:", str(error).partition(" (")[0])
else:
    print("imports", create_react_agent.__name__)
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py")
"$WORK/venv/bin/pip" install --quiet langgraph-prebuilt==1.0.8
SEEN+=$'\n'$("$WORK/venv/bin/python" "$WORK/shows.py")
echo "$SEEN"
test "$SEEN" = "langgraph-prebuilt<1.1.0,>=1.0.8
langgraph 1.0.10 with 1.0.13
ImportError: cannot import name 'ExecutionInfo' from 'langgraph.runtime'
langgraph-prebuilt<1.1.0,>=1.0.8
langgraph 1.0.10 with 1.0.8
imports create_react_agent"
