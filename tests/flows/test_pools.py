"""The job templates of the work pools, as the workers of each kind interpret them."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
from docker.models import containers
from prefect import flow
from prefect.blocks.system import Secret
from prefect.client.orchestration import get_client
from prefect.states import Completed, Running
from prefect.workers.base import BaseJobConfiguration, BaseWorker
from prefect.workers.process import ProcessWorker
from prefect_docker.worker import DockerWorker, DockerWorkerJobConfiguration
from prefect_kubernetes.worker import KubernetesWorker, KubernetesWorkerJobConfiguration

POOLS = Path(__file__).parents[2] / "deployments" / "pools"
WORKERS: dict[str, type[BaseWorker[Any, Any, Any]]] = {
    "process": ProcessWorker,
    "docker": DockerWorker,
    "kubernetes": KubernetesWorker,
}
API = "https://prefect.internal/api"
DATABASE = "postgresql://holo:kept@db.internal/holo"
GIB = 2**30


@flow(name="Some work", persist_result=False)
async def some_work() -> None:
    """The flow to run."""


def loaded(name: str) -> Any:
    """Return a script of `deployments/` as a module."""
    spec = importlib.util.spec_from_file_location(Path(name).name, POOLS.parent / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def template(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((POOLS / f"{kind}.json").read_text(encoding="utf-8"))
    return found


def placeholders(kind: str) -> set[str]:
    return set(re.findall(r"{{ (\w+) }}", json.dumps(template(kind)["job_configuration"])))


async def prepared(kind: str, **values: Any) -> BaseJobConfiguration:
    """Return the job configuration that the worker of this kind makes from the template and job variables."""
    async with get_client() as client:
        wanted = await WORKERS[kind].job_configuration.from_template_and_values(template(kind), values, client=client)
        run = await client.create_flow_run(some_work, name="Look at ‘it’")
        wanted.prepare_for_flow_run(run, worker_name="a worker")
        return wanted


@pytest.mark.parametrize("kind", WORKERS)
def test_a_template_has_only_known_fields_and_uses_each_of_its_variables(kind: str) -> None:
    assert sorted(path.stem for path in POOLS.glob("*.json")) == sorted(WORKERS)
    found, worker = template(kind), WORKERS[kind]
    assert found["job_configuration"].keys() <= worker.job_configuration.model_fields.keys()
    assert placeholders(kind) == found["variables"]["properties"].keys()
    default = worker.get_default_base_job_template()["variables"]["properties"]
    known = found["variables"]["properties"].keys() & default.keys()
    assert {"command", "env", "name", "labels"} <= known, "a worker fills these in"


@pytest.mark.parametrize("kind", WORKERS)
async def test_a_server_accepts_the_pool_with_its_queues(kind: str, prefect: str) -> None:
    module = loaded("pools/make")
    pool = f"of-{kind}"
    for _ in range(2):
        assert await module.make(kind, pool) == (
            f"The work pool {pool} ({kind}) has the queues urgent, lists, default, later, the most urgent first."
        )
    async with get_client() as client:
        made = await client.read_work_pool(pool)
        queues = await client.read_work_queues(work_pool_name=pool)
        await client.delete_work_pool(pool)
    assert (made.type, made.base_job_template) == (kind, template(kind))
    by = {queue.name: queue.priority for queue in queues}
    assert sorted(by, key=lambda name: by[name] or 0) == ["urgent", "lists", "default", "later"]


async def test_a_process_pool_starts_prefects_engine(prefect: str) -> None:
    wanted = await prepared("process", env={"HOLO_REPORTS": "/srv/reports"})
    assert str(wanted.command).endswith(" -m prefect.engine")
    assert wanted.env["HOLO_REPORTS"] == "/srv/reports"


async def docker_asked(monkeypatch: pytest.MonkeyPatch, **values: Any) -> dict[str, Any]:
    """Return the request to Docker's engine that the worker and Docker's client would make."""
    await Secret(value=DATABASE).save("holo-database-url", overwrite=True)  # type: ignore[misc]
    wanted = await prepared("docker", **values)
    assert isinstance(wanted, DockerWorkerJobConfiguration)
    wanted.env["PREFECT_API_URL"] = API  # with a local URL the worker would query the engine's network
    worker = DockerWorker(work_pool_name="desktops", test_mode=True)
    settings = worker._build_container_settings(None, wanted)  # type: ignore[arg-type]
    asked: dict[str, Any] = containers._create_container_args({**settings, "version": "1.44"})
    return asked


async def test_a_container_has_minimal_privileges(prefect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = await docker_asked(monkeypatch)
    host = asked["host_config"]
    assert (asked["image"], asked["command"]) == ("prefect-holo:latest", "prefect flow-run execute")
    assert asked["user"] == "1000:1000"
    assert host["ReadonlyRootfs"] is True
    assert host["Init"] is True
    assert host["CapDrop"] == ["ALL"]
    assert host["SecurityOpt"] == ["no-new-privileges:true"]
    assert not host.get("Privileged")
    assert "PidMode" not in host
    assert host["Tmpfs"] == {"/tmp": "rw,nosuid,nodev,size=1g,mode=1777"}
    assert host["ShmSize"] == GIB
    assert (host["Memory"], host["MemorySwap"]) == (4 * GIB, 4 * GIB)
    assert (host["NanoCpus"], host["PidsLimit"]) == (2_000_000_000, 1024)
    assert host["Binds"] == ["holo-home:/var/lib/holo"]


async def test_a_secret_comes_from_its_block_and_no_template_contains_it(
    prefect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = await docker_asked(monkeypatch)
    assert asked["environment"]["HOLO_DATABASE_URL"] == DATABASE
    for kind in WORKERS:
        assert "://" not in json.dumps({**template(kind), "variables": {}})
        env = template(kind)["variables"]["properties"]["env"].get("default") or {}
        assert all(value.startswith("{{ prefect.blocks.secret.") for value in env.values())


async def test_a_deployments_job_variables_reach_docker(prefect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = await docker_asked(monkeypatch, mem_limit="8g", shm_size="2g", tmp_size="3g", image="ours/holo:1")
    host = asked["host_config"]
    assert (asked["image"], host["Memory"], host["MemorySwap"]) == ("ours/holo:1", 8 * GIB, 8 * GIB)
    assert (host["ShmSize"], host["Tmpfs"]["/tmp"]) == (2 * GIB, "rw,nosuid,nodev,size=3g,mode=1777")


async def manifest_of(**values: Any) -> dict[str, Any]:
    """Return the Kubernetes worker's job, without two fields that Prefect's own template has in the wrong place."""
    wanted = await prepared("kubernetes", **values)
    assert isinstance(wanted, KubernetesWorkerJobConfiguration)
    pod = wanted.job_manifest["spec"]["template"]["spec"]
    # The worker requires these two fields there, and Kubernetes ignores them.
    assert (pod.pop("parallelism"), pod.pop("completions")) == (1, 1)
    return wanted.job_manifest


async def test_a_job_is_valid_for_kubernetes(prefect: str) -> None:
    manifest = await manifest_of()
    for version in ("1.29", "1.35"):
        kubernetes_validate.validate(manifest, version, strict=True)
    assert manifest["metadata"]["namespace"] == "holo"
    assert (manifest["spec"]["activeDeadlineSeconds"], manifest["spec"]["backoffLimit"]) == (86_400, 0)
    manifest["spec"]["template"]["spec"]["securityContext"]["runAsUsr"] = 0
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(manifest, "1.29", strict=True)


async def test_a_pod_has_minimal_privileges(prefect: str) -> None:
    pod = (await manifest_of())["spec"]["template"]["spec"]
    (box,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["terminationGracePeriodSeconds"] == 60
    assert pod["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 1000,
        "runAsGroup": 1000,
        "fsGroup": 1000,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert box["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "privileged": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert box["envFrom"] == [{"secretRef": {"name": "holo"}}]
    assert box["args"] == ["prefect", "flow-run", "execute"]
    assert box["resources"]["limits"] == {"cpu": "4", "memory": "4Gi"}
    volumes = {volume["name"]: volume["emptyDir"] for volume in pod["volumes"]}
    assert volumes["shm"] == {"medium": "Memory", "sizeLimit": "1Gi"}
    mounted = {mount["mountPath"]: volumes[mount["name"]] for mount in box["volumeMounts"]}
    assert mounted.keys() == {"/dev/shm", "/tmp", "/var/lib/holo"}


async def test_a_deployments_job_variables_reach_kubernetes(prefect: str) -> None:
    manifest = await manifest_of(env={"HOLO_REPORTS": "/tmp/r"}, memory_limit="8Gi", active_deadline_seconds=600)
    (box,) = manifest["spec"]["template"]["spec"]["containers"]
    assert {"name": "HOLO_REPORTS", "value": "/tmp/r"} in box["env"]
    assert box["resources"]["limits"]["memory"] == "8Gi"
    assert manifest["spec"]["activeDeadlineSeconds"] == 600
    kubernetes_validate.validate(manifest, "1.35", strict=True)


async def test_draining_a_pool_waits_for_its_runs_and_names_the_remaining_ones(prefect: str) -> None:
    make, drain = loaded("pools/make"), loaded("drain")
    await make.make("process", "to-drain")
    async with get_client() as client:
        flow_id = await client.create_flow(some_work)
        deployment = await client.create_deployment(flow_id, name="drained", work_pool_name="to-drain")
        run = await client.create_flow_run_from_deployment(deployment, name="slow", state=Running())
        assert await drain.drained("to-drain", 0) == ["slow"]
        waits = asyncio.create_task(drain.drained("to-drain", 60))
        await client.set_flow_run_state(run.id, Completed(), force=True)
        assert await waits == []
        assert (await client.read_work_pool("to-drain")).is_paused
        await client.delete_work_pool("to-drain")
