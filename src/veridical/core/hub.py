"""Whether the Hugging Face hub can be reached, found out before its client spends half a minute on retries."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

_SECONDS = 3.0


def only_local(source: str) -> bool:
    """Whether a model has to come from this machine: it is a folder here, or only the hub's cache may have it."""
    return Path(source).is_dir() or not hub_answers()


@contextmanager
def offline_unless_reached() -> Iterator[None]:
    """While inside, the hub's client looks into its cache only, unless the hub can be reached."""
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    constants.HF_HUB_OFFLINE = before or not hub_answers()
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def hub_answers() -> bool:
    """Whether the hub accepts connections; behind a proxy only its client knows the way."""
    if getproxies():
        return True
    from huggingface_hub import constants

    address = urlsplit(constants.ENDPOINT)
    port = address.port or (80 if address.scheme == "http" else 443)
    try:
        socket.create_connection((address.hostname or "", port), timeout=_SECONDS).close()
    except OSError:
        return False
    return True
