"""Secrets of many kinds, made up: keys that have a shape, and values that have a name.

None is anybody's. A template says what a vendor's key looks like: ``{w20}`` stands for
20 letters and digits, ``h`` for hexadecimal digits, ``d`` for digits, ``u`` for
capitals and digits, ``b`` for what base64 has, ``l`` for small letters.
"""

from __future__ import annotations

import re
import string
from base64 import b64encode
from collections.abc import Iterator, Mapping
from random import Random
from typing import Final, NamedTuple

_ALPHABETS: Final[Mapping[str, str]] = {
    "w": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "d": string.digits,
    "u": string.ascii_uppercase + string.digits,
    "b": string.ascii_letters + string.digits + "+/",
    "l": string.ascii_lowercase,
}
_KEY: Final = "RSA PRIVATE KEY"
_PGP: Final = "PGP PRIVATE KEY BLOCK"
_PLACE: Final = re.compile(r"\{(\w)(\d+)\}")

SHAPED: Final[Mapping[str, str]] = {
    "OpenAI": "sk-{w48}",
    "OpenAI project": "sk-proj-{w48}_{w20}",
    "Anthropic": "sk-ant-api03-{w40}-{w20}AA",
    "OpenRouter": "sk-or-v1-{h64}",
    "AWS key id": "AKIA{u16}",
    "AWS session": "ASIA{u16}",
    "GitHub": "ghp_{w36}",
    "GitHub fine-grained": "github_pat_{u22}_{w59}",
    "GitHub app": "ghs_{w36}",
    "GitLab": "glpat-{w20}",
    "GitLab runner": "glrt-{w20}",
    "Slack bot": "xoxb-{d12}-{d12}-{w24}",
    "Slack app": "xapp-1-A{u10}-{d13}-{h64}",
    "Slack webhook": "https://hooks.slack.com/services/T{u8}/B{u10}/{w24}",
    "Discord webhook": "https://discord.com/api/webhooks/{d18}/{w68}",
    "Discord bot": "M{w23}.{w6}.{w27}",
    "Teams webhook": "https://x.webhook.office.com/webhookb2/{h32}@{h32}/In/{h32}",
    "Google key": "AIza{w35}",
    "Google access": "ya29.{w60}",
    "Google refresh": "1//0{w40}-{w40}",
    "Google client": "GOCSPX-{w28}",
    "Telegram": "{d10}:AA{w33}",
    "Telegram address": "https://api.telegram.org/bot{d10}:AA{w33}/getMe",
    "age": "AGE-SECRET-KEY-1{u58}",
    "Databricks": "dapi{h32}",
    "Azure storage": "AccountName=x;AccountKey={b86}==;EndpointSuffix=core.windows.net",
    "Azure bus": "SharedAccessKeyName=Root;SharedAccessKey={b43}=",
    "Azure signature": "https://x.blob.core.windows.net/c?sv=2024&sig={w40}%3D",
    "Entra client": "{w3}8Q~{w34}",
    "JWT": "eyJhbGciOiJIUzI1NiJ9.{w40}.{w43}",
    "Stripe": "sk_live_{w24}",
    "Stripe restricted": "rk_live_{w24}",
    "Stripe hook": "whsec_{w32}",
    "Twilio": "SK{h32}",
    "SendGrid": "SG.{w22}.{w43}",
    "Mailgun": "key-{h32}",
    "Mailchimp": "{h32}-us12",
    "npm": "npm_{w36}",
    "PyPI": "pypi-AgEIcHlwaS5vcmc{w80}",
    "Hugging Face": "hf_{w34}",
    "Replicate": "r8_{w37}",
    "Groq": "gsk_{w52}",
    "NVIDIA": "nvapi-{w64}",
    "xAI": "xai-{w80}",
    "Perplexity": "pplx-{w48}",
    "Tavily": "tvly-{w32}",
    "Cerebras": "csk-{w48}",
    "LangSmith": "lsv2_pt_{h32}_{h10}",
    "Square": "sq0csp-{w43}",
    "Shopify": "shpat_{h32}",
    "Doppler": "dp.pt.{w43}",
    "Vault": "hvs.{w90}",
    "Terraform": "{w14}.atlasv1.{w67}",
    "DigitalOcean": "dop_v1_{h64}",
    "Linear": "lin_api_{w40}",
    "Notion": "ntn_{w46}",
    "Figma": "figd_{w40}",
    "Postman": "PMAK-{h24}-{h34}",
    "New Relic": "NRAK-{u27}",
    "Sentry": "sntrys_{w80}",
    "Grafana": "glsa_{w32}_{h8}",
    "Atlassian": "ATATT3{w180}",
    "Supabase": "sbp_{h40}",
    "Artifactory": "AKC{w70}",
    "Docker": "dckr_pat_{w27}",
    "private key": f"-----BEGIN {_KEY}-----\n{{b64}}\n{{b64}}\n-----END {_KEY}-----",
    "Postgres": "postgres://app:{w16}@db.example:5432/main",
    "Redis": "redis://:{w20}@cache.example:6379/0",
    "MongoDB": "mongodb+srv://app:{w12}@{w4}@cluster.example/x",
    "AMQP": "amqps://app:{w16}@queue.example/vhost",
    "ADO": "Server=db.example;User Id=app;Password={w16};Encrypt=true",
    "npm line": "//registry.example/:_authToken={h8}-{h4}-{h4}-{h4}-{h12}",
    "bearer": "Authorization: Bearer {w40}",
    "curl": "curl -u admin:{w16} https://x.example/",
    "option": "deploy --api-key {w24} --dry-run",
    "mysql": "mysql -h db.example -p{w16} app",
    "netrc": "machine x.example login me password {w16}",
    "XML": "<db><user>a</user><password>{w16}</password></db>",
    "XML, a namespace": '<w:Password Type="text">{w16}</w:Password>',
    "key of an environment": "export STRIPE_KEY=1{w23}",
    "keys": "api_keys: 1{w23}",
    "header": "X-Own-Key: 1{w23}",
    "signed by AWS": "https://b.example/k?X-Amz-Signature={h64}&X-Amz-Date=1",
    "signed by Google": "https://b.example/o?X-Goog-Signature={h64}",
    "signed by CloudFront": "https://d.example/x?Expires=1&Signature={w40}&Id=A",
    "PGP": f"-----BEGIN {_PGP}-----\n\n{{b64}}\n=ab\n-----END {_PGP}-----",
    "PuTTY": "Encryption: none\nPrivate-Lines: 1\n{b64}\nPrivate-MAC: {h40}",
    "JWK": '{"kty":"RSA","n":"a","d":"{w43}"}',
    "Docker of a registry": '{"auths":{"x":{"auth":"{w24}"}}}',
    "hash of a password": "root:$6$saltsalt${w86}:19000:0:99999:7:::",
    "name behind letters of any script": "密码password: 1{w16}",
    "name behind another": "note = db_password=1{w16}",
    "Tailscale": "tskey-auth-1{w11}-{w24}",
    "Airtable": "pat{w14}.{h64}",
    "Asana": "1/{d16}:{h32}",
    "Pinecone": "pcsk_1{w60}",
    "Together": "tgp_v1_1{w42}",
    "ElevenLabs": "sk_{h48}",
    "Resend": "re_{w8}_{w24}",
    "Gemini": "AQ.1{w50}",
}
"""Keys that are told by what they look like, or by where they stand in a line."""

NAMES: Final = (
    "AZURE_OPENAI_API_KEY",
    "DB_PASSWORD",
    "dbPassword",
    "HF_TOKEN",
    "db-passwd",
    "POSTGRES_PASSWORD_PROD",
    "stripeSecretKey",
    "MY_CLIENT_SECRET",
    "github.token",
    "SMTP_PASS",
    "signing_key",
    "userPassphrase",
    "AWS_SECRET_ACCESS_KEY",
    "apiKey2",
    "SLACK_WEBHOOK_URL",
)
VALUES: Final = (
    "Hunter2-{w8}",
    "{b40}",
    "correct-{l5}-battery-{l6}",
    "{l5} {l7} {l6} {l5}",
    "p{d4}!{w6}$",
)


class MadeSecret(NamedTuple):
    """A secret of a family: where it stands, and what of it nobody may find.

    ``name`` is empty where its shape tells it.
    """

    family: str
    text: str
    core: str
    name: str = ""


def filled(template: str, random: Random) -> tuple[str, str]:
    """Return a template with its places filled, and the longest of these."""
    made = [
        "".join(random.choices(_ALPHABETS[each[1]], k=int(each[2])))
        for each in _PLACE.finditer(template)
    ]
    told = iter(made)
    return _PLACE.sub(lambda _: next(told), template), max(made, key=len)


def made_secrets(seed: int) -> Iterator[MadeSecret]:
    """Yield a secret of each family."""
    random = Random(seed)  # noqa: S311  # nobody is kept out by these
    for family, template in SHAPED.items():
        yield MadeSecret(family, *filled(template, random))
    basic = b64encode(b"app:" + filled("{w16}", random)[0].encode()).decode()
    yield MadeSecret("basic", f"Authorization: Basic {basic}", basic)
    for name in NAMES:
        for template in VALUES:
            value, _ = filled(template, random)
            yield MadeSecret(f"{name} {template}", value, value, name)
