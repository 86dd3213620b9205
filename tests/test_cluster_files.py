"""The files that start a cluster: the commands are Ray's, and the manifest has the fields of a RayCluster."""

from __future__ import annotations

import shlex
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import ValidationError, validate

DEPLOY = Path(__file__).parents[1] / "deploy"


def of(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False}


TEXT = {"type": "string"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
CONTAINER = of(
    {
        "name": TEXT,
        "image": TEXT,
        "ports": {"type": "array", "items": of({"containerPort": {"type": "integer"}, "name": TEXT}, "containerPort")},
        "resources": of({"requests": TEXTS, "limits": TEXTS}),
        "volumeMounts": {"type": "array", "items": of({"name": TEXT, "mountPath": TEXT}, "name", "mountPath")},
    },
    "name",
    "image",
)
VOLUME = of({"name": TEXT, "persistentVolumeClaim": of({"claimName": TEXT}, "claimName")}, "name")
POD = of(
    {
        "spec": of(
            {
                "containers": {"type": "array", "minItems": 1, "items": CONTAINER},
                "volumes": {"type": "array", "items": VOLUME},
            },
            "containers",
        )
    },
    "spec",
)
# A value of rayStartParams is text, also where it is a number.
HEAD = of({"rayStartParams": TEXTS, "template": POD}, "template")
NUMBER = {"type": "integer", "minimum": 0}
GROUP = of(
    {"groupName": TEXT, "replicas": NUMBER, "minReplicas": NUMBER, "maxReplicas": NUMBER, **HEAD["properties"]},
    *("groupName", "minReplicas", "maxReplicas", "template"),
)
RAY_CLUSTER = of(
    {
        "apiVersion": {"const": "ray.io/v1"},
        "kind": {"const": "RayCluster"},
        "metadata": of({"name": TEXT}, "name"),
        "spec": of(
            {"rayVersion": TEXT, "headGroupSpec": HEAD, "workerGroupSpecs": {"type": "array", "items": GROUP}},
            "headGroupSpec",
        ),
    },
    *("apiVersion", "kind", "metadata", "spec"),
)
"""Those fields of KubeRay's RayCluster that the manifest uses, and no others."""


def manifest() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "raycluster.yaml").read_text(encoding="utf-8"))
    return found


def test_the_manifest_is_a_ray_cluster() -> None:
    validate(manifest(), RAY_CLUSTER)
    for group in manifest()["spec"]["workerGroupSpecs"]:
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]


def test_a_wrong_field_is_found() -> None:
    wrong = deepcopy(manifest())
    wrong["spec"]["headGroupSpec"]["rayStartParams"]["num-cpus"] = 0
    with pytest.raises(ValidationError, match="0 is not of type 'string'"):
        validate(wrong, RAY_CLUSTER)


def commands() -> list[list[str]]:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    written = [shlex.split(service["command"]) for service in services.values()]
    page = (DEPLOY.parent / "docs" / "cluster.md").read_text(encoding="utf-8").splitlines()
    return [*written, *(shlex.split(line) for line in page if line.startswith("    ray start"))]


def test_every_option_is_known_to_ray() -> None:
    from ray.scripts.scripts import start

    known = {name for option in start.params for name in option.opts}
    parameters = [manifest()["spec"]["headGroupSpec"], *manifest()["spec"]["workerGroupSpecs"]]
    given = [f"--{name}" for group in parameters for name in group["rayStartParams"]]
    for command in commands():
        assert command[:2] == ["ray", "start"]
        given += [word for word in command[2:] if word.startswith("--")]
    assert len(commands()) == 4 and len(given) >= 9
    assert {*given} <= known
