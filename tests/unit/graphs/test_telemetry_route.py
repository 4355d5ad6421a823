"""`GET /memory/metrics`, as Prometheus and others read it."""

from __future__ import annotations

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from react_mem.graphs.auth.permissions import METRICS_TOKEN_ENV
from react_mem.graphs.http import router
from react_mem.memory import telemetry


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.delenv(METRICS_TOKEN_ENV, raising=False)
    app = FastAPI()
    app.include_router(router)
    return TestClient(app)


def values(text: str) -> dict[str, float]:
    """Return every sample by its name and labels."""
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_it_tells_what_was_measured_since_the_server_started(client: TestClient) -> None:
    before = values(client.get("/memory/metrics").text)
    telemetry.count("degradations", part="reranker")
    with pytest.raises(ConnectionError), telemetry.span("web_engine", engine="searxng"):
        raise ConnectionError
    telemetry.record("breaker.open", 1, guards="web_engine", name="searxng")
    response = client.get("/memory/metrics")
    assert response.headers["content-type"].startswith("text/plain")
    after = values(response.text)

    def grown(name: str) -> float:
        return after[name] - before.get(name, 0)

    assert grown("react_mem_degradations_total[('part', 'reranker')]") == 1
    assert grown("react_mem_errors_total[('error_type', 'ConnectionError'), ('operation', 'web_engine')]") == 1
    called = "[('engine', 'searxng'), ('error_type', 'ConnectionError')]"
    assert grown(f"react_mem_web_engine_duration_seconds_count{called}") == 1
    assert after["react_mem_breaker_open[('guards', 'web_engine'), ('name', 'searxng')]"] == 1
    assert after["react_mem_start_time_seconds[]"] > 1.7e9


def test_with_a_token_nobody_else_reads_it(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(METRICS_TOKEN_ENV, "sesame")
    for headers in ({}, {"Authorization": "Bearer öther"}, {"Authorization": "sesame"}):
        encoded = {name: value.encode() for name, value in headers.items()}
        response = client.get("/memory/metrics", headers=encoded)
        assert response.status_code == 401
        assert "react_mem_" not in response.text
    assert client.get("/memory/metrics", headers={"Authorization": "Bearer sesame"}).status_code == 200
