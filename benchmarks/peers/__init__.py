"""Other libraries' explainers on the same workload, one library per file."""

from peers.base import Unavailable, Variant

__all__ = ["Unavailable", "Variant"]
