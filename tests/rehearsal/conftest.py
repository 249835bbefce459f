"""Requests as the product makes them."""

from tests.support.product_requests import body as body  # a fixture
