"""Authentication by signed tokens as it is, but by the clock of a test, so that minutes pass when the test says so."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from react_mem.graphs.auth import by_jwt
from react_mem.graphs.auth.by_jwt import JwtSettings, PublicKeys
from tests.support.identity_provider import CLOCK_ENV, TestClock

_clocked: Any = partial(PublicKeys, clock=TestClock(Path(os.environ[CLOCK_ENV])))
by_jwt.PublicKeys = _clocked
auth = by_jwt.by_jwt(JwtSettings.from_env())
