#!/usr/bin/env bash
# google-adk 1.39.1 takes google-genai 2, and google-adk 2.0.0 only google-genai 1: who
# upgrades the one downgrades the other. A Part of google-genai 2.34.0, written as JSON with
# all its fields, has some that 1.75.0 does not know; that one refuses them though each is
# null, and with them the whole Session. Written without what is not set it reads.
#
# Seen: the versions that pip chooses, and what becomes of a session from one to the other.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
for name in old new; do python3 -m venv "$WORK/$name"; done
"$WORK/old/bin/pip" install --quiet google-adk==1.39.1 google-genai==2.34.0
"$WORK/new/bin/pip" install --quiet google-adk==2.0.0 google-genai==1.75.0
cat >"$WORK/writes.py" <<'PYTHON'
import sys

from google.adk.events import Event
from google.adk.sessions import Session
from google.genai import types

said = Event(author="user", content=types.UserContent("hi"))
session = Session(id="s", app_name="a", user_id="u", events=[said])
print(session.model_dump_json(exclude_none=sys.argv[1] == "set"))
PYTHON
cat >"$WORK/reads.py" <<'PYTHON'
import sys

from google.adk.sessions import Session
from pydantic import ValidationError

try:
    found = Session.model_validate_json(sys.stdin.read())
except ValidationError as error:
    refused = sorted(each["loc"][-1] for each in error.errors())
    print("refused:", *{each["type"] for each in error.errors()}, *refused)
else:
    print("read:", found.events[0].content.parts[0].text)
PYTHON
asks() {
  "$WORK/$1/bin/python" -W ignore -c "
from importlib.metadata import requires, version
asked = next(r for r in requires('google-adk') if r.startswith('google-genai'))
print('google-adk', version('google-adk'), 'asks for', asked)"
}
SEEN=$(
  asks old
  asks new
  for which in all set; do
    "$WORK/old/bin/python" -W ignore "$WORK/writes.py" "$which" >"$WORK/session.json"
    "$WORK/new/bin/python" -W ignore "$WORK/reads.py" <"$WORK/session.json"
  done
)
echo "$SEEN"
test "$SEEN" = "google-adk 1.39.1 asks for google-genai>=2.9,<3
google-adk 2.0.0 asks for google-genai>=1.72,<2
refused: extra_forbidden audio_transcription media_processing speech_metadata
read: hi"
