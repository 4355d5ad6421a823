"""Packages of other services, whose tests are skipped where they are not installed; in their own job of CI never."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def service(module: str, extra: str) -> Any:
    """Return a module of an extra that is not locked, or skip the test."""
    if os.environ.get("SERVICES_INSTALLED"):
        return importlib.import_module(module)
    return pytest.importorskip(module, reason=f"needs the extra {extra}")
