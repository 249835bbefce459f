"""Environment variables that stop HTTP clients are refused, and harmless ones are not."""

from __future__ import annotations

import pytest

from holo_tasks.core.errors import InvalidUsage
from holo_tasks.machine.network_variables import check_network_variables


@pytest.mark.parametrize(
    ("name", "value"),
    [("SSL_CERT_FILE", "/nowhere.pem"), ("SSL_CERT_DIR", "/nowhere:/no"), ("all_proxy", "socks4://a:1")],
)
def test_a_variable_that_stops_clients_is_named(name: str, value: str) -> None:
    with pytest.raises(InvalidUsage, match=name):
        check_network_variables({name: value})


@pytest.mark.parametrize(
    "harmless",
    [
        {"SSL_CERT_DIR": "/nowhere:/"},
        {"AWS_CA_BUNDLE": "/nowhere.pem"},
        {"ALL_PROXY": "socks4://a:1", "NO_PROXY": "*"},
        {"HTTP_PROXY": "proxy:3128"},
        {"HTTP_PROXY": "http://[::1"},
    ],
)
def test_a_harmless_variable_is_passed_over(harmless: dict[str, str]) -> None:
    check_network_variables(harmless)
