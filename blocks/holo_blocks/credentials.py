"""The block for the key of a model endpoint."""

from __future__ import annotations

from typing import ClassVar

from prefect.blocks.core import Block
from pydantic import Field, SecretStr

from holo_blocks.addresses import page, picture
from holo_blocks.schema import OneSchema


class HoloCredentials(OneSchema, Block):
    """
    The key of a model endpoint, which several Holo Model blocks can share.

    Example:
        ```python
        from holo_blocks import HoloCredentials, HoloModel

        credentials = HoloCredentials.load("BLOCK_NAME")

        HoloModel(credentials=credentials).save("holo", overwrite=True)
        ```
    """

    _block_type_name: ClassVar[str] = "Holo Credentials"
    _block_type_slug: ClassVar[str] = "holo-credentials"
    _logo_url = picture()
    _documentation_url = page("holo-credentials")

    api_key: SecretStr = Field(title="API key", description="The key of the endpoint. Prefect encrypts it.")
