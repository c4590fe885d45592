#!/usr/bin/env bash
# google-adk 1.19.0 asks for `sqlalchemy>=2.0, <3.0.0`. Installed anew it gets 2.1, which no
# longer brings greenlet by itself. `from google.adk.sessions import DatabaseSessionService`
# then fails and says that it requires sqlalchemy>=2.0, of which 2.1.9 is one: what is
# missing is named by the cause of the error alone. With greenlet beside it the same import
# works.
#
# Seen: the version of SQLAlchemy, the error, its cause, and the import with greenlet.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet google-adk==1.19.0 sqlalchemy==2.1.9
cat >"$WORK/shows.py" <<'PYTHON'
from importlib.metadata import version
from importlib.util import find_spec

print("sqlalchemy", version("sqlalchemy"), "greenlet:", find_spec("greenlet") is not None)
try:
    from google.adk.sessions import DatabaseSessionService
except ImportError as error:
    cause = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    print("error:", error)
    print("cause:", type(cause).__name__, getattr(cause, "name", None))
else:
    print("imported", DatabaseSessionService.__name__)
PYTHON
SEEN=$(
  "$WORK/venv/bin/python" -W ignore "$WORK/shows.py"
  "$WORK/venv/bin/pip" install --quiet greenlet==3.5.6
  "$WORK/venv/bin/python" -W ignore "$WORK/shows.py"
)
echo "$SEEN"
test "$SEEN" = "sqlalchemy 2.1.9 greenlet: False
error: DatabaseSessionService requires sqlalchemy>=2.0, please ensure it is installed correctly.
cause: ModuleNotFoundError greenlet
sqlalchemy 2.1.9 greenlet: True
imported DatabaseSessionService"
