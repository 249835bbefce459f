"""Request bodies as the product builds them."""

from tests.support.product_requests import body as body  # a fixture
