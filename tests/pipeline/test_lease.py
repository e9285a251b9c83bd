"""One run at a time on an object store (emulators; tests/emulators.py)."""

from __future__ import annotations

import json
import threading
import time
from itertools import count
from typing import Any

import pytest
from synthetic import afterword

from pipeline import lease as leases
from pipeline import storage
from pipeline.errors import BusyError, PublishError, Superseded
from pipeline.lease import NAME, Lease, lease
from pipeline.publish import Publisher, publisher

_NUMBER = count()


@pytest.fixture(params=["s3", "gcs"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Publisher:
    """An output folder of its own on each store; leases are short."""
    for name, seconds in (("RENEW_S", 0.1), ("DEAD_S", 1.0), ("LOOK_S", 0.05)):
        monkeypatch.setattr(leases, name, seconds)
    return publisher(f"{request.getfixturevalue(f'{request.param}_bucket')}/made/lease{next(_NUMBER)}")


def told(store: Publisher) -> str:
    """The lease as anybody's client has it."""
    return storage.read_bytes(storage.join(store.out, NAME)).decode().strip()


def quiet(_: str) -> None:
    """Nobody listens."""


def died(store: Publisher) -> None:
    """Take the lease and never renew it."""
    Lease(store, "run").take(quiet)


def test_the_lease_names_the_run_and_is_free_afterwards(store: Publisher):
    for command in ("run", "release"):
        with lease(store, command, quiet):
            held = json.loads(told(store))
            assert held["command"] == command and held["pid"] and held["host"] and held["begun"].endswith("Z")
        assert told(store) == "free"


def test_a_second_run_ends_and_names_the_holder_and_how_to_stop_it(store: Publisher):
    notes: list[str] = []
    with lease(store, "run", quiet):
        mine = json.loads(told(store))
        with pytest.raises(BusyError) as refused, lease(publisher(store.out), "curate", notes.append):
            raise AssertionError("two are at work")
        # The holder is still at work, and its lease its own.
        assert json.loads(told(store))["id"] == mine["id"]
    said = str(refused.value)
    assert f"`afterword run` on {mine['host']} (process {mine['pid']}) since {mine['begun']}" in said
    assert f"remove {store.out}/{NAME}" in said and "give another --out" in said
    assert len(notes) == 1 and "to see whether it is alive" in notes[0]


def test_the_lease_of_a_run_that_died_is_taken_after_a_wait(store: Publisher):
    died(store)
    begun = time.monotonic()
    with lease(publisher(store.out), "run", quiet):
        assert time.monotonic() - begun >= 1.0


def test_one_that_ran_out_long_ago_is_taken_at_once(store: Publisher):
    died(store)
    held = json.loads(told(store)) | {"until": "2020-01-01T00:00:00+00:00"}
    storage.write_bytes(storage.join(store.out, NAME), json.dumps(held).encode())
    noted: list[str] = []
    with lease(store, "run", noted.append):
        assert noted == [] and json.loads(told(store))["id"] != held["id"]


@pytest.mark.parametrize("text", [b"\n", b"free\n", b"{broken", b"[]", b'{"until": "soon"}'])
def test_what_names_no_run_holds_nobody_off(store: Publisher, text: bytes):
    storage.write_bytes(storage.join(store.out, NAME), text)
    noted: list[str] = []
    with lease(store, "run", noted.append):
        assert noted == []


def test_of_many_at_once_one_works(store: Publisher, monkeypatch: pytest.MonkeyPatch):
    """Whoever comes second finds the first, alive."""
    # However slow the machine is, the first renews before it is taken for dead.
    monkeypatch.setattr(leases, "DEAD_S", 30.0)
    at_work, most, refused = [0], [0], []
    start = threading.Barrier(5)

    def run() -> None:
        held = Lease(publisher(store.out), "run")
        start.wait()
        try:
            held.take(quiet)
        except BusyError as error:
            refused.append(error)
            return
        at_work[0] += 1
        most[0] = max(most[0], at_work[0])
        keeper = threading.Thread(target=held.keep)
        keeper.start()
        while at_work[0] + len(refused) < 5:
            time.sleep(0.05)
        held.end()
        keeper.join()

    runs = [threading.Thread(target=run) for _ in range(5)]
    for each in runs:
        each.start()
    for each in runs:
        each.join()
    assert (most[0], len(refused)) == (1, 4)


@pytest.mark.parametrize("by", ["removed", "taken"])
def test_who_loses_the_lease_is_stopped(store: Publisher, by: str):
    why = "it was removed" if by == "removed" else "`afterword gc` .* has it now"
    with pytest.raises(BusyError, match=rf"its lease is gone \({why}\)"), lease(store, "run", quiet):
        if by == "removed":
            store.drop(NAME)
        else:
            store.replace(NAME, Lease(store, "gc")._text(), store.held(NAME))
        time.sleep(20)
    # What is another's is not given back.
    assert by == "removed" or json.loads(told(store))["command"] == "gc"


@pytest.mark.parametrize(("by", "stopped"), [("removed", KeyboardInterrupt), ("taken", Superseded)])
def test_what_was_sent_is_left_to_who_has_the_lease_now(store: Publisher, by: str, stopped: type[BaseException]):
    """A job is cancelled at an interrupt, and not where another run may have taken it up."""
    found: list[type[BaseException]] = []
    with pytest.raises(BusyError), lease(store, "run", quiet):
        try:
            if by == "removed":
                store.drop(NAME)
            else:
                store.replace(NAME, Lease(store, "gc")._text(), store.held(NAME))
            time.sleep(20)
        except KeyboardInterrupt as error:
            found.append(type(error))
            raise
    assert found == [stopped]


def test_a_store_that_does_not_answer_for_a_while_stops_nobody(store: Publisher, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(leases, "DEAD_S", 30.0)
    failed, answered, held = [0], threading.Event(), store.held

    def shaky(name: str) -> Any:
        if failed[0] < 3:
            failed[0] += 1
            raise PublishError("gone")
        answered.set()
        return held(name)

    with lease(store, "run", quiet):
        monkeypatch.setattr(store, "held", shaky)
        assert answered.wait(20.0)
    assert told(store) == "free"


def test_a_store_that_stays_away_stops_the_run(store: Publisher, monkeypatch: pytest.MonkeyPatch):
    def gone(name: str) -> Any:
        raise PublishError("the store refused")

    with pytest.raises(BusyError, match="the store refused"), lease(store, "run", quiet):
        monkeypatch.setattr(store, "held", gone)
        time.sleep(20)


def test_an_answer_that_was_lost_is_no_loss(store: Publisher, monkeypatch: pytest.MonkeyPatch):
    """The client asks again, and the store finds the condition broken by the first request."""
    replace = store.replace

    def twice(name: str, text: str, held: Any) -> bool:
        return replace(name, text, held) and replace(name, text + " ", held)

    monkeypatch.setattr(store, "replace", twice)
    with lease(store, "run", quiet):
        time.sleep(0.5)


def test_the_command_holds_it_and_is_refused_by_it(store: Publisher, capsys: Any):
    with lease(store, "run", quiet):
        for command in (("signals",), ("run", "--from", "curate"), ("gc", "--older-than", "1d", "--delete")):
            assert afterword(*command, "--out", store.out) == 10, command
            assert "another run is at work here, `afterword run` on" in capsys.readouterr().err
    assert afterword("signals", "--out", store.out) == 7
    assert "no whole run of stage ingest" in capsys.readouterr().err and told(store) == "free"
