"""One SDK worker in this process, of what a runner tells its boot program (Beam's container contract).

The pipeline's options come from the provisioning service. No artifact is fetched: this interpreter must have the wheel.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

import grpc
from apache_beam.portability.api import beam_provision_api_pb2, beam_provision_api_pb2_grpc, endpoints_pb2
from apache_beam.runners.worker import sdk_worker_main
from google.protobuf import json_format, text_format

PROVISION_SECONDS = 60


def provisioned(endpoint: str, worker: str) -> beam_provision_api_pb2.ProvisionInfo:
    """What the runner wants this worker to know; it tells workers apart by the `worker_id` of a call's metadata."""
    with grpc.insecure_channel(endpoint) as channel:
        stub = beam_provision_api_pb2_grpc.ProvisionServiceStub(channel)
        asked = beam_provision_api_pb2.GetProvisionInfoRequest()
        return stub.GetProvisionInfo(
            asked, timeout=PROVISION_SECONDS, metadata=(("worker_id", worker),), wait_for_ready=True
        ).info


def descriptor(url: str) -> str:
    """An endpoint as the worker reads it."""
    return str(text_format.MessageToString(endpoints_pb2.ApiServiceDescriptor(url=url)))


def main() -> None:
    """Be the worker: a process of its own would import Beam a second time, which is most of its start."""
    parser = argparse.ArgumentParser(prog="spark/boot", allow_abbrev=False)
    for name in ("id", "logging_endpoint", "artifact_endpoint", "provision_endpoint", "control_endpoint"):
        parser.add_argument(f"--{name}", default="")
    given, _ = parser.parse_known_args()
    if not given.id or not given.provision_endpoint:
        parser.error("--id and --provision_endpoint are wanted: a runner starts this program, as its environment")
    info = provisioned(given.provision_endpoint, given.id)
    # A file, as options may be longer than an environment variable may be; the system clears it away.
    options = Path(tempfile.mkdtemp(prefix="afterword-worker-")) / "options.json"
    options.write_text(json_format.MessageToJson(info.pipeline_options), encoding="utf-8")
    environment = {
        "WORKER_ID": given.id,
        "PIPELINE_OPTIONS_FILE": str(options),
        "LOGGING_API_SERVICE_DESCRIPTOR": descriptor(given.logging_endpoint or info.logging_endpoint.url),
        "CONTROL_API_SERVICE_DESCRIPTOR": descriptor(given.control_endpoint or info.control_endpoint.url),
        "RUNNER_CAPABILITIES": " ".join(info.runner_capabilities),
    }
    if info.HasField("status_endpoint"):
        environment["STATUS_API_SERVICE_DESCRIPTOR"] = descriptor(info.status_endpoint.url)
    os.environ.update(environment)
    sdk_worker_main.main(sys.argv)


if __name__ == "__main__":
    main()
