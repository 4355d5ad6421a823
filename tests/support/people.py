"""People who call an authenticated server, what they show it, and how it is configured to know them."""

from __future__ import annotations

import json
import time
from typing import Any, Final

import jwt

ANN: Final = "ann"
"""A user with something to lose."""

BOB: Final = "bob"
"""Another user: whoever attacks."""

ADMIN: Final = "root"
"""The administrator."""

ISSUER: Final = "https://issuer.example"
AUDIENCE: Final = "react-mem"
SECRET: Final = "a secret of these tests, of at least the sixty-four bytes that the longest algorithm asks for"

GUARDED: Final = {
    "AUTH_JWT_ISSUER": ISSUER,
    "AUTH_JWT_AUDIENCE": AUDIENCE,
    "AUTH_JWT_SECRET": SECRET,
    "AUTH_ADMINS": ADMIN,
}
"""Environment of a server that knows them."""


def token_of(identity: Any, secret: str = SECRET, algorithm: str = "HS256", **claims: Any) -> str:
    """Return the bearer token of a person."""
    right = {"sub": identity, "iss": ISSUER, "aud": AUDIENCE, "exp": int(time.time()) + 3600}
    said = {name: value for name, value in {**right, **claims}.items() if value is not None}
    # PyJWT itself refuses a subject that is no text
    return jwt.PyJWS().encode(json.dumps(said).encode(), secret, algorithm=algorithm)
