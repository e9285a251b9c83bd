"""Clients of BigQuery, and what its answers mean here.

Credentials are the application default ones. Where `BIGQUERY_EMULATOR_HOST` (an address) and
`BIGQUERY_STORAGE_EMULATOR_HOST` (host:port) are set, both clients go there, without credentials.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import grpc
from google.api_core import exceptions as answers
from google.auth.credentials import AnonymousCredentials
from google.auth.exceptions import GoogleAuthError
from google.cloud.bigquery import Client
from google.cloud.bigquery_storage_v1 import BigQueryReadClient
from google.cloud.bigquery_storage_v1.services.big_query_read.transports import BigQueryReadGrpcTransport

from pipeline.errors import AfterwordError, ConfigError, NotReadyError

REST: Final = "BIGQUERY_EMULATOR_HOST"
STORAGE: Final = "BIGQUERY_STORAGE_EMULATOR_HOST"
_CHANNEL: Final = [("grpc.enable_http_proxy", 0), ("grpc.max_receive_message_length", -1)]
# Answers that say what was asked is wrong, or not allowed.
_REFUSED: Final = (answers.BadRequest, answers.Forbidden, answers.Unauthorized)


def rest_client(project: str | None, location: str | None = None) -> Client:
    """The client for tables, queries and loads; `project` runs and pays for the jobs, `location` is where they run."""
    credentials = AnonymousCredentials() if REST in os.environ else None
    return Client(project=project, location=location, credentials=credentials)


def read_client() -> BigQueryReadClient:
    """The client of the Storage Read API."""
    host = os.environ.get(STORAGE)
    if host is None:
        return BigQueryReadClient()
    return BigQueryReadClient(transport=BigQueryReadGrpcTransport(channel=grpc.insecure_channel(host, _CHANNEL)))


@contextmanager
def asking(what: str, waits: bool = True) -> Iterator[None]:
    """Turn what BigQuery refuses into our errors, with what was asked for.

    Parameters
    ----------
    what : str
        As messages name it.
    waits : bool
        Whether something that is not there may still come.

    Raises
    ------
    NotReadyError
        If it is not there and may still come.
    ConfigError
        If it is not there, or what was asked is wrong or not allowed.
    AfterwordError
        For every other answer.
    """
    try:
        yield
    except answers.NotFound as error:
        kind = NotReadyError if waits else ConfigError
        advice = "Wait for it, if it is still to come" if waits else "Make it first"
        raise kind(f"{what}: BigQuery has no such thing ({error.message}). {advice}") from None
    except _REFUSED as error:
        raise ConfigError(f"{what}: BigQuery refuses ({error.code}: {error.message})") from None
    except GoogleAuthError as error:
        raise ConfigError(
            f"{what}: no credentials or no project ({error}); set GOOGLE_APPLICATION_CREDENTIALS or log in with gcloud"
        ) from None
    except (answers.GoogleAPIError, ConnectionError) as error:
        raise AfterwordError(f"{what}: BigQuery does not answer as it should ({error}); run the same again") from None
