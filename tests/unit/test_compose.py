"""The compose files, as far as they can be checked without an engine: their form, and that the settings exist."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from react_mem.memory.store.storage_settings import _FIELDS_BY_VARIABLE

DEPLOY = Path(__file__).parents[2] / "deploy"
FILES = sorted(DEPLOY.glob("compose*.yaml"))

SERVICE_KEYS = {
    "build",
    "command",
    "configs",
    "depends_on",
    "entrypoint",
    "environment",
    "healthcheck",
    "image",
    "ports",
    "profiles",
    "restart",
    "shm_size",
    "stop_grace_period",
    "volumes",
}
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}
OF_OTHERS = {
    "AUTH_ADMINS",
    "AUTH_JWT_AUDIENCE",
    "AUTH_JWT_ISSUER",
    "AUTH_JWT_JWKS_URL",
    "AUTH_JWT_SECRET",
    "LANGGRAPH_CLOUD_LICENSE_KEY",
    "LANGSMITH_API_KEY",
    "METRICS_TOKEN",
    "OPENAI_API_KEY",
    "POSTGRES_URI",
    "REDIS_URI",
}
"""Variables of an app that are not the storage's: LangGraph's server's, the models', metrics', and authentication's."""


@pytest.fixture(params=FILES, ids=lambda file: file.name)
def compose(request: pytest.FixtureRequest) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(request.param.read_text(encoding="utf-8"))
    return loaded


def test_there_is_one_for_one_node_and_one_for_many() -> None:
    assert [file.name for file in FILES] == ["compose.citus.yaml", "compose.yaml"]


def test_every_service_has_an_image_of_a_version_and_known_keys(compose: dict[str, Any]) -> None:
    assert set(compose) - {key for key in compose if key.startswith("x-")} <= {"name", "services", "volumes", "configs"}
    for name, service in compose["services"].items():
        assert set(service) <= SERVICE_KEYS, name
        image = re.sub(r"\$\{\w+:-(.*)\}", r"\1", service["image"])
        assert ":" in image, f"{name}: {image} has no version"
        assert image.startswith("react-mem:") or not image.endswith(":latest"), f"{name}: {image} changes by itself"
        if "build" in service:
            assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).is_file()


def test_who_waits_waits_for_a_service_that_can_say_so(compose: dict[str, Any]) -> None:
    services = compose["services"]
    for service in services.values():
        for other, how in service.get("depends_on", {}).items():
            assert how["condition"] in CONDITIONS
            if how["condition"] == "service_healthy":
                assert services[other]["healthcheck"]["test"]


def test_what_is_kept_is_on_volumes_that_are_declared(compose: dict[str, Any]) -> None:
    mounted = {mount.partition(":")[0] for each in compose["services"].values() for mount in each.get("volumes", ())}
    assert mounted == set(compose["volumes"])
    used = {config["source"] for each in compose["services"].values() for config in each.get("configs", ())}
    assert used == set(compose["configs"])


def test_no_secret_stands_in_a_file_and_no_port_is_open_to_others(compose: dict[str, Any]) -> None:
    for service in compose["services"].values():
        for variable, value in service.get("environment", {}).items():
            if re.search("PASSWORD|KEY|TOKEN", variable):
                assert re.fullmatch(r"\$\{\w+(:[-?].*)?\}", value), variable
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_the_settings_of_an_app_exist(compose: dict[str, Any]) -> None:
    known = {"DATABASE_URL", *_FIELDS_BY_VARIABLE, *OF_OTHERS}
    page = (DEPLOY.parent / "docs" / "scale.md").read_text(encoding="utf-8")
    advised = {variable for variable in _FIELDS_BY_VARIABLE if f"`{variable}" in page}
    assert advised
    apps = [each for each in compose["services"].values() if "react-mem:" in each["image"]]
    assert apps
    for app in apps:
        assert advised <= set(app["environment"]) <= known
        assert app["environment"]["DATABASE_URL"].startswith("postgresql://")
