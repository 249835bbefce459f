"""Which variables reach the processes that we start: those on a list, and none that look private."""

from __future__ import annotations

import random
import string
import uuid

import pytest

from holo_tasks.desktop.programs.environment import PASSED_ON, for_ours, for_programs, withheld_names

NEEDED = {
    "PATH": "/bin",
    "HOME": "/home/me",
    "LC_TIME": "de_DE.UTF-8",
    "XDG_DATA_HOME": "/home/me/.local/share",
    "TZ": "Europe/Berlin",
    "VIRTUAL_ENV": "/home/me/venv",
    "PYTHONPATH": "/srv/lib:/srv/more",
    "GTK_THEME": "Adwaita",
    "QT_SCALE_FACTOR": "2",
    "JAVA_HOME": "/opt/java",
    "SAL_USE_VCLPLUGIN": "gen",
    "LD_LIBRARY_PATH": "/opt/lib",
    "https_proxy": "http://proxy.example:3128",
    "HOLO_HOME": "/home/me/holo",
}
A_PERSONS_OWN = {
    "APP_LOG": "/tmp/pytest-of-root/pytest-2/test_Aa1Bb2Cc3Dd4Ee5Ff6Gg7/log",
    "PORT": "8080",
    "STATE_FILE": "state.json",
    "MY_APP_URL": "http://127.0.0.1:8080/form?page=2",
    "RUN_ID": str(uuid.UUID(int=2**127 - 12345)),
    "KEYBOARD_LAYOUT": "de",
    "GREETING": "Hello, this is a plain sentence with 42 words in it, or fewer.",
    "AUTHOR": "me",
    "DATABASE": "/tmp/ledger.sqlite",
    "HOLO_LEDGER_LOG": "/tmp/log",
    "BUILD": "2026-01-31T12:00:00+01:00",
    "ITEMS": '[{"number": 1001, "amount": "12.50"}]',
    # Names that look like secrets, with harmless values.
    "LOGIN_DELAY": "3",
    "LOGIN_TIMEOUT_MS": "15000",
    "SESSION_LOG": "/tmp/pytest-of-root/pytest-2/test_Aa1Bb2Cc3Dd4Ee5Ff6Gg7/log",
    "KEY_LOG": "/tmp/k",
    "AUTH_LOG": "auth.log",
    "PIN_COUNT": "2",
    "PASSWORD_LENGTH": "12",
    "MAX_TOKENS": "4096",
    "HOTKEY": "F5",
    "COMPASS_X": "1",
    "BYPASS": "1",
    "CONN_MODE": "slow",
    "AUTH": "off",
    "SHOW_PASSWORD": "true",
    "TOKEN_FILE": "/tmp/x",
    "PASSWORD_FILE": "~/notes/pw.txt",
    "DATABASE_PATH": "orders.db",
    "DATABASE_FILE": "data/2026/orders.db",
    "PGSTATE": "ready to go, any time",
    "DOCKER_X": "any value, 1234",
    "SMTP_PORT": "2525",
    "SMTP_HOST": "127.0.0.1:2525",
    "REDIS_URL": "redis://localhost:6379/0",
    "PAGE_URL": "http://127.0.0.1/?token=abc",
    "LOGIN_URL": "http://127.0.0.1:8080/login?next=/",
    "APP_ARGS": "--out=/tmp/tmpAbC1d2E3f4G5h6I7/state -o/tmp/tmpAbC1d2E3f4G5h6I7",
}
PRIVATE = {
    "HAI_API_KEY": "k",
    "HOLO_API_KEY": "k",
    "HOLO_SECRET_PIN": "4711",
    "HOLO_SIGNING_KEY_FILE": "/home/me/key.pem",
    "HOLO_DATABASE_URL": "postgresql://db.example/holo",
    "GITHUB_TOKEN": "x",
    "DATABASE_URL": "postgres://db.example/x",
    "AWS_PROFILE": "admin",
    "PREFECT_API_URL": "http://127.0.0.1:4200/api",
    "PGPASSWORD": "x",
    "PGSERVICEFILE": "/home/me/.pg_service.conf",
    "PGHOST": "db.example.org, db2.example.org",
    "DOCKER_AUTH_CONFIG": "{}",
    "DOCKER_HOST": "tcp://10.0.0.1:2376",
    "SSH_AUTH_SOCK": "/tmp/agent",
    "STRIPE_KEY": "rk_test_4eC39HqLyjWDarjt",
    "SLACK_WEBHOOK_URL": "https://hooks.slack.example/services/T01/B02/x3",
    "LOCAL_DATABASE": "postgres://me:hunter2@127.0.0.1/x",
    "JUPYTER_URL": "http://127.0.0.1:8888/?token=0123456789abcdef0123456789abcdef0123456789abcdef",
    "APIKEY": "12ab34cd",
    "DBPASS": "x",
    "MY_PASSWORD": "hunter2",
    "PASSWORD_PROD": "summer",
    "CARD_PIN": "471",
    "SMTP_USER": "me@example.org",
    "SESSION_ID": "8c1f2e7a90",
    "MY_TOKEN": "81236712",
    "SENTRY_DSN": "x",
    "HARMLESS_1": "https://me:hunter2@git.example/repo",
    "HARMLESS_2": "https://ghp_1234567890@git.example/repo",
    "HARMLESS_3": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "HARMLESS_4": "-----BEGIN PRIVATE KEY-----\nMIIE",
    "HARMLESS_5": "Server=db;User Id=me;Password=hunter2;",
    "HARMLESS_6": "sk-proj-1234567890abcdef",
    "HARMLESS_7": "0123456789abcdef0123456789abcdef01234567",
    "HARMLESS_8": "Authorization: Bearer abcdefgh12345678",
    "http_proxy": "http://me:hunter2@proxy.example:3128",
    "_JAVA_OPTIONS": "-Djavax.net.ssl.keyStorePassword=changeit",
    "WAYLAND_DISPLAY": "wayland-0",
    "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/1000/bus",
}
ALL = NEEDED | A_PERSONS_OWN | PRIVATE


def of_ours(env: dict[str, str]) -> set[str]:
    return {name for name, text in env.items() if ALL.get(name) == text}


def test_our_processes_and_programs_of_flows_get_the_listed_variables():
    assert of_ours(for_ours(ALL)) == set(NEEDED)
    assert of_ours(for_programs(ALL, {})) == set(NEEDED)


def test_a_persons_own_program_also_gets_all_variables_that_do_not_look_private():
    assert of_ours(for_programs(ALL, {}, inherits="plain")) == set(NEEDED) | set(A_PERSONS_OWN)


def test_explicitly_passed_variables_are_passed_whatever_they_contain():
    asked = {PASSED_ON: "GITHUB_TOKEN, APP_LOG,ABSENT,", **ALL}
    for inherits in ("needed", "plain"):
        env = for_programs(asked, {"HOLO_API_KEY": "on purpose"}, inherits=inherits)
        assert env["HOLO_API_KEY"] == "on purpose"
        assert of_ours(env) >= {"GITHUB_TOKEN", "APP_LOG"}
    assert "GITHUB_TOKEN" not in for_ours(asked)


@pytest.mark.parametrize("alphabet", [string.ascii_letters + string.digits, string.ascii_letters + "0123456789+/"])
@pytest.mark.parametrize("length", [32, 40, 64])
def test_a_random_value_counts_as_a_secret_whatever_its_name(alphabet, length):
    rng = random.Random(length)
    for _ in range(200):
        value = "Aa0" + "".join(rng.choice(alphabet) for _ in range(length - 3))
        assert "PLAIN" not in for_programs({"PLAIN": value}, {}, inherits="plain"), value


def test_withheld_variables_are_named_except_those_of_every_shell():
    everyday = ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "HF_TOKEN", "NPM_TOKEN", "HAI_API_KEY", "SSH_AUTH_SOCK")
    assert withheld_names(dict.fromkeys(everyday, "hunter-2-or-3")) == []
    assert withheld_names({"STATE": "Kranich-7", "PORT": "1"}, ["Kranich-7"]) == ["STATE"]
    assert withheld_names({"APP_PASSWORD": "x", "PORT": "1", "PATH": "/bin", "WAYLAND_DISPLAY": "w"}) == [
        "APP_PASSWORD"
    ]


def test_keys_beyond_latin_1_can_be_typed_in_any_locale():
    assert "utf" in for_ours({"LC_ALL": "C"})["LC_CTYPE"].lower()
    assert "LC_ALL" not in for_ours({"LC_ALL": "C"})
