"""What the files of [ontology] and [filters] do to a log as it is read."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from synthetic import lines, record

from features.interpretation import flatten, hex_id
from features.text import flat
from pipeline.config import load
from pipeline.errors import ConfigError, InputError, StageError
from pipeline.gates.counts import by_outcome
from pipeline.gold import of_folder
from pipeline.jobs import ingest
from pipeline.jobs.beside import ontology_of, under_names_now
from pipeline.jobs.context import Context
from pipeline.progress import Progress
from pipeline.workspace import Workspace
from schemas import DEAD_LETTER, GOLD, INTERPRETATION, TURN

ONTOLOGY = """
[domains.travel.intents]
go = ["city"]

[[renamed]]
intent = "navigate"
to = "go"

[[split]]
intent = "move"
into = ["go", "stay"]
"""


def reading(intent: str, **values: str) -> dict[str, Any]:
    slots = [{"name": k, "value": v, "start": None, "end": None} for k, v in values.items()]
    return {"domain": "travel", "intent": intent, "slots": slots, "score": 0.5}


def turn(turn_id: str, *nbest: dict[str, Any], **fields: Any) -> dict[str, Any]:
    executed = 0 if nbest else None
    return record(turn_id=turn_id, interpretations=list(nbest), executed=executed) | fields


def prepared(tmp_path: Path, *rows: dict[str, Any], **files: str) -> tuple[Context, io.StringIO, str]:
    """A context whose options name the files, which are of the form section__key."""
    (tmp_path / "in").mkdir(exist_ok=True)
    (tmp_path / "in" / "a.jsonl").write_bytes(lines(*rows))
    overrides = []
    for name, text in files.items():
        path = tmp_path / f"{name}.toml"
        path.write_text(text)
        overrides.append(f'{name.replace("__", ".")}="{path}"')
    said = io.StringIO()
    context = Context(Workspace(str(tmp_path / "out")), load(None, overrides), progress=Progress(said))
    return context, said, str(tmp_path / "in")


def run(tmp_path: Path, *rows: dict[str, Any], **files: str) -> tuple[list[dict[str, Any]], dict[str, int], str]:
    context, said, folder = prepared(tmp_path, *rows, **files)
    ingest.run(context, folder, "canonical")
    turns = context.workspace.read("ingest", "turns", TURN).sort_by("turn_id").to_pylist()
    return turns, by_outcome(context.workspace.counts("ingest")), said.getvalue()


def test_labels_get_their_names_of_now_and_unknown_ones_a_dead_letter(tmp_path: Path):
    rows, outcomes, said = run(
        tmp_path,
        turn("1", reading("navigate", city="rome"), reading("fly")),
        turn("2", reading("fly")),
        turn("3", reading("move")),
        ontology__file=ONTOLOGY,
    )
    assert [(r["turn_id"], [i["intent"] for i in r["interpretations"]]) for r in rows] == [
        ("1", ["go"]),
        ("3", ["move"]),
    ]
    assert {k: outcomes[k] for k in ("in", "kept", "dead_lettered", "dead_letter.unknown_label")} == {
        "in": 3,
        "kept": 2,
        "dead_lettered": 1,
        "dead_letter.unknown_label": 1,
    }
    assert "1 dead letter(s): unknown_label (add the label to the ontology" in said
    assert "1 interpretation(s) have their new names" in said
    assert "1 interpretation(s) left the n-best lists, as they are no label of the ontology (1 unknown)" in said
    assert "never learned (1 split)" in said
    held = pa.concat_tables(
        [pq.read_table(f) for f in (tmp_path / "out" / "stages" / "ingest" / "dead_letters").glob("*.parquet")]
    )
    assert held.schema.names == list(DEAD_LETTER.names) and "travel/fly" in held["detail"][0].as_py()


def test_turns_of_users_who_opted_out_are_counted_and_nowhere(tmp_path: Path):
    gone = [turn(str(k), utterance=f"secretword{k}", user_id=" annika7 ") for k in range(3)]
    old = turn("x", user_id="annika7", utterance="secretword", event_time="2020-01-01T00:00:00Z")
    bad = turn("y", user_id="annika7", utterance="secretword", event_time="soon")
    rows, outcomes, said = run(tmp_path, *gone, old, bad, turn("5", user_id="bob"), filters__opt_out="annika7\nzoe\n")
    assert [r["turn_id"] for r in rows] == ["5"]
    assert (outcomes["in"], outcomes["kept"], outcomes["opted_out"], outcomes["dead_lettered"]) == (6, 1, 4, 1)
    assert "4 turn(s) of the 2 users of filters.opt_out were dropped" in said
    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            data = path.read_bytes()
            if path.suffix == ".parquet":
                data += json.dumps(pq.read_table(path).to_pylist(), default=str).encode()
            assert b"secretword" not in data and b"annika7" not in data, path


def test_ids_that_are_not_in_the_log_are_told_and_a_log_of_opted_out_users_alone_is_refused(tmp_path: Path):
    assert "are the ids those of the log?" in run(tmp_path, turn("1"), filters__opt_out="zoe\n")[2]
    with pytest.raises(InputError, match=r"1 record\(s\), 1 of users who opted out, 0 dead letter"):
        run(tmp_path, turn("1", user_id="zoe"), filters__opt_out="zoe\n")


def test_incidents_go_before_filters_and_both_are_counted_by_name(tmp_path: Path):
    rows, outcomes, said = run(
        tmp_path,
        turn("1", app_version="7", event_time="2026-03-01T10:00:00+01:00"),
        turn("2", app_version="7", channel="probe"),
        turn("3", channel="probe"),
        turn("4"),
        filters__incidents='[[incident]]\nname = "bad-build"\nwhy = "it sent noise"\napp_versions = ["7"]\n',
        filters__file='[[filter]]\nname = "probe"\nchannels = ["probe"]\n[[filter]]\nname = "bot"\nusers = ["b"]\n',
    )
    assert [r["excluded"] for r in rows] == ["bad-build", "bad-build", "probe", None]
    assert {k: n for k, n in outcomes.items() if k.startswith("excluded")} == {
        "excluded.bad-build": 2,
        "excluded.probe": 1,
    }
    assert outcomes["kept"] == 4 and "2 turn(s) are kept out of learning by bad-build (it sent noise)" in said
    assert "0 turn(s) are kept out of learning by bot" in said


def test_a_superseded_record_is_not_counted_as_excluded(tmp_path: Path):
    first = turn("1", channel="probe", received_time="2026-03-01T10:00:00Z")
    last = turn("1", channel="phone", received_time="2026-03-01T11:00:00Z")
    rows, outcomes, _ = run(tmp_path, first, last, filters__file='[[filter]]\nname = "probe"\nchannels = ["probe"]\n')
    assert rows[0]["excluded"] is None and outcomes["superseded"] == 1 and "excluded.probe" not in outcomes


def test_the_log_cannot_exclude_its_own_turns(tmp_path: Path):
    rows, _, _ = run(tmp_path, turn("1", excluded="x", licence="CC0-1.0"))
    assert rows[0]["excluded"] is None
    assert rows[0]["licence"] == "CC0-1.0"


def test_the_files_are_named_by_content_and_not_by_where_they_lie(tmp_path: Path):
    facts = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        context, _, folder = prepared(tmp_path / name, turn("1", reading("go")), ontology__file=ONTOLOGY)
        ingest.run(context, folder, "canonical")
        facts.append(context.workspace.facts("ingest"))
    assert facts[0]["given"] == facts[1]["given"] and facts[0]["config"] == facts[1]["config"]
    assert facts[0]["config"]["ontology"] == {"file": "ontology__file.toml"}
    assert [(g["option"], g["uri"]) for g in facts[0]["given"]] == [("ontology.file", "ontology__file.toml")]
    assert run(tmp_path, turn("1"))[1]["kept"] == 1


def test_the_ontology_is_kept_with_the_turns(tmp_path: Path):
    context, _, folder = prepared(tmp_path, turn("1", reading("go")), ontology__file=ONTOLOGY)
    ingest.run(context, folder, "canonical")
    held = ontology_of(context.workspace)
    assert held is not None and held.label("travel", "navigate")[1:] == ("travel", "go")
    (tmp_path / "out" / "stages" / "ingest" / "ontology.json").unlink()
    with pytest.raises(StageError, match="the ontology of the turns is gone"):
        ontology_of(context.workspace)


def test_a_file_that_cannot_be_right_ends_it_before_the_stage_is_cleared(tmp_path: Path):
    run(tmp_path, turn("1"))
    with pytest.raises(ConfigError, match=r"ontology.file ontology__file.toml: no domains"):
        run(tmp_path, turn("1"), ontology__file="")
    assert (tmp_path / "out" / "stages" / "ingest" / "stage.json").exists()


def test_labels_of_people_follow_renamed_candidates_from_files_and_from_audits(tmp_path: Path):
    old, new = reading("navigate", city="rome"), reading("go", city="rome")
    before, now = hex_id(flatten(pa.array([[old, new]], pa.list_(INTERPRETATION))).candidate_id)
    context, _, folder = prepared(tmp_path, turn("1", old), turn("2", old), turn("3", new), ontology__file=ONTOLOGY)
    row = {"definition": "right_interpretation", "value": 1.0, "source": "reviewer/a"}
    given = [row | {"turn_id": "1", "candidate_id": before}, row | {"turn_id": "3", "interpretation": new}]
    (tmp_path / "gold.jsonl").write_bytes(lines(*given))
    (tmp_path / "out" / "gold").mkdir(parents=True)
    (tmp_path / "out" / "gold" / "audit-1.jsonl").write_bytes(lines(row | {"turn_id": "2", "candidate_id": before}))
    ingest.run(context, folder, "canonical", (str(tmp_path / "gold.jsonl"),))
    gold = context.workspace.read("ingest", "gold", GOLD).sort_by("turn_id")
    assert gold["candidate_id"].to_pylist() == [now, now]
    audited = under_names_now(context.workspace, of_folder(str(tmp_path / "out" / "gold")))
    assert audited.table["candidate_id"].to_pylist() == [now] and flat(audited.table["turn_id"]).to_pylist() == ["2"]
