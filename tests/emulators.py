"""Object stores on this machine: moto's S3 server and gcp-storage-emulator, on 127.0.0.1, inside the test's process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any
from unittest import mock

BUCKET = "afterword"


@contextmanager
def s3() -> Iterator[str]:
    """An S3 server; gives the address of its bucket. Our clients and Beam's find it by the environment."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    found = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
    }
    try:
        with mock.patch.dict(os.environ, found), mock.patch.object(boto3.session.Session, "client", _once()):
            boto3.client("s3").create_bucket(Bucket=BUCKET)
            yield f"s3://{BUCKET}"
    finally:
        server.stop()


def _once() -> Any:
    """Beam makes a client for each request, which takes longer than the request; here they share one."""
    import boto3

    make, held = boto3.session.Session.client, {}
    lock = threading.Lock()

    def client(session: Any, service_name: str, **options: Any) -> Any:
        key = (service_name, *sorted(options.items()))
        with lock:
            if key not in held:
                held[key] = make(session, service_name, **options)
            return held[key]

    return client


@contextmanager
def gcs() -> Iterator[str]:
    """A GCS server; gives the address of its bucket.

    The emulator takes no notice of `ifGenerationMatch`, so the condition is put in front of its upload here, under a
    lock, as the store's own documentation has it.
    """
    from apache_beam.internal.gcp.auth import _Credentials
    from gcp_storage_emulator.handlers import objects
    from gcp_storage_emulator.server import create_server

    with mock.patch.object(objects, "_multipart_upload", _conditional(objects._multipart_upload)):
        server = create_server("127.0.0.1", 0, in_memory=True, default_bucket=BUCKET)
        server.start()
        port = server._api._httpd.server_port
        try:
            with (
                mock.patch.dict(
                    os.environ, {"STORAGE_EMULATOR_HOST": f"http://127.0.0.1:{port}", "NO_PROXY": "127.0.0.1"}
                ),
                # Beam would look for credentials on the network.
                mock.patch.multiple(_Credentials, _credentials_init=True, _credentials=None),
            ):
                yield f"gs://{BUCKET}"
        finally:
            server.stop()


def _conditional(upload: Any) -> Any:
    from gcp_storage_emulator.exceptions import NotFound

    lock = threading.Lock()

    def conditional(request: Any, response: Any, storage: Any) -> None:
        wanted = request.query.get("ifGenerationMatch")
        with lock:
            if wanted:
                name = request.query.get("name", [request.data["meta"].get("name")])[0]
                try:
                    held = storage.get_file_obj(request.params["bucket_name"], name)["generation"]
                except NotFound:
                    held = "0"
                if held != wanted[0]:
                    response.status = HTTPStatus.PRECONDITION_FAILED
                    response.json({"error": {"code": 412, "message": "conditionNotMet"}})
                    return
            upload(request, response, storage)

    return conditional
