"""Workers of the local runner that are processes of their own (`multi_processing`): one that is lost ends the job.

Beam's runner waits without an end for a worker that was killed, as the system does to one that takes too much memory.
Here whatever waits for an answer of a worker that has ended is given one: that it was lost.
"""

from __future__ import annotations

import threading
from typing import Any, Final

from apache_beam.portability import python_urns
from apache_beam.portability.api import beam_fn_api_pb2
from apache_beam.runners.portability import local_job_service
from apache_beam.runners.portability.fn_api_runner.worker_handlers import (
    BeamFnControlServicer,
    SubprocessSdkWorkerHandler,
    WorkerHandler,
)

from pipeline.errors import AfterwordError

# Seconds between two looks at what waits for a lost worker.
_PAUSE: Final = 0.2


def watch() -> None:
    """Let `WatchedWorker` take the place of Beam's own handler of such workers."""
    WorkerHandler.register_environment(python_urns.SUBPROCESS_SDK, bytes)(WatchedWorker)


class WatchedWorker(SubprocessSdkWorkerHandler):
    """A worker process; the job ends with it."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._closing = threading.Event()

    def start_worker(self) -> None:
        """Start the process, and a thread that outlives it."""
        self.worker = local_job_service.SubprocessSdkWorker(
            self._worker_command_line, self.control_address, self.provision_info, self.worker_id
        )
        self.worker_thread = threading.Thread(name="run_worker", target=self._run)
        self.worker_thread.start()

    def close(self) -> None:
        """End the process: its work is done, or another worker failed."""
        self._closing.set()
        # One that is still starting is told as well, once it asks what to do; Beam tells only those that have asked.
        self.control_conn.push(BeamFnControlServicer._DONE_MARKER)
        super().close()

    def _run(self) -> None:
        code = "0"
        try:
            self.worker.run()
        except RuntimeError as error:
            code = str(error).rpartition(" ")[2]
        while not self._closing.wait(_PAUSE):
            self._answer(lost(code))

    def _answer(self, text: str) -> None:
        """Answer all that waits. `abort` of the connection would not reach those that wait for a worker's data."""
        for name, future in list(self.control_conn._futures_by_id.items()):
            future.set(beam_fn_api_pb2.InstructionResponse(instruction_id=name, error=text))


def lost(code: str) -> str:
    """What a job ends with whose worker ended with an exit code, in the words of a worker's own error."""
    error = AfterwordError(
        f"a worker of the local runner was lost (its process ended with code {code}; 137 and -9 are a kill, mostly "
        "for want of memory: take fewer workers or a smaller shuffle.bucket_bytes). The last release stays current; "
        "run the same again"
    )
    return f"{type(error).__module__}.{type(error).__name__}: {error}"
