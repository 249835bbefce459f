"""Guess whether an environment variable holds a key or a login, or belongs to a service.

`desktop.programs.environment` does not pass such variables on to the programs of a desktop. The guess uses the name and
the value. The name alone misleads: LOGIN_DELAY=3, SESSION_LOG=/tmp/x and TOKEN_FILE=/tmp/x
are not keys, and a program that does not get them fails for no visible reason. `looks_private` is the main function.
"""

from __future__ import annotations

import math
import re
from collections import Counter


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SERVICES = _names(
    "ANTHROPIC_ AWS_ AZURE_ CLOUDSDK_ GCP_ GITHUB_ GITLAB_ GOOGLE_ HAI_ KUBECONFIG KUBERNETES_ OPENAI_ PREFECT_ "
    "SENTRY_ SSH_ VAULT_ DOCKER_AUTH_CONFIG DOCKER_CERT_PATH DOCKER_CONFIG DOCKER_CONTENT_TRUST_ DOCKER_HOST "
    "PGPASSFILE PGPASSWORD PGSERVICE HOLO_API_KEY HOLO_DATABASE_URL HOLO_SECRET_ HOLO_SIGNING_KEY"
)
"""Prefixes of names of services' credentials and addresses. No such variable is passed on, whatever its value is."""
OTHER_SERVICES = _names(
    "BITBUCKET_ CARGO_ CLOUDFLARE_ COHERE_ DATABRICKS_ DATADOG_ DD_ DEEPSEEK_ DIGITALOCEAN_ ELEVENLABS_ FIREWORKS_ "
    "GEMINI_ GH_ GNUPGHOME GPG_ GROQ_ HEROKU_ HF_ HUGGINGFACE_ HUGGING_FACE_ JIRA_ KRB5 MISTRAL_ NETLIFY_ NETRC "
    "NEW_RELIC_ NPM_ OPENROUTER_ PERPLEXITY_ PYPI_ REPLICATE_ SENDGRID_ SLACK_ SNOWFLAKE_ STRIPE_ TOGETHER_ TWILIO_ "
    "TWINE_ UV_ VERCEL_ WANDB_ XAI_"
)
"""Prefixes of further services' names, which many shells set for other work. Error messages do not mention them."""
_KEY_OR_SERVICE_NAMES = re.compile(
    r"(?:TOKEN|COOKIE|WEBHOOK)S?(?:\d|_|$)"
    r"|(?:API|ACCESS|PRIVATE|SECRET|MASTER|SIGNING|ENCRYPTION|LICEN[CS]E)_?KEYS?(?:\d|_|$)"
    r"|(?:^|_)(?:KEYS?|KEYTAB|KEYRING|KEYSTORE|AUTH|AUTHN|AUTHZ|OAUTH2?|AUTHORIZATION|PAT|SAS|JWT|BEARER|SESSION|DSN"
    r"|SIGNING|SIGNATURE|LOGIN|SALT|CONNECTION|CONN|KRB5\w*|GPG|GNUPGHOME|NETRC)(?:\d|_|$)"
    r"|DATABASE"
    r"|^(?:IMAP|LDAP|MINIO|MONGO(?:DB)?|MYSQL|POSTGRES(?:QL)?|REDIS|S3|SMTP)_"
    r"|^PG(?:HOST|HOSTADDR|PORT|DATABASE|USER|OPTIONS|SSL\w+)$",
    re.IGNORECASE,
)
"""Names of generated keys, and of addresses and logins of services. Such a variable is passed on if its value is plain
(see `_is_plain`): a generated key is long and random, and a program may need a service's host or port."""
_PASSWORD_NAMES = re.compile(
    r"(?:PASSW(?:OR)?D|PASSPHRASE|SECRET|CREDENTIAL)S?(?:\d|_|$)"
    r"|(?:^|_)(?:(?:ADMIN|DB|FTP|LDAP|MAIL|MY|PROXY|ROOT|SMTP|SQL|SSH|USER)?(?:PASS|PWD)|PW|PIN|CVV|CVC|CREDS?|OTP|TOTP"
    r"|MFA)(?:\d|_|$)",
    re.IGNORECASE,
)
"""Names of passwords, PINs and other values that a person chose or types. These may be as plain as a word."""
_DESCRIBING_NAMES = re.compile(
    r"^(?:MAX|MIN|NUM)_|_(?:AGE|COLOU?R|COUNT|DELAY|DEPTH|DIR|DIRECTORY|EXPIRY|FILE|FOLDER|FORMAT|HEIGHT|INTERVAL|LAYOUT|LEN|LENGTH|LEVEL"
    r"|LIMIT|LOG|MAX|MIN|MODE|MS|PATH|POLICY|PORT|RETRIES|SECONDS|SIZE|STYLE|TIMEOUT|TRIES|TTL|TYPE|WAIT|WIDTH|X|Y)$",
    re.IGNORECASE,
)
"""Prefixes and suffixes of names whose value describes a key or a login but does not hold it."""

_LOGIN = re.compile(r"://[^/\s@]+@")
_KEY = re.compile(
    r"-----BEGIN "
    r"|\beyJ[\w-]{5,}\.[\w-]+\.[\w-]*"  # a JSON web token
    r"|\b(?:bearer|basic) +[\w+/=.~-]{8,}"
    r"|\b(?:gh[pousr]_|github_pat_|glpat-|xox[abposr]-|sk-|sk_live_|rk_live_|pnu_|pnb_|hf_|npm_|pypi-|dop_v1_|AKIA|ASIA)"
    r"[\w-]{10,}",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(
    r"(?:password|passwd|pwd|secret|token|api_?key|access_?key|account_?key|signature|sig)\s*[=:]\s*[^\s&;]",
    re.IGNORECASE,
)
_RANDOM = re.compile(r"(?<![\w/+.-])(?:[\w+/-]{24,}={0,2}|[\w+/-]{22,23}={1,2})(?![\w/+.-])", re.ASCII)
"""Texts that may be keys by themselves: long, and not part of a path or a name."""
_IDENTIFIER = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_PATH_LIKE = re.compile(r"(?:sqlite(?:\+\w+)?:/{2})?(?:~|\.{0,2})/")
_ABSOLUTE_PATH = re.compile(
    r"/(?:bin|boot|dev|etc|home|lib|lib64|media|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var|work|workspace|Users)(?:/|$)"
)
"""Beginnings of paths; keys do not begin like this."""
_RANDOM_BITS, _HEXADECIMAL = 4.1, 32
"""Entropy in bits per character from which a mixed text counts as a key, and the number of hexadecimal digits from
which a text always counts as a key."""
_CASE_CHANGES, _TO_DIGITS = r"(?=[a-z][A-Z]|[A-Z][a-z])", r"(?=[A-Za-z][0-9]|[0-9][A-Za-z])"
_MOST_WORD_CHANGES = 3
"""Number of changes between upper and lower case, and between letters and digits, from which a text looks generated.
Words, dates and versions have fewer of one kind."""

_NUMBER = re.compile(r"[+-]?\d{1,3}(?:\.\d{1,3})?")
_MEASURE = re.compile(r"[+-]?\d{1,9}(?:\.\d{1,6})?")
_BOOLEAN = re.compile(r"|0|1|true|false|yes|no|on|off|none|null", re.IGNORECASE)
_WORD = re.compile(r"(?:[A-Za-z]?[a-z]{1,11}|[A-Z]{1,12})(?:[-_](?:[a-z]{1,11}|[A-Z]{1,12}))?\d{0,2}")
_FILE_NAME = re.compile(r"(?:[\w.-]{1,40}/){0,8}\w[\w-]{0,39}(?:\.[a-z]{1,5}\d?){1,2}", re.ASCII)
_LOOPBACK = r"(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d{1,5})?(?![\w.:@-])"
_LOOPBACK_HOST = re.compile(_LOOPBACK, re.IGNORECASE)
_LOOPBACK_URL = re.compile(rf"\b[a-z][a-z0-9+.-]*://{_LOOPBACK}(?:[/?#][^\s;]*)?", re.IGNORECASE)


def looks_private(name: str, text: str) -> bool:
    """Return whether a variable looks like a key, a login or a setting of a service, by its name and its value."""
    if looks_secret(text) or name.startswith(SERVICES):
        return True
    if not has_private_name(name):
        return False
    if _PASSWORD_NAMES.search(name) and not _DESCRIBING_NAMES.search(name):
        return not (_BOOLEAN.fullmatch(text) or _ABSOLUTE_PATH.match(text))
    return not _is_plain(name, text)


def has_private_name(name: str) -> bool:
    """Return whether a variable may hold a key or a login, by its name alone."""
    return name.startswith(SERVICES) or bool(_PASSWORD_NAMES.search(name) or _KEY_OR_SERVICE_NAMES.search(name))


def looks_secret(text: str) -> bool:
    """Return whether a value looks like a key or holds a login, whatever its variable's name is."""
    if _LOGIN.search(text) or _KEY.search(text):
        return True
    # A password in a URL of this machine opens nothing from elsewhere. Only texts that look like keys count there.
    elsewhere = _LOOPBACK_URL.sub("", text)
    return bool(_ASSIGNED.search(elsewhere)) or any(_is_random(found[0]) for found in _RANDOM.finditer(text))


def _is_plain(name: str, text: str) -> bool:
    """Return whether a value is of a kind that is never a key, such as a number, a word or a path."""
    number = _MEASURE if _DESCRIBING_NAMES.search(name) else _NUMBER
    kinds = (number, _BOOLEAN, _WORD, _FILE_NAME, _LOOPBACK_HOST, _LOOPBACK_URL)
    return any(kind.fullmatch(text) for kind in kinds) or _is_path(text)


def _is_path(text: str) -> bool:
    return bool(_ABSOLUTE_PATH.match(text)) or (
        bool(_PATH_LIKE.match(text)) and not any(_looks_generated(part) for part in text.split("/"))
    )


def _is_random(run: str) -> bool:
    """Return whether a run of characters looks generated: hexadecimal, or mixed more than words and dates are."""
    if _IDENTIFIER.fullmatch(run) or _PATH_LIKE.match(run):
        return False
    if rooted := _ABSOLUTE_PATH.search(run):  # a path, behind an option's letter
        run = run[: rooted.start()]
    if len(run) >= _HEXADECIMAL and re.fullmatch(r"[0-9a-fA-F]+", run):
        return True
    return _looks_generated(run)


def _looks_generated(run: str) -> bool:
    if not all(re.search(kind, run) for kind in ("[a-z]", "[A-Z]", "[0-9]")):
        return False
    bits = -sum(count / len(run) * math.log2(count / len(run)) for count in Counter(run).values())
    return bits >= _RANDOM_BITS or all(
        len(re.findall(change, run)) >= _MOST_WORD_CHANGES for change in (_CASE_CHANGES, _TO_DIGITS)
    )
