"""`GET /memory/metrics`: what this server has measured, for Prometheus.

It tells how much and how fast, never what or whose. Who may read it is the deployment's to say: by its network, by the
server's own authentication of custom routes (`http.enable_custom_route_auth` in langgraph.json), or by a token that the
scraper sends as `Authorization: Bearer`.
"""

from __future__ import annotations

import hmac
import os

from fastapi import APIRouter, HTTPException, Request, Response

from react_mem.memory.telemetry import CONTENT_TYPE, exposition, start_counting

TOKEN_VARIABLE = "METRICS_TOKEN"  # noqa: S105 - the name of a setting
"""The environment variable with the token that a reader must send; without it anybody may read who can reach it."""

router = APIRouter(tags=["Monitoring"])

# At import, where a server expects slow work, and before the first turn.
start_counting()


@router.get(
    "/memory/metrics",
    summary="Metrics of the memory layer",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}}, 401: {"description": "The token is missing or wrong."}},
)
def metrics(request: Request) -> Response:
    """Return the metrics of this process in Prometheus' text format: times, counts, tokens, cost and health."""
    token = os.environ.get(TOKEN_VARIABLE)
    if token and not hmac.compare_digest(request.headers.get("authorization", "").encode(), f"Bearer {token}".encode()):
        raise HTTPException(
            401, f"Send `Authorization: Bearer` with the value of {TOKEN_VARIABLE}.", {"WWW-Authenticate": "Bearer"}
        )
    return Response(exposition(), media_type=CONTENT_TYPE)
