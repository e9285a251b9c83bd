"""Publishers of object stores: a pointer is one object, replaced by one conditional request of the native client.

Amazon S3: PUT with `If-Match: <ETag>` or `If-None-Match: *` (boto3). Google Cloud Storage: an upload with
`ifGenerationMatch` (google-cloud-storage). Where the condition does not hold the store leaves the object as it is and
answers 412, and another publisher was faster. A store that only speaks S3's language must honour these headers.

Credentials and addresses are those that the clients find by themselves: for S3 `AWS_ENDPOINT_URL`, the profile, the
role; for GCS the application default credentials, or `STORAGE_EMULATOR_HOST`.
"""

from __future__ import annotations

from typing import Any, Final

from pipeline.errors import PublishError
from pipeline.publish import Held, Publisher

# Not as held: it is gone (404), another write was under way (409), or has ended (412).
_LOST: Final = frozenset({404, 409, 412})


class S3Publisher(Publisher):
    """Amazon S3, and stores that honour its conditional requests."""

    def __init__(self, out: str, client: Any = None) -> None:
        super().__init__(out)
        self._bucket, self._prefix = _parts(out)
        self._client = client or self._connect()

    def _connect(self) -> Any:
        try:
            import boto3
        except ImportError:
            raise PublishError(f"{self.out}: boto3 is not installed; install afterword[aws]") from None
        return boto3.client("s3")

    def drop(self, name: str) -> None:
        """Remove a pointer."""
        self._ask("delete_object", name)

    def _held(self, name: str) -> Held:
        found = self._ask("get_object", name, lost=frozenset({404}))
        return Held(None, None) if found is None else Held(_named(found["Body"].read()), found["ETag"])

    def _replace(self, name: str, release_id: str, held: Held) -> bool:
        condition = {"IfNoneMatch": "*"} if held.version is None else {"IfMatch": held.version}
        body = {"Body": f"{release_id}\n".encode(), "ContentType": "text/plain"}
        return self._ask("put_object", name, lost=_LOST, **body, **condition) is not None

    def _ask(self, method: str, name: str, lost: frozenset[int] = frozenset(), **more: Any) -> Any:
        """A request's answer; None where its status is one of `lost`."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return getattr(self._client, method)(Bucket=self._bucket, Key=self._prefix + name, **more)
        except ClientError as error:
            if error.response.get("ResponseMetadata", {}).get("HTTPStatusCode") in lost:
                return None
            raise _refused(self.out, name, error) from error
        except BotoCoreError as error:
            raise _refused(self.out, name, error) from error


class GcsPublisher(Publisher):
    """Google Cloud Storage."""

    def __init__(self, out: str, client: Any = None) -> None:
        super().__init__(out)
        bucket, self._prefix = _parts(out)
        self._bucket = (client or self._connect()).bucket(bucket)

    def _connect(self) -> Any:
        try:
            from google.auth.exceptions import GoogleAuthError
            from google.cloud import storage
        except ImportError:
            raise PublishError(f"{self.out}: google-cloud-storage is not installed; install apache-beam[gcp]") from None
        try:
            return storage.Client()
        except (GoogleAuthError, OSError) as error:
            raise _refused(self.out, "", error) from error

    def drop(self, name: str) -> None:
        """Remove a pointer."""
        self._ask(name, lambda blob: blob.delete(), lost=frozenset({404}))

    def _held(self, name: str) -> Held:
        def read(blob: Any) -> Held:
            blob.reload()
            generation = blob.generation
            return Held(_named(blob.download_as_bytes(if_generation_match=generation)), generation)

        # One that is replaced between the two requests is read again: its generation is known by then to be another.
        for _ in range(3):
            found = self._ask(name, read, lost=frozenset({404, 412}))
            if found is not None:
                return found  # type: ignore[no-any-return]
        return Held(None, None)

    def _replace(self, name: str, release_id: str, held: Held) -> bool:
        def write(blob: Any) -> bool:
            # Generation 0 is that of an object which does not exist.
            blob.upload_from_string(f"{release_id}\n", "text/plain", if_generation_match=held.version or 0)
            return True

        return self._ask(name, write, lost=_LOST) is not None

    def _ask(self, name: str, request: Any, lost: frozenset[int]) -> Any:
        """A request's answer; None where its status is one of `lost`."""
        from google.api_core.exceptions import GoogleAPICallError
        from google.auth.exceptions import GoogleAuthError

        try:
            return request(self._bucket.blob(self._prefix + name))
        except GoogleAPICallError as error:
            if error.code in lost:
                return None
            raise _refused(self.out, name, error) from error
        except (GoogleAuthError, OSError) as error:
            raise _refused(self.out, name, error) from error


STORES: Final[dict[str, type[S3Publisher] | type[GcsPublisher]]] = {"s3": S3Publisher, "gs": GcsPublisher}


def _parts(out: str) -> tuple[str, str]:
    """Bucket, and what the names in it begin with."""
    bucket, _, prefix = out.split("://", 1)[1].rstrip("/").partition("/")
    return bucket, f"{prefix}/" if prefix else ""


def _named(body: bytes) -> str | None:
    return body.decode("utf-8").strip() or None


def _refused(out: str, name: str, error: Exception) -> PublishError:
    return PublishError(
        f"{out}/{name}: the store refused ({type(error).__name__}: {error}). Check credentials, region and address, "
        "then run the same again, or `afterword release` where a release was written, which is complete"
    )
