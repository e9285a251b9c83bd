"""The main job on the Dataflow of this machine: every graph as it is sent, run, and held against the local runner."""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from apache_beam.coders.coders import deserialize_coder
from apache_beam.portability import common_urns
from apache_beam.portability.api import beam_runner_api_pb2
from fake_dataflow import Pipeline, Service, functions, staged, stages
from on_dataflow import IMAGE, cloud, run, upload
from synthetic import tree

from pipeline import storage
from pipeline.cost import JOBS
from pipeline.transforms.coder import ArrowTableCoder

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
# The transforms that a stage is known by, a set a job, in the order in which they are sent.
WANTED = {
    "ingest": [{"Create", "Read", "IngestTurns", "NumberGold", "ShuffleGold", "ShuffleDead", "WriteCounts"}],
    "signals": [{"Create", "Signals", "WriteCounts"}],
    "train": [{"Create", "Count"}, {"Create", "Keep"}, {"Create", "Edges", "Known", "WriteEdges"}],
    "label": [{"Create", "Judge", "WriteCounts", "WriteProfile"}],
    "curate": [
        {"Create", "SharedConversations", "WriteShared_Conversations"},
        {"Create", "Curate", "WritePool"},
        {"Create", "Sift", "WriteRound-0"},
    ],
    "release": [
        {"Sample turns", "Sample signals", "Sample judgements", "Sample examples", "WriteRows"},
        {"Create", "Shuffle0", "Write0", "WriteShards"},
        {"Create", "Shuffle", "WriteDead_Letters"},
    ],
}
# In another process than the one that built the graph, with nothing imported but Beam.
LOAD = """
import pickle, sys
from apache_beam.internal import pickler
for payload in pickle.load(open(sys.argv[1], "rb")):
    fn = pickler.loads(payload)[0]
    print(type(fn).__module__, type(fn).__name__)
"""


@pytest.fixture(scope="module")
def sent(log: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Service, Path]:
    """The service after a whole run, and a copy of the output folder."""
    to = tmp_path_factory.mktemp("dataflow")
    with cloud() as (bucket, service):
        upload(log, f"{bucket}/log")
        assert run(bucket, service, "--labels=team=nlu", "--service_account_email=worker@my-project") == 0
        for path in storage.sizes(f"{bucket}/out"):
            copy = to / path.removeprefix(f"{bucket}/out/")
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(storage.read_bytes(path))
    return service, to


@pytest.mark.parametrize("stage", WANTED)
def test_the_jobs_of_a_stage_hold_its_transforms(sent: tuple[Service, Path], stage: str):
    found = [stages(pipeline) for pipeline in sent[0].of(stage)]
    assert len(found) == len(WANTED[stage]) == JOBS[stage]
    for names, wanted in zip(found, WANTED[stage], strict=True):
        assert wanted <= names


def test_a_job_names_our_image_and_region_and_is_labelled_with_its_run(sent: tuple[Service, Path]):
    service, out = sent
    run_id = next((out / "runs").iterdir()).name.lower()
    numbers: Counter[str] = Counter()
    for job in service.jobs:
        stage = job["labels"]["afterword_stage"]
        assert job["labels"] == {"team": "nlu", "afterword_run": run_id, "afterword_stage": stage}
        numbers[stage] += 1
        assert re.fullmatch(rf"afterword-{stage}-[0-9a-f]{{12}}-[0-9a-f]{{8}}-{numbers[stage]}", job["name"])
        pool = job["environment"]["workerPools"][0]
        assert pool["workerHarnessContainerImage"] == IMAGE and pool["machineType"] == "n2-standard-4"
        assert pool["ipConfiguration"] in (2, "WORKER_IP_PRIVATE")
        assert job["environment"]["serviceAccountEmail"] == "worker@my-project"
        told = job["environment"]["sdkPipelineOptions"]["options"]
        assert told["region"] == "us-central1" and told["save_main_session"] is False


def test_a_graph_is_small_and_ships_no_session_and_no_data(sent: tuple[Service, Path]):
    service, _ = sent
    for job, pipeline in zip(service.jobs, service.pipelines, strict=True):
        assert pipeline.ByteSize() < 500_000, job["name"]
        packages = {p["name"] for p in job["environment"]["workerPools"][0]["packages"]}
        assert packages <= {"submission_environment_dependencies.txt"}
        assert staged(job).startswith(f"gs://afterword/tmp/{job['name']}")
        for environment in pipeline.components.environments.values():
            payload = beam_runner_api_pb2.DockerPayload.FromString(environment.payload)
            assert (environment.urn, payload.container_image) == (common_urns.environments.DOCKER.urn, IMAGE)


def test_every_function_loads_in_a_fresh_process(sent: tuple[Service, Path], tmp_path: Path):
    payloads = [payload for pipeline in sent[0].pipelines for payload in functions(pipeline)]
    file = tmp_path / "functions.pickle"
    file.write_bytes(pickle.dumps(payloads))
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, str(file)], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    loaded = [tuple(line.split()) for line in done.stdout.splitlines()]
    assert len(loaded) == len(payloads) > 50
    modules = {module for module, _ in loaded}
    assert all(module.startswith(("pipeline.", "apache_beam.")) for module in modules), modules
    assert {"ReadFiles", "ComputeSignals", "JudgeTurns", "WriteShard"} <= {name for _, name in loaded}


# What Beam itself makes beside the elements of ours: an accumulator or a single value on its way, and the graph's ends.
OWN = re.compile(r"/(KeyWithVoid|UnKey|DoOnce/Map\(decode\)|ParDo\(CombineValuesDoFn\)|GroupByKey)$")
ENDS = re.compile(r"(^|/)(Write|Keep$|Map\()")


def test_every_table_travels_by_our_coder(sent: tuple[Service, Path]):
    held: dict[str, set[str]] = {}
    for pipeline in sent[0].pipelines:
        for transform in pipeline.components.transforms.values():
            if not transform.subtransforms:
                for tag, pcollection in transform.outputs.items():
                    held[f"{transform.unique_name}.{tag}"] = coders(pipeline, pcollection)
    ours = [name for name, kinds in held.items() if ArrowTableCoder.__name__ in kinds]
    assert len(ours) > 50 and "Read/ParDo(ReadFiles).turns" in ours
    pickled = {
        name.rpartition(".")[0]
        for name, kinds in held.items()
        if kinds - {ArrowTableCoder.__name__} and "Create" not in name and "/Reshuffle" not in name
    }
    assert {name for name in pickled if not OWN.search(name) and not ENDS.search(name)} == set()
    assert not [name for name in pickled if "Shuffle" in name]


def coders(pipeline: Pipeline, pcollection: str) -> set[str]:
    """Names of the coders of Python that a PCollection's elements are written with."""
    return set(_python(pipeline, pipeline.components.pcollections[pcollection].coder_id))


def _python(pipeline: Pipeline, coder: str) -> Any:
    told = pipeline.components.coders[coder]
    if told.spec.urn == "beam:coder:pickled_python:v1":
        yield type(deserialize_coder(told.spec.payload)).__name__
    for part in told.component_coder_ids:
        yield from _python(pipeline, part)


def test_the_release_is_that_of_the_local_runner_to_the_byte(sent: tuple[Service, Path], released: Path):
    theirs, ours = tree(sent[1] / "releases"), tree(released / "releases")
    assert len(ours) > 10 and theirs == ours
    assert (sent[1] / "CURRENT").read_bytes() == (released / "CURRENT").read_bytes()
