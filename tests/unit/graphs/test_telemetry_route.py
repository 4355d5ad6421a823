"""`GET /memory/metrics`, as Prometheus and others read it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client.parser import text_string_to_metric_families

from react_mem.graphs.auth.permissions import METRICS_TOKEN_ENV
from react_mem.graphs.http import router
from react_mem.memory import telemetry

ROOT = Path(__file__).parents[3]


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


def test_it_is_documented(client: TestClient) -> None:
    described = client.get("/openapi.json").json()["paths"]["/memory/metrics"]["get"]
    assert set(described["responses"]) == {"200", "401"}


_PROCESS = """
import os, sys
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client import REGISTRY, generate_latest
import react_mem.graphs.http
from react_mem.memory import telemetry
from react_mem.memory.telemetry.prometheus import exposition

telemetry.count("turns")
reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider([reader]))  # a deployment's own, set late
telemetry.count("turns")
print("ours", "react_mem_turns_total 2.0" in exposition().decode())
print("global", '"value": 1' in reader.get_metrics_data().to_json())
print("apart", "react_mem" not in generate_latest(REGISTRY).decode())
sys.stdout.flush()
if os.fork() == 0:
    telemetry.count("turns")
    print("child", "react_mem_turns_total 1.0" in exposition().decode())
    sys.stdout.flush()
    os._exit(0)
os.wait()
print("parent", "react_mem_turns_total 2.0" in exposition().decode())
"""


def test_beside_a_provider_of_the_deployment_and_in_a_fork() -> None:
    # a global provider is set once a process
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run(
        [sys.executable, "-c", _PROCESS], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    told = dict(line.split() for line in done.stdout.splitlines())
    assert told == dict.fromkeys(("ours", "global", "apart", "child", "parent"), "True")
