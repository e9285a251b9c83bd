"""Redaction in stage ingest: nothing found is ever written, spill files included, and what is told closes."""

from __future__ import annotations

import gzip
import io
import json
from pathlib import Path
from typing import Any

import pytest
from made_up_values import CARD, IBAN, MAIL, PHONE, SSN, STREET
from synthetic import lines, record

from pipeline import storage
from pipeline.config import load
from pipeline.gates.counts import by_outcome
from pipeline.jobs import ingest
from pipeline.jobs.context import Context
from pipeline.progress import Progress
from pipeline.workspace import Workspace
from schemas import DEAD_LETTER, REDACTION, TURN

SECRETS = (MAIL, PHONE, CARD, IBAN, STREET, SSN, "4155550132", "k.later@example.org")


def log() -> bytes:
    rows = [
        record(
            turn_id=f"t{k}",
            user_id=f"u{k % 7}",
            utterance=f"my mail is {MAIL} and card {CARD} number {k}",
            response=f"call {PHONE} about {IBAN}",
            prompt=f"{STREET} or {{home}}?",
            asr=[{"text": f"my male is {MAIL}", "confidence": 0.5}],
            interpretations=[{"domain": "tool", "intent": "send", "slots": [{"name": "to", "value": MAIL}]}],
            unknown={"ssn": SSN, "phone": 4155550132},
        )
        for k in range(60)
    ]
    # A turn that is superseded, and records that become dead letters.
    rows += [record(turn_id="t3", utterance="k.later@example.org", user_id="u3"), record(utterance=MAIL, user_id=None)]
    return lines(*rows) + b'{"utterance": "' + MAIL.encode() + b'", bad\n'


def run(folder: Path, out: Path, *overrides: str) -> Context:
    context = Context(Workspace(str(out)), load(None, list(overrides)), progress=Progress(io.StringIO()))
    ingest.run(context, str(folder), "canonical")
    return context


def stages(out: Path) -> dict[str, bytes]:
    folder = out / "stages" / "ingest"
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pii")
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(log(), mtime=0))
    return folder


def texts(table: Any) -> str:
    return json.dumps(table.to_pylist(), ensure_ascii=False, default=str)


def test_nothing_that_is_found_reaches_a_file(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    # The shuffle's files would be gone at the end.
    monkeypatch.setattr(storage, "remove", lambda path: None)
    context = run(logs, tmp_path / "out", "shuffle.mode=spill", "shuffle.bucket_bytes=2000")
    spilled = [p for p in (tmp_path / "out" / "stages" / "spill").rglob("*") if p.is_file()]
    assert spilled
    for path in (p for p in (tmp_path / "out").rglob("*") if p.is_file()):
        data = path.read_bytes()
        assert not [s for s in SECRETS if s.encode() in data], path
    workspace = context.workspace
    for name, schema in (("turns", TURN), ("dead_letters", DEAD_LETTER), ("redactions", REDACTION)):
        told = texts(workspace.read("ingest", name, schema))
        assert not [s for s in SECRETS if s in told], name
    row = workspace.read("ingest", "turns", TURN).to_pylist()[0]
    assert row["response"] == "call <PHONE_NUMBER> about <IBAN_CODE>"
    assert json.loads(row["extra"]) == {"unknown": {"phone": "<PHONE_NUMBER>", "ssn": "<US_SSN>"}}


def test_counts_close_with_nothing_of_it_and_are_handed_on(logs: Path, tmp_path: Path):
    context = run(logs, tmp_path / "out", "privacy.sample_rows=4")
    counts = context.workspace.counts("ingest")
    outcomes = by_outcome(counts)
    assert {k: n for k, n in outcomes.items() if k.startswith(("redacted.", "platform"))} == {
        "redacted.EMAIL_ADDRESS": 3 * 60 + 1,
        "redacted.CREDIT_CARD": 60,
        "redacted.IBAN_CODE": 60,
        "redacted.PHONE_NUMBER": 120,
        "redacted.STREET_ADDRESS": 60,
        "redacted.US_SSN": 60,
        "redacted.turns": 61,
        "platform_marks": 60,
    }
    closing = by_outcome(counts, closing=True)
    assert set(closing) == {"in", "kept", "superseded", "dead_lettered"} and closing["in"] == 63
    sample = context.workspace.read("ingest", "redactions", REDACTION)
    assert sorted(set(sample["type"].to_pylist())) == sorted(
        k[9:] for k in outcomes if k[:9] == "redacted." and k[9:].isupper()
    )
    assert sample.num_rows == 4 * 6
    assert context.workspace.facts("ingest")["config"]["privacy"]["sample_rows"] == 4


def test_the_same_bytes_in_either_mode_of_the_shuffle_and_with_any_threads(logs: Path, tmp_path: Path):
    one = run(logs, tmp_path / "a", "shuffle.mode=spill", "workers.threads=1")
    two = run(logs, tmp_path / "b", "shuffle.mode=native", "workers.threads=3")
    assert stages(Path(one.workspace.out)) == stages(Path(two.workspace.out))


def test_a_plug_in_the_job(logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "company_names.py").write_text(
        "def find(texts):\n    return [[(0, 2, 'PERSON', 0.9)] if t.startswith('my') else [] for t in texts]\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    context = run(logs, tmp_path / "out", "privacy.recogniser=company_names:find")
    row = context.workspace.read("ingest", "turns", TURN).to_pylist()[0]
    assert row["utterance"].startswith("<PERSON> mail is <EMAIL_ADDRESS> and card <CREDIT_CARD>")


def test_the_real_calls_hold_nothing_to_redact(letsgo: Path, tmp_path: Path):
    context = Context(Workspace(str(tmp_path / "out")), load(None, []), progress=Progress(io.StringIO()))
    ingest.run(context, str(letsgo), "dstc")
    outcomes = by_outcome(context.workspace.counts("ingest"))
    assert outcomes["kept"] > 1000 and not [k for k in outcomes if k.startswith("redacted")]
