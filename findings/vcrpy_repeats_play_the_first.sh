#!/usr/bin/env bash
# vcrpy 9.4.2: allow_playback_repeats, which the error for an answer that was already played
# advises, does not begin where the recorded answers end. With it, equal requests are all
# given the first recorded answer, also those for which a second one is recorded; without
# it, they are given one after the other. And requests are equal if method and address are:
# a cassette of an agent whose two steps are POSTs to one address plays the first step again
# and again, so a call of a tool comes back as often as it is answered.
#
# Seen: the answers to three POSTs with different bodies, of which two were recorded.
set -euo pipefail
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
python3 -m venv "$WORK/venv"
"$WORK/venv/bin/pip" install --quiet vcrpy==9.4.2
cat >"$WORK/shows.py" <<'PYTHON'
import sys
import urllib.request

import vcr
from vcr.errors import CannotOverwriteExistingCassetteException

CASSETTE = """
version: 1
interactions:
- request: {body: step 1, headers: {}, method: POST, uri: 'http://model.test/chat'}
  response:
    {body: {string: call a tool}, headers: {}, status: {code: 200, message: OK}}
- request: {body: step 2, headers: {}, method: POST, uri: 'http://model.test/chat'}
  response:
    {body: {string: done}, headers: {}, status: {code: 200, message: OK}}
"""


def answer(step):
    try:
        with urllib.request.urlopen("http://model.test/chat", step) as found:
            return found.read().decode()
    except CannotOverwriteExistingCassetteException:
        return "none"


with open(sys.argv[1], "w") as file:
    file.write(CASSETTE)
for repeats in (False, True):
    with vcr.use_cassette(
        sys.argv[1], record_mode="none", allow_playback_repeats=repeats
    ) as cassette:
        answers = [answer(step) for step in (b"step 1", b"step 2", b"step 3")]
        print(", ".join(answers), "| all played:", cassette.all_played)
PYTHON
SEEN=$("$WORK/venv/bin/python" "$WORK/shows.py" "$WORK/cassette.yaml" 2>/dev/null)
echo "$SEEN"
test "$SEEN" = "call a tool, done, none | all played: True
call a tool, call a tool, call a tool | all played: False"
