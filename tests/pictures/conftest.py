"""Pure tests as well."""

from tests.unit.conftest import no_tensorflow

__all__ = ["no_tensorflow"]
