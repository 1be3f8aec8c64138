"""The version of the installed package."""

from importlib.metadata import version as _installed


def version() -> str:
    """The version, as the package's metadata says."""
    return _installed("goalproxy")
