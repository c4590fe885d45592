"""What a key looks like, and where a text names a secret.

Each shape names a piece of text that must be there, in lower case, so that a text
without any is not searched. What looks like a key and is none is replaced too: that
costs a word of a text, a key in a file costs more.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from compat.wire.scrubbing.names import names_a_secret

Span: TypeAlias = tuple[int, int]


@dataclass(frozen=True, slots=True)
class KeyShape:
    """A pattern; only its group ``secret`` is replaced, or all of it without one.

    One that is ``named`` counts only if it holds a value, and if its group ``name``,
    where it has one, is the name of a secret.
    """

    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    named: bool = False

    def spans(self, text: str, lowered: str) -> Iterator[Span]:
        """Yield where the shape stands in the text."""
        if not any(hint in lowered for hint in self.hints):
            return
        groups = self.pattern.groupindex
        group = "secret" if "secret" in groups else 0
        match = self.pattern.search(text)
        while match is not None:
            found = not self.named or _is_value(match)
            if found:
                yield match.span(group)
            # What a name that is none of a secret's has behind it may be one itself.
            behind = match.end() if found or "name" not in groups else match.end("name")
            match = self.pattern.search(text, behind)


def _shape(hints: str, pattern: str, flags: int = 0) -> KeyShape:
    return KeyShape(tuple(hints.split(" ")), re.compile(pattern, flags))


def _named(hints: str, pattern: str, flags: int = 0) -> KeyShape:
    return KeyShape(tuple(hints.split(" ")), re.compile(pattern, flags), named=True)


def _token(hints: str, pattern: str) -> KeyShape:
    """Return a shape that begins where a word does, or behind an escaped line end."""
    return _shape(hints, rf"(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:{pattern})")


_NAMES: Final = (
    r"(?:x[-_]?)?(?:goog[-_]?)?api[-_]?key|password|passwd|pwd|client[-_]?secret"
    r"|secret(?:[-_]?(?:access[-_]?)?key)?|access[-_]?key(?:[-_]?id)?|private[-_]?key"
    r"|(?:access|refresh|id|auth|api|session|security|bearer)[-_]?token"
    r"|organization[-_]?id|org[-_]?id|project[-_]?id|session[-_]?id"
)
_NAMED: Final = (
    "pass pwd secret token key cred mnemonic phrase pat pw connection webhook"
)
"""What stands in every name of a secret, as ``names`` has them."""
_NAME: Final = r"(?<![A-Za-z0-9_.-])(?P<name>[A-Za-z_][\w.-]{0,60})"
_OPENED: Final = r"(?P<open>\\*[\"'`])"
_QUOTED: Final = (
    rf"{_OPENED}(?!(?P=open))(?P<secret>[^\r\n]{{1,4096}}?)(?<!\\)(?P=open)"
)
"""A text between quotes, which may be escaped: behind it come as many backslashes.

An empty one has its end there, and not at the next quote, which begins another text.
"""

PREFIXED: Final = (
    _token("sk- pk- rk-", r"[spr]k-[A-Za-z0-9_-]{12,}"),
    _token("sk_ pk_ rk_ whsec_", r"(?:[spr]k_(?:live|test)|whsec)_[A-Za-z0-9]{8,}"),
    _token(
        "akia asia aroa aida abia acca a3t",
        r"(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{12,}",
    ),
    _token(
        "gho_ ghp_ ghu_ ghs_ ghr_ github_pat",
        r"gh[opusr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,}",
    ),
    _token("xox xapp xoxe", r"(?:xox[a-z]|xapp|xoxe\.xox[a-z])-[A-Za-z0-9-]{8,}"),
    _token("eyj", r"eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{4,}(?:\.[A-Za-z0-9_-]*)*"),
    _token("aiza ya29. gocspx", r"AIza[\w-]{30,}|ya29\.[\w.-]{16,}|GOCSPX-[\w-]{16,}"),
    _token("1//0", r"1//0[\w-]{20,}"),
    _token(
        "gsk_ hf_ r8_ npm_ pypi- dop_v1_ doo_v1_ dor_v1_ lsv2_ nvapi- xai- csk- pplx-"
        " tvly- sg. ntn_ sbp_ glsa_ glc_ figd_ sntrys_ pscale_ pul- lin_api_ api_org_"
        " fw_ jina_ phc_ rubygems_ sgp_ tfp_ dckr_pat_ oat_",
        r"(?:gsk_|hf_|r8_|npm_|pypi-|do[por]_v1_|lsv2_|nvapi-|xai-|csk-|pplx-|tvly-"
        r"|SG\.|ntn_|sbp_|glsa_|glc_|figd_|sntrys_|pscale_(?:tkn|pw|oauth)_|pul-"
        r"|lin_api_|api_org_|fw_|jina_|phc_|rubygems_|sgp_|tfp_|dckr_pat_|oat_)"
        r"[A-Za-z0-9_.-]{16,}",
    ),
    _token(
        "glpat- gldt- glft- glsoat- glrt- glcbt- glimt- glptt- glagent- gloas- gr13489",
        r"(?:gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-|GR1348941)[\w-]{16,}",
    ),
    _token(
        "tgp_v1_ pcsk_ e2b_ pylf_v napi_ nfp_ fm2_ fo1_ rnd_ hcaik_ bkua_ ccipat_ squ_"
        " sqp_ rpa_ esecret_ hrku- cfpat- pnu_ aio_ tskey- aq.",
        r"(?:tgp_v1_|pcsk_|e2b_|pylf_v\d_|napi_|nfp_|fm2_|fo1_|rnd_|hcaik_|bkua_|CCIPAT_"
        r"|sq[up]_|rpa_|esecret_|HRKU-|CFPAT-|pnu_|aio_|tskey-[a-z]+-|AQ\.)"
        r"(?=[\w-]*[0-9])[\w-]{20,}",
    ),
    _token("pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    _token("/", r"[12]/[0-9]{13,16}:[a-f0-9]{32}(?![A-Za-z0-9])"),
    _token("v1.0-", r"v1\.0-[a-f0-9]{24}-[a-f0-9]{100,}"),
    _token("sk_", r"sk_[a-f0-9]{48}(?![A-Za-z0-9])"),
    _token("re_", r"re_[A-Za-z0-9]{8}_[A-Za-z0-9]{16,}"),
    _token("dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    _token("dp.", r"dp\.(?:st|pt|ct|sa|scim|audit)\.[\w.-]{20,}"),
    _token("hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{20,}"),
    _token("atlasv1", r"[A-Za-z0-9]{14}\.atlasv1\.[\w-]{40,}"),
    _token("shp", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    _token("sq0 eaaa", r"sq0[a-z]{3}-[\w-]{20,}|EAAA[\w-]{56,}"),
    _token("key- -us", r"key-[a-f0-9]{32}|[a-f0-9]{32}-us[0-9]{1,2}"),
    _token("ac sk", r"(?:AC|SK)[a-f0-9]{32}(?![A-Za-z0-9])"),
    _token("akc", r"AKC[a-zA-Z0-9]{40,}"),
    _token("nrak- pmak-", r"NRAK-[A-Z0-9]{20,}|PMAK-[a-f0-9]{24}-[a-f0-9]{34}"),
    _token("atatt3 atctt3", r"AT[AC]TT3[\w=-]{50,}"),
    _token("dt0c01", r"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    _token("age-secret", r"AGE-SECRET-KEY-(?:PQ-)?1[A-Z0-9]{40,}"),
    _token("q~", r"[\w~.-]{3}[0-9]Q~[\w~.-]{31,34}"),
    _token("org- proj_", r"(?:org-|proj_)[A-Za-z0-9]{12,}"),
    _token(
        ".",
        r"[MNO][\w-]{22,28}\.[\w-]{6}\.[\w-]{27,38}(?![\w.-])",
    ),
    _token(":", r"[0-9]{8,10}:[A-Za-z0-9_-]{35}(?![\w-])"),
)
"""What tells itself: keys that begin, or are put together, as nothing else is."""

PLACED: Final = (
    _shape(
        "private key",
        r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----(?s:.*?)(?:-----END|\Z)",
    ),
    _shape(
        "private-lines",
        r"Private-Lines:\s*[0-9]+(?:\s|\\+[nr])+"
        r"(?P<secret>(?:[A-Za-z0-9+/=\s]|\\+[nr])+)",
    ),
    _shape("private-mac", r"Private-MAC:\s*(?P<secret>\w{16,})"),
    # The private parts of a key as JSON Web Keys write it.
    _shape(
        '"kty"',
        r"\"(?:d|p|q|dp|dq|qi|k)\\*\"\s*:\s*\\*\"(?P<secret>[\w-]{16,})",
    ),
    _shape("auth", r"\"_?auth\\*\"\s*:\s*\\*\"(?P<secret>[A-Za-z0-9+/]{16,}=*)"),
    # A password as a file of users has it.
    _shape(
        "$",
        r"\$(?:apr1|1|2[abxy]|5|6|7|y|argon2\w*|scrypt|pbkdf2[\w-]*)\$"
        r"(?P<secret>[\w./+=,$-]{20,})",
    ),
    _shape("login", r"login\s+\S+\s+password\s+(?P<secret>\S+)"),
    # Options of commands; a user's number and a folder are no password.
    _shape(
        "-u --user --proxy-user",
        r"(?:^|(?<=\s))(?:-u|--(?:proxy-)?user)[= ]\s*[\"']?[^\s:\"'\\/]+:"
        r"(?P<secret>(?!\d+(?:[\s\"']|$))[^\s\"'\\]{4,})",
        re.MULTILINE,
    ),
    _shape(
        "mysql mariadb",
        r"(?:mysql|mariadb)\w*\b[^\n|;&]{0,200}?\s-p(?P<secret>[^\s\"'\\]{4,})",
    ),
    _shape("bearer", r"bearer\s+(?P<secret>[A-Za-z0-9._~+/=-]{6,})", re.IGNORECASE),
    _shape(
        "authorization",
        r"authorization\\*[\"']?\s*[:=]\s*\[?\\*[\"']?(?P<secret>[^\r\n\"'\\,\]]{6,})",
        re.IGNORECASE,
    ),
    _shape(
        "cookie",
        r"cookie\\*[\"']?\s*:\s*\[?\\*[\"']?(?P<secret>[\w.-]+=[^\r\n\"'\\]+)",
        re.IGNORECASE,
    ),
    # Up to the last @, as a password may have one; a port and a path are none.
    _shape("://", r"(?<=://)(?P<secret>[^/\s:@\"'\\]*:(?!\d+/)[^\s\"'\\<>]+)(?=@)"),
    _shape("/projects/", r"(?<=/projects/)(?P<secret>[^/?#\s\"'\\]+)"),
    _shape(
        "hooks.slack webhook hooks.zapier",
        r"(?:hooks\.slack\.com/(?:services|workflows|triggers)"
        r"|discord(?:app)?\.com/api(?:/v\d+)?/webhooks|hooks\.zapier\.com/hooks/catch"
        r"|webhook\.office\.com/webhookb2|outlook\.office\.com/webhook)"
        r"/(?P<secret>[^\s\"'\\<>?#]+)",
        re.IGNORECASE,
    ),
    _shape("/bot", r"(?<=/bot)(?P<secret>[0-9]{6,}:[\w-]{30,})"),
    _shape(
        "key token",
        r"(?<![A-Za-z0-9])(?:x-)?(?:goog-)?(?:api-key|auth-token)\s*:\s*"
        r"(?P<secret>[^\s\"'\\,;]{4,})",
        re.IGNORECASE,
    ),
    # A signature in an address, beside the time up to which it holds.
    _shape(
        "sig= signature= credential= token=",
        r"[?&;](?:amp;)?(?:sig|(?:x-(?:amz|goog)-)?(?:signature|credential|security-token))="
        r"(?P<secret>[A-Za-z0-9%+/=_~-]{20,})",
        re.IGNORECASE,
    ),
    # A header that names a key of its own.
    _shape(
        "-key -token -secret",
        r"(?<![\w-])x-(?!idempotency|request)[a-z0-9-]{0,40}?(?:key|token|secret)\s*:\s*"
        r"(?P<secret>(?=[^\s\"'\\,;]*[0-9])[^\s\"'\\,;]{8,})",
        re.IGNORECASE,
    ),
    _shape("_authtoken", r"_authToken\s*=\s*(?P<secret>[^\s\"'\\]+)", re.IGNORECASE),
)
"""What stands where only a secret stands."""

NAMED: Final = (
    # Names that are no end of longer ones: of organizations, projects, sessions.
    _named(
        "key pass pwd secret token org project session",
        rf"[\"'](?:{_NAMES})\\*[\"']\s*:\s*\\*[\"'](?P<secret>[^\"'\\]+)",
        re.IGNORECASE,
    ),
    _named(
        "key pass pwd secret token org project session",
        rf"(?<![A-Za-z0-9])(?:{_NAMES})=(?P<secret>[^\s&\"'\\;,<>]+)",
        re.IGNORECASE,
    ),
    # A field of JSON inside a text, or a value in quotes behind a name.
    _named(_NAMED, rf"{_NAME}\\*[\"'`]?\s*(?::=|=>|[:=])\s*{_QUOTED}"),
    # A parameter of an address, a part of a connection string.
    _named(_NAMED, rf"{_NAME}=(?P<secret>[^\s&\"'`\\;,<>(){{}}\[\]]+)"),
    # A line of settings for a shell: all that stands there.
    _named(
        _NAMED,
        r"^[ \t]*(?:export[ \t]+|set[ \t]+)?(?P<name>[A-Z][A-Z0-9_]{2,60})="
        r"(?P<secret>[^\s\"'`][^\s]*)$",
        re.MULTILINE,
    ),
    # A line of settings; what has no digit or is short is taken for a word.
    _named(
        _NAMED,
        rf"{_NAME}(?:\s*:\s*|\s+=\s*|=\s+)"
        r"(?P<secret>(?=[^\s\"'`]*[0-9])[^\s\"'`\\,;<>(){}\[\]]{6,})",
    ),
    # An option of a command, and what stands behind it.
    _named(
        _NAMED,
        r"(?:^|(?<=\s))--(?P<name>[A-Za-z][\w-]{0,60})[ \t]+"
        r"(?P<secret>[^\s\"'`\\-][^\s\"'`\\]{3,})",
        re.MULTILINE,
    ),
    # An element of XML.
    _named(
        _NAMED,
        r"<(?:[\w.-]{1,40}:)?(?P<name>[A-Za-z_][\w.-]{0,60})(?:\s[^<>]{0,200})?>\s*"
        r"(?P<secret>[^<>\s][^<>]{0,4095}?)\s*</",
    ),
    # A key in the environment; its value has digits and letters, as no word has.
    _shape(
        "_key",
        r"(?<![A-Za-z0-9_])(?!PUBLIC|PRIMARY|FOREIGN|CACHE|SORT|PARTITION|IDEMPOTENCY)"
        r"[A-Z][A-Z0-9_]{1,60}_KEYS?\s*[=:]\s*\\*[\"']?"
        r"(?P<secret>(?=[\w+/=.~-]*[0-9])(?=[\w+/=.~-]*[A-Za-z])[\w+/=.~-]{16,})",
    ),
    # Several words, which a passphrase has; a password only joined by something.
    _named(
        "phrase mnemonic",
        r"(?<![a-z])(?:pass[-_ ]?phrase|mnemonic|(?:seed|recovery)[-_ ]?phrase)"
        r"(?:\s+is)?\s*[:=\s]\s*(?P<secret>[a-z]+(?:[ -][a-z]+){3,24})",
        re.IGNORECASE,
    ),
    _named(
        _NAMED,
        rf"{_NAME}\s*[:=]\s*(?P<secret>[A-Za-z]{{3,}}(?:[-_.][A-Za-z]{{3,}}){{3,}})",
    ),
)
"""What stands behind the name of a secret."""

SHAPES: Final = (*PREFIXED, *PLACED, *NAMED)

_HINTS: Final = re.compile(
    "|".join(re.escape(hint) for hint in {h for each in SHAPES for h in each.hints})
)
"""Most texts have none of all hints, which one look tells."""
_NO_VALUE: Final = re.compile(
    r"\$\{?[A-Z_][A-Z0-9_]*\}?|<[\w -]+>|\{\{.*\}\}|%\(\w+\)s|\*+|\.+|x+|null|none"
    r"|true|false|undefined|(?:os\.(?:environ|getenv)|process\.env|getenv|env)\b.*",
    re.IGNORECASE | re.DOTALL,
)
"""What stands for a value in settings and programs, and is none itself."""
_BASIC: Final = re.compile(r"basic\s+([A-Za-z0-9+/_-]{4,}=*)", re.IGNORECASE)


def _is_value(match: re.Match[str]) -> bool:
    said = match.groupdict()
    if not names_a_secret(said.get("name", "password")):
        return False
    return not _NO_VALUE.fullmatch(said["secret"])


def shape_spans(text: str) -> Iterator[Span]:
    """Yield where something stands that looks like a key."""
    lowered = text.lower()
    if _HINTS.search(lowered):
        for shape in SHAPES:
            yield from shape.spans(text, lowered)
    if "basic" in lowered:
        yield from _basic(text)


def _basic(text: str) -> Iterator[Span]:
    """Yield name and password in base64; "basic knowledge" is none, and stays."""
    for match in _BASIC.finditer(text):
        digits = match[1].translate({ord("-"): "+", ord("_"): "/"}).rstrip("=")
        if len(digits) % 4 != 1:
            raw = b64decode(digits + "=" * (-len(digits) % 4))
            if b":" in raw:
                yield match.span(1)
