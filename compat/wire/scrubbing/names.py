"""Which names say that what they name is a secret: of fields, variables, parameters.

A name is read word by word, however it is written: ``DB_PASSWORD``, ``dbPassword`` and
``db-password`` end with the same word. Names of vendors' own fields that end so and
hold no secret (``next_page_token``) are told apart by the word before.
"""

from __future__ import annotations

import re
from typing import Final

FIELDS: Final = frozenset(
    [
        "accesskey",
        "accesskeyid",
        "accesstoken",
        "accountid",
        "apikey",
        "apitoken",
        "authorization",
        "authtoken",
        "awsaccesskeyid",
        "awssecretaccesskey",
        "awssessiontoken",
        "bearertoken",
        "clientsecret",
        "cookie",
        "cookies",
        "credential",
        "credentials",
        "googapikey",
        "idtoken",
        "organization",
        "organizationid",
        "orgid",
        "passwd",
        "password",
        "privatekey",
        "projectid",
        "proxyauthorization",
        "pwd",
        "refreshtoken",
        "secret",
        "secretaccesskey",
        "secretkey",
        "securitytoken",
        "sessionid",
        "sessiontoken",
        "setcookie",
        "subscriptionkey",
        "token",
        "xapikey",
        "xgoogapikey",
    ]
)
"""Names whose value is replaced whatever it is, in lower case and in one word."""

_GLUED: Final = (
    "accesskey",
    "accesskeyid",
    "accountkey",
    "apikey",
    "authkey",
    "connectionstring",
    "credential",
    "encryptionkey",
    "masterkey",
    "mnemonic",
    "passcode",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secretkey",
    "seedphrase",
    "sharedaccesssignature",
    "signingkey",
    "subscriptionkey",
    "webhookurl",
)
"""Ends that mean a secret also where no letter shows that a word begins.

Of all of them an ``s`` more means several.
"""
_LAST: Final = frozenset(("pass", "passwd", "pat", "pw", "pwd", "secret", "token"))
"""Last words that mean a secret, since a word is begun there."""
_BEHIND: Final = frozenset(
    ("b64", "base64", "dev", "live", "old", "prod", "production", "staging")
)
"""Words that stand behind the last one: which of several secrets it is."""
_NO_SECRET: Final = frozenset(
    (
        "begin",
        "bos",
        "by",
        "cls",
        "continuation",
        "control",
        "cursor",
        "each",
        "end",
        "eos",
        "every",
        "first",
        "image",
        "last",
        "logit",
        "mask",
        "max",
        "min",
        "next",
        "pad",
        "page",
        "pagination",
        "per",
        "prefix",
        "resume",
        "sep",
        "special",
        "start",
        "stop",
        "suffix",
        "sync",
        "think",
        "thinking",
        "top",
        "unk",
    )
)
"""Words before ``token`` that make it a mark in a text, or a place in a list."""
_FOLDERS: Final = ("PWD", "OLDPWD")
"""What a shell calls the folder that it is in."""
_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_NOT_LETTERS: Final = re.compile(r"[^a-z0-9]")


def bare(name: str) -> str:
    """Return a name as FIELDS writes it: ``X-Api-Key`` and ``xApiKey`` are one."""
    return _NOT_LETTERS.sub("", name.lower())


def names_a_secret(name: str) -> bool:
    """Tell whether a name says that a text it names is a secret."""
    if name in _FOLDERS:
        return False
    words = [each.lower() for each in _WORD.findall(name)]
    while words and (words[-1].isdigit() or words[-1] in _BEHIND):
        words.pop()
    if "".join(words).removesuffix("s").endswith(_GLUED):
        return True
    if words[-1:] == ["secrets"]:
        return True
    if not words or words[-1] not in _LAST:
        return False
    return len(words) == 1 or words[-2] not in _NO_SECRET
