"""The command on the Dataflow of this machine, its files in the GCS of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from emulators import gcs
from fake_dataflow import Service, dataflow
from synthetic import SETTINGS, afterword

from pipeline import storage

IMAGE = "europe-docker.pkg.dev/my-project/afterword/worker:1"


@contextmanager
def cloud() -> Iterator[tuple[str, Service]]:
    """The bucket and the service."""
    # The host's own proxy, if it has one, is not asked for what is on this machine.
    here = {"NO_PROXY": "localhost,127.0.0.1", "no_proxy": "localhost,127.0.0.1", "NO_GCE_CHECK": "true"}
    with gcs() as bucket, dataflow() as service, mock.patch.dict("os.environ", here):
        yield bucket, service


def options(bucket: str, service: Service) -> list[str]:
    """What stands after `--`."""
    return [
        "--runner=DataflowRunner",
        "--project=my-project",
        "--region=us-central1",
        f"--temp_location={bucket}/tmp",
        f"--sdk_container_image={IMAGE}",
        "--sdk_location=container",
        "--machine_type=n2-standard-4",
        "--no_use_public_ips",
        "--no_auth",
        f"--dataflow_endpoint={service.endpoint}",
    ]


def upload(folder: Path, to: str) -> None:
    """Put all files below a folder into a bucket."""
    for path in folder.rglob("*"):
        if path.is_file():
            storage.write_bytes(storage.join(to, path.relative_to(folder).as_posix()), path.read_bytes())


def run(bucket: str, service: Service, *more: str) -> int:
    """The main job over `<bucket>/log`; gives the exit code."""
    return afterword(
        "run", "--input", f"{bucket}/log", *SETTINGS, "--out", f"{bucket}/out", "--", *options(bucket, service), *more
    )
