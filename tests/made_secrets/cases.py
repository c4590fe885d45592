"""The cases of the property: each family in each encoding, places and carriers in turn.

    python -m tests.made_secrets            our rules and detect-secrets, if installed
    python -m tests.made_secrets --lines F  the lines to a file, for any other scanner

It wants ``REFENGINE_CASSETTES`` to name a folder of recordings, to count false alarms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from compat.wire.exchanges import Exchange
from tests.made_secrets.encodings import CARRIERS, ENCODINGS, placed
from tests.made_secrets.families import MadeSecret, made_secrets

SEED: Final = 1


class SecretCase(NamedTuple):
    """A secret in one place and form, and an exchange that carries it."""

    secret: MadeSecret
    place: str
    encoding: str
    carrier: str
    text: str
    exchange: Exchange


def cases(seed: int = SEED) -> Iterator[SecretCase]:
    """Yield each family in each encoding."""
    carriers = list(CARRIERS.items())
    for at, secret in enumerate(made_secrets(seed)):
        for number, (encoding, encoded) in enumerate(ENCODINGS.items()):
            place, plain = placed(secret, at + number + seed)
            carrier, carry = carriers[(at + 2 * number + seed) % len(carriers)]
            text = encoded(plain)
            yield SecretCase(secret, place, encoding, carrier, text, carry(text))
