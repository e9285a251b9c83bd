"""Labels of people from files: read alike from every form, refused where they cannot be right, seen by train alone."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from synthetic import SETTINGS, afterword, copy, records, tree

from features.interpretation import flatten, hex_id
from pipeline.errors import InputError
from pipeline.gold import read_gold, unknown_turns
from pipeline.labels import as_they_are, checked
from schemas import GOLD, INTERPRETATION

WRONG = {"turn_id": "t1", "definition": "wrong_interpretation", "value": 0.5, "raters": 2, "source": "people"}
RIGHT = {"turn_id": "t1", "definition": "right_interpretation", "value": 1.0, "candidate_id": "0123456789abcdef"}
READING = {"domain": "music", "intent": "play", "slots": [{"name": "genre", "value": "Jazz"}], "score": 0.5}


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_every_form_gives_the_same_labels(tmp_path: Path):
    rows = [WRONG | {"available_at": "2026-03-01T10:00:00+01:00"}, RIGHT]
    write(tmp_path / "a.jsonl", *rows)
    head = "turn_id,definition,value,raters,source,available_at,candidate_id"
    sheet = [f"{head}", "t1,wrong_interpretation,0.5,2,people,2026-03-01T10:00:00+01:00,"]
    sheet.append("t1,right_interpretation,1,,,,0123456789abcdef")
    (tmp_path / "a.csv").write_text("\n".join(sheet), encoding="utf-8-sig")
    time = datetime(2026, 3, 1, 9, tzinfo=UTC)
    table = pa.Table.from_pylist([WRONG | {"available_at": time, "candidate_id": None}, RIGHT])
    pq.write_table(table, tmp_path / "a.parquet")
    found = [read_gold([str(tmp_path / f"a.{s}")]).table.to_pylist() for s in ("jsonl", "csv", "parquet")]
    for labels, suffix in zip(found, ("jsonl", "csv", "parquet"), strict=True):
        assert [(g["definition"], g["candidate_id"], g["value"], g["raters"]) for g in labels] == [
            ("right_interpretation", "0123456789abcdef", 1.0, None),
            ("wrong_interpretation", None, 0.5, 2),
        ]
        assert labels[1]["available_at"] == time
        assert [g["source"] for g in labels] == [f"file/a.{suffix}", "people"]
        assert [g["read_from"]["position"] for g in labels] == [2, 1]


ODD = [
    WRONG,
    WRONG | {"raters": None, "source": None},
    WRONG | {"value": 1.0, "available_at": datetime(2026, 3, 1, tzinfo=UTC)},
    RIGHT,
    WRONG | {"value": float("nan")},
    WRONG | {"value": 2.0},
    WRONG | {"turn_id": ""},
    WRONG | {"definition": "sad"},
    WRONG | {"candidate_id": "0123456789abcdef"},
    RIGHT | {"candidate_id": "0123456789ABCDEF"},
    RIGHT | {"candidate_id": "x0123456789abcdefx"},
    RIGHT | {"candidate_id": None},
    WRONG | {"raters": 0},
    WRONG | {"available_at": datetime(2026, 3, 1)},
    {k: v for k, v in WRONG.items() if k != "value"},
]


@pytest.mark.parametrize("row", ODD)
def test_a_table_is_taken_at_once_where_each_row_by_itself_is_and_the_same(row: dict[str, Any]):
    table = pa.Table.from_pylist([row])
    at_once = as_they_are(table, "a.parquet")
    try:
        one_by_one = checked(table.to_pylist(), "a.parquet")
    except InputError:
        one_by_one = None
    assert (at_once is None) == (one_by_one is None)
    assert at_once is None or at_once.to_pylist() == one_by_one.to_pylist()


def test_an_interpretation_names_its_candidate(tmp_path: Path):
    plain = {k: v for k, v in RIGHT.items() if k != "candidate_id"} | {"interpretation": READING}
    path = write(tmp_path / "a.jsonl", plain)
    wanted = hex_id(flatten(pa.array([[READING]], pa.list_(INTERPRETATION))).candidate_id)
    assert read_gold([str(path)]).table["candidate_id"].to_pylist() == wanted
    (tmp_path / "a.csv").write_text(
        "turn_id,definition,value,interpretation\nt1,right_interpretation,1,"
        '"{""domain"": ""music"", ""intent"": ""play"", ""slots"": [{""name"": ""genre"", ""value"": ""jazz""}]}"\n'
    )
    assert read_gold([str(tmp_path / "a.csv")]).table["candidate_id"].to_pylist() == wanted


def test_of_a_label_that_is_there_twice_the_one_read_last_holds(tmp_path: Path):
    write(tmp_path / "a.jsonl", WRONG, WRONG | {"source": "others", "value": 0.25})
    write(tmp_path / "b.jsonl", WRONG | {"value": 0.0}, WRONG | {"value": 1.0})
    held = read_gold([str(tmp_path)])
    assert [(g["source"], g["value"], g["read_from"]["uri"]) for g in held.table.to_pylist()] == [
        ("others", 0.25, "a.jsonl"),
        ("people", 1.0, "b.jsonl"),
    ]
    assert [(i["uri"], i["labels"]) for i in held.inputs] == [("a.jsonl", 2), ("b.jsonl", 2)]
    assert read_gold([str(tmp_path / "*.jsonl"), str(tmp_path / "a.jsonl")]).table.equals(held.table)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"value": float("nan")}, "row 2, value: a share of raters from 0 to 1 is wanted, found nan"),
        ({"value": float("inf")}, "row 2, value"),
        ({"value": -0.1}, "row 2, value"),
        ({"value": 1.1}, "row 2, value"),
        ({"value": "much"}, "row 2, value"),
        ({"value": None}, "row 2, value: a value is wanted"),
        ({"turn_id": ""}, "row 2, turn_id"),
        ({"definition": "sad"}, "row 2, definition: one of wrong_interpretation"),
        ({"candidate_id": "0123456789abcdef"}, "row 2, candidate_id: nothing is wanted"),
        ({"definition": "right_interpretation", "candidate_id": "xyz"}, "row 2, candidate_id: 16 hexadecimal"),
        ({"definition": "right_interpretation"}, "row 2, candidate_id: right_interpretation wants it"),
        ({"definition": "right_interpretation", "interpretation": "{bad"}, "row 2, candidate_id"),
        ({"raters": 0}, "row 2, raters"),
        ({"raters": 1.5}, "row 2, raters"),
        ({"available_at": "2026-03-01T10:00:00"}, "row 2, available_at: ISO 8601 with an offset"),
        ({"available_at": "soon"}, "row 2, available_at"),
    ],
)
def test_labels_that_are_nan_infinite_or_out_of_range_are_refused(tmp_path: Path, change: dict[str, Any], says: str):
    path = write(tmp_path / "a.jsonl", WRONG, WRONG | change)
    with pytest.raises(InputError) as refused:
        read_gold([str(path)])
    assert f"--gold a.jsonl: {says}" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("a.jsonl", b"{bad\n", "line 1 is not JSON"),
        ("a.jsonl", b"[1]\n", "row 1: an object"),
        ("a.parquet", b"PAR1", "not a Parquet file"),
        ("a.txt", b"x", "line 1 is not JSON"),
        ("a.jsonl.gz", b"\x1f\x8b\x08\x00broken", "cannot be read to its end"),
    ],
)
def test_a_file_that_holds_no_labels_is_refused(tmp_path: Path, name: str, data: bytes, says: str):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(InputError, match=says):
        read_gold([str(tmp_path / name)])


def test_labels_of_turns_that_are_not_in_the_log_are_counted():
    gold = pa.Table.from_pylist([WRONG | {"turn_id": t} for t in "abca"], schema=GOLD.schema)
    assert unknown_turns(gold, [pa.array(["a"]), pa.array(["z", "b"])]) == 1
    assert unknown_turns(gold, []) == 4


@pytest.fixture(scope="module")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What people say of the synthetic log's first 600 turns, a year after it, and one label of no turn."""
    path = tmp_path_factory.mktemp("gold") / "people.jsonl"
    rows = []
    for record in records()[:600]:
        said = record["utterance"].split()
        heard = [s["value"] for r in (record["interpretations"] or [])[:1] for s in r["slots"]]
        wrong = bool(heard) and not set(heard) & set(said)
        rows.append(WRONG | {"turn_id": record["turn_id"], "value": float(wrong), "available_at": "2027-03-01T00:00Z"})
    return write(path, *rows, WRONG | {"turn_id": "nobody's"})


@pytest.fixture(scope="module")
def taught(labels: Path, log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An output folder after a run with these labels."""
    out = tmp_path_factory.mktemp("taught") / "out"
    assert afterword("run", "--input", log, *SETTINGS, "--gold", labels, "--out", out) == 0
    return out


def manifest(out: Path) -> dict[str, Any]:
    return json.loads((out / "releases" / (out / "CURRENT").read_text().strip() / "manifest.json").read_text())


def test_a_label_that_arrives_after_the_decision_time_is_not_visible_to_features(taught: Path, released: Path):
    for table in ("ingest/turns", "signals/signals"):
        assert tree(taught / "stages" / table) == tree(released / "stages" / table)
    # It is there, and the models do see it.
    consenting = sum(r.get("consent", True) for r in records()[:600])
    assert (
        manifest(taught)["training"]["gold_turns"] == consenting and manifest(released)["training"]["gold_turns"] == 0
    )
    assert (taught / "stages/train/models.json").read_bytes() != (released / "stages/train/models.json").read_bytes()


def test_labels_are_part_of_what_a_release_is_made_from(taught: Path, released: Path, labels: Path):
    held, plain = manifest(taught), manifest(released)
    assert [f["uri"] for f in held["identity"]["gold"]] == ["people.jsonl"] and plain["identity"]["gold"] == []
    assert held["release_id"] != plain["release_id"] and held["training"]["labels"] == "gold and functions"
    facts = json.loads((taught / "stages/ingest/stage.json").read_text())["facts"]["gold"]
    assert (facts["labels"], facts["unknown"]) == (601, 1)
    assert afterword("verify", taught) == 0


def test_a_label_that_cannot_be_right_ends_with_3_before_anything_is_done(
    released: Path, log: Path, tmp_path: Path, capsys: Any
):
    out = copy(released, tmp_path / "out")
    bad = write(tmp_path / "bad.jsonl", WRONG | {"value": float("nan")})
    assert afterword("run", "--input", log, *SETTINGS, "--gold", bad, "--out", out) == 3
    assert "--gold bad.jsonl: row 1, value" in capsys.readouterr().err
    assert tree(out / "stages") == tree(released / "stages")


def test_labels_are_given_to_ingest(released: Path, capsys: Any):
    assert afterword("run", "--out", released, "--from", "train", "--gold", "x.jsonl") == 2
    assert "run from there, or copy the file to" in capsys.readouterr().err


def test_a_reviewers_word_in_the_folder_of_audits_settles_the_turn(released: Path, tmp_path: Path):
    out = copy(released, tmp_path / "out")
    held = pq.read_table(out / "stages/label/corrections").to_pylist()
    row = next(r for r in held if r["source"] == "n-best" and not r["accepted"])
    said = RIGHT | {"turn_id": row["turn_id"], "candidate_id": row["candidate_id"], "source": "reviewer/ann"}
    (out / "gold").mkdir()
    write(out / "gold" / "people.jsonl", said)
    for stage in ("train", "label"):
        assert afterword(stage, "--out", out, *SETTINGS[2:]) == 0
    after = [r for r in pq.read_table(out / "stages/label/corrections").to_pylist() if r["turn_id"] == row["turn_id"]]
    assert [(r["candidate_id"], r["source"]) for r in after if r["accepted"]] == [(row["candidate_id"], "reviewer")]


def test_a_separator_of_lines_within_a_value_is_no_end_of_a_line(tmp_path: Path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(WRONG | {"turn_id": "t\u20281"}, ensure_ascii=False) + "\n")
    assert read_gold([str(path)]).table["turn_id"].to_pylist() == ["t\u20281"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "turn;definition;value\nt1;breakdown;1\n",
            "no column turn_id, definition, value, found turn;definition;value",
        ),
        ('turn_id,definition,value\nt1,breakdown,"' + "1" * 200_000, "line .* is not CSV"),
    ],
)
def test_a_sheet_that_cannot_be_read_says_what_was_found(text: str, says: str, tmp_path: Path):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InputError, match=says):
        read_gold([str(tmp_path / "a.csv")])
