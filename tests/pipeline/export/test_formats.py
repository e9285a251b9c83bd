"""Each format written from `nlu` rows and read back as its own reader would."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from typing import Any

import pyarrow as pa
import pytest
import yaml
from golden_views import example, slot, table
from hypothesis import given
from hypothesis import strategies as st

from pipeline.export import clu, dialogflow_cx, hf, jointbert, lex_v2, massive, rasa
from pipeline.export.names import Names, fitted
from pipeline.export.utterances import Utterance, count_with_domain, labels_of, utterances
from pipeline.writers.views import VIEWS

# (text, intent, domain, slots): emoji beyond the BMP, combining characters, right-to-left, brackets, quotes.
HEBREW = "\u05e0\u05d2\u05df \u05d2'\u05d0\u05d6 \u05e2\u05db\u05e9\u05d9\u05d5"
ROWS: list[tuple[str, str, str | None, list[dict[str, Any]]]] = [
    ("play jazz", "play", "music", [slot("genre", "jazz", 5, 9)]),
    ("\U0001f600 play caf\u00e9 \U0001f3b7 mix", "play", "music", [slot("genre", "caf\u00e9 \U0001f3b7", 7, 13)]),
    (
        "nai\u0308ve me\u0301l now",
        "play",
        "music",
        [slot("mood", "nai\u0308ve", 0, 6), slot("name", "me\u0301l", 7, 11)],
    ),
    (HEBREW, "play", "music", [slot("genre", HEBREW[4:8], 4, 8)]),
    ('say "hi" [now](x) {y}', "say/loud", "talk", []),
    ("two\nlines - of \u2028text", "say/loud", "talk", [slot("what", "lines", 4, 9)]),
    ("at five am", "time", "clock", [slot("when", "5:00", 3, 10), slot("part", "am", 8, 10), slot("zone", "utc")]),
    ("eggs milk", "time", "shop", [slot("item", "eggs", 0, 4), slot("item", "milk", 5, 9)]),
]


def rows(*held: Any, locale: str | None = "en-US") -> tuple[list[Utterance], Counter[str]]:
    """Rows as the exports get them, in the order given, and what was counted."""
    told: Counter[str] = Counter()
    examples = [
        example(f"{k:03d}", utterance=text, intent=intent, domain=domain, slots=slots, locale=locale)
        for k, (text, intent, domain, slots) in enumerate(held or ROWS)
    ]
    made = VIEWS["nlu"](table(*examples))
    return utterances(made, labels_of([made]), told), told


def marked(row: Utterance) -> list[tuple[str, str]]:
    return [(s.name, row.text[s.start : s.end]) for s in row.spans]


def utf16(utterance: dict[str, Any]) -> list[tuple[str, str]]:
    """Entities of a CLU utterance by their UTF-16 offsets."""
    units = utterance["text"].encode("utf-16-le")
    return [
        (e["category"], units[2 * e["offset"] : 2 * (e["offset"] + e["length"])].decode("utf-16-le"))
        for e in utterance["entities"]
    ]


def test_slots_without_a_place_are_counted_and_others_stand_in_order():
    held, told = rows()
    assert told == {"slots": 11, "slots.no_span": 1, "slots.overlap": 1}
    assert marked(held[2]) == [("mood", "nai\u0308ve"), ("name", "me\u0301l")]
    assert marked(held[6]) == [("when", "five am")]
    assert all("".join(text for text, _ in row.parts()) == row.text for row in held)
    # Two domains have an intent of this name.
    assert [row.intent for row in held[6:]] == ["clock_time", "shop_time"] and held[0].intent == "play"


def test_rasa():
    held, told = rows()
    files = rasa.write(held, Names.of(held), told)
    read = yaml.safe_load(files["nlu.yml"])
    assert read["version"] == "3.1"
    found = {block["intent"]: [e[2:] for e in block["examples"].splitlines()] for block in read["nlu"]}
    assert list(found) == sorted(found) == ["clock_time", "play", "say_loud", "shop_time"]
    parsed = [rasa.parse(line) for line in found["play"]]
    assert [p[0] for p in parsed] == [r.text for r in held[:4]]
    assert [[(name, text[a:b]) for name, _, a, b in es] for text, es in parsed] == [marked(r) for r in held[:4]]
    assert rasa.parse(found["clock_time"][0]) == ("at five am", [("when", "5:00", 3, 10)])
    assert '{"entity": "when", "value": "5:00"}' in found["clock_time"][0]
    # What Rasa would take for an entity cannot be written; ends of lines become spaces, in place.
    assert [rasa.parse(line)[0] for line in found["say_loud"]] == ["two lines - of  text"]
    assert (told["rows.unmarkable"], told["rows.written"], told["rows.blanks"], told["intents.renamed"]) == (1, 7, 1, 1)


def test_rasa_writes_a_slot_whose_words_hold_a_bracket_as_words():
    held, told = rows(
        ("go [a] b", "go", None, [slot("to", "[a]", 3, 6)]), ("go a", "go", None, [slot("to", "}", 3, 4)])
    )
    lines = [rasa.example(row, told) for row in held]
    assert lines == ["go [a] b", 'go [a]{"entity": "to"}'] and told["slots.unmarkable"] == 1


@pytest.mark.parametrize("name", ["yes", "null", "1e3", "a: b", "- x", "\u05d0", 'q"', "#c", "ok_1.2"])
def test_an_intent_of_any_name_is_that_name_in_yaml(name: str):
    held, told = rows(("hi", name, None, []))
    assert [b["intent"] for b in yaml.safe_load(rasa.write(held, Names.of(held), told)["nlu.yml"])["nlu"]] == [name]


def test_clu_offsets_are_utf16_code_units():
    held, told = rows()
    project = json.loads(clu.write({"train": held}, Names.of(held), told)["project.json"])
    assert project["stringIndexType"] == "Utf16CodeUnit" and project["metadata"]["language"] == "en-us"
    for row, said in zip(held, project["assets"]["utterances"], strict=True):
        assert said["text"] == row.text and utf16(said) == marked(row) and said["dataset"] == "Train"
    # An emoji before it moves the offset by two.
    assert project["assets"]["utterances"][1]["entities"] == [{"category": "genre", "offset": 8, "length": 7}]
    named = {e["category"] for e in project["assets"]["entities"]}
    assert named == {n for row in held for n, _ in marked(row)}
    long, told = rows(("a" * 501, "x", None, []), ("\U0001f600" * 250, "x", None, []))
    assert len(json.loads(clu.write({"test": long}, Names.of(long), told)["project.json"])["assets"]["utterances"]) == 1
    assert told["rows.too_long"] == 1


def test_dialogflow_cx():
    held, told = rows(("play a b", "go / \u05d0", None, [slot("to place", "a", 5, 6)]), *ROWS)
    files = dialogflow_cx.write(held, Names.of(held), told)
    assert "intents/go_.en-US.json" in files and "intents/play.en-US.json" in files
    read = [json.loads(data) for data in files.values()]
    phrases = {
        "".join(p["text"] for p in phrase["parts"]): (i["displayName"], phrase)
        for i in read
        for phrase in i["trainingPhrases"]
    }
    for row in held:
        name, phrase = phrases[row.text]
        assert name == row.intent and phrase["repeatCount"] == 1
        found = [(p["parameterId"], p["text"]) for p in phrase["parts"] if "parameterId" in p]
        assert found == [(n.replace(" ", "_"), text) for n, text in marked(row)]
    assert all(
        {p["parameterId"] for t in i["trainingPhrases"] for p in t["parts"] if "parameterId" in p}
        == {p["id"] for p in i["parameters"]}
        for i in read
    )


def test_jointbert_files_go_line_by_line():
    held, told = rows(*ROWS, ("x y", "new intent", None, [slot("a slot", "y", 2, 3)]))
    written = jointbert.write({"train": held}, Names.of(held), told)
    files = {name: data.decode().split("\n")[:-1] for name, data in written.items()}
    assert len({len(files[f"train/{name}"]) for name in ("seq.in", "seq.out", "label")}) == 1
    for row, said, tags, label in zip(
        held, files["train/seq.in"], files["train/seq.out"], files["train/label"], strict=True
    ):
        assert said.split() == row.text.split() and len(tags.split()) == len(said.split())
        assert set(tags.split()) <= set(files["slot_label.txt"]) and label in files["intent_label.txt"]
    assert files["train/seq.out"][2] == "B-mood B-name O" and files["train/seq.out"][-1] == "O B-a_slot"
    assert files["train/label"][-1] == "new_intent" and told["intents.renamed"] == 1


def test_massive():
    held, told = rows(*ROWS, locale=None)
    files = massive.write({"train": held}, Names.of(held), told)
    read = [json.loads(line) for line in files["und.jsonl"].splitlines()]
    # A text with brackets of its own is fine where they are no marks.
    assert told["rows.unmarkable"] == 0 and len(read) == len(held)
    assert read[6]["annot_utt"] == "at [when : five am]" and read[6]["scenario"] == "clock"
    for row, said in zip(held, read, strict=True):
        text, slots = massive.parse(said["annot_utt"])
        assert text == said["utt"] == row.text and [(n, text[a:b]) for n, a, b in slots] == marked(row)
    clash, told = rows(("press [ok : now] please", "press", None, []))
    assert massive.write({"train": clash}, Names.of(clash), told) == {} and told["rows.unmarkable"] == 1


def test_hf_has_the_tokens_and_tags_of_the_view():
    held, told = rows()
    read = [json.loads(line) for line in hf.write({"test": held}, Names.of(held), told)["test.jsonl"].splitlines()]
    assert [r["tokens"] for r in read] == [row.text.split() for row in held]
    assert read[0]["ner_tags"] == ["O", "B-genre"] and {"text", "intent", "tokens", "ner_tags"} <= read[0].keys()


def test_lex_v2_is_one_zip_of_the_same_bytes():
    held, told = rows(*ROWS, ("play jazz", "play", "music", [slot("genre", "jazz", 5, 9)]))
    files = lex_v2.write(held, Names.of(held), told)
    again = rows(*ROWS, ROWS[0])[0]
    assert files == lex_v2.write(again, Names.of(again), Counter())
    with zipfile.ZipFile(io.BytesIO(files["afterword.zip"])) as archive:
        assert {i.date_time for i in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        read = {name: json.loads(archive.read(name)) for name in archive.namelist()}
    base = "Afterword/BotLocales/en_US"
    assert read["manifest.json"]["metaData"]["resourceType"] == "BOT" and "Afterword/Bot.json" in read
    play = read[f"{base}/Intents/play/Intent.json"]
    assert [u["utterance"] for u in play["sampleUtterances"]] == [
        "play {genre}",
        "\U0001f600 play {genre} mix",
        "{mood} {name} now",
        HEBREW[:4] + "{genre}" + HEBREW[8:],
    ]
    assert [s["slotName"] for s in play["slotPriorities"]] == ["genre", "mood", "name"]
    kinds = read[f"{base}/SlotTypes/genre/SlotType.json"]["slotTypeValues"]
    assert {k["sampleValue"]["value"] for k in kinds} == {"jazz", "caf\u00e9 \U0001f3b7", HEBREW[4:8]}
    # Every slot of an intent has its file, and its type; each name is one that Lex takes.
    for name, held_file in read.items():
        if name.endswith("/Intent.json"):
            assert all(
                f"{name.rsplit('/', 1)[0]}/Slots/{s['slotName']}/Slot.json" in read for s in held_file["slotPriorities"]
            )
            assert re.fullmatch(r"([0-9a-zA-Z][_-]?){1,100}", held_file["name"])
        if name.endswith("/Slot.json"):
            assert f"{base}/SlotTypes/{held_file['slotTypeName']}/SlotType.json" in read
    # The same sample again, one of control characters or braces, and a slot that stands twice.
    assert (told["rows.twice"], told["rows.unmarkable"], told["slots.twice"]) == (1, 2, 1)
    assert read[f"{base}/Intents/shop_time/Intent.json"]["sampleUtterances"] == [{"utterance": "{item} milk"}]


def test_lex_keeps_its_own_fallback_and_a_logged_intent_of_its_name_gets_another():
    said = [("what", "FallbackIntent"), ("huh", "fallbackintent"), ("play jazz", "play"), ("now", "play/now")]
    held, told = rows(*((text, intent, "music", []) for text, intent in said))
    with zipfile.ZipFile(io.BytesIO(lex_v2.write(held, Names.of(held), told)["afterword.zip"])) as archive:
        read = {n: json.loads(archive.read(n)) for n in archive.namelist() if n.endswith("/Intent.json")}
    own = {n.split("/")[-2]: ([u["utterance"] for u in i["sampleUtterances"]]) for n, i in read.items()}
    assert own == {
        "FallbackIntent": [],
        "FallbackIntent_2": ["what"],
        "fallbackintent_3": ["huh"],
        "play": ["play jazz"],
        "play_now": ["now"],
    }
    signed = {n.split("/")[-2]: i["parentIntentSignature"] for n, i in read.items()}
    assert signed.pop("FallbackIntent") == "AMAZON.FallbackIntent" and set(signed.values()) == {None}
    assert (told["intents.reserved"], told["intents.renamed"], told["rows.written"]) == (2, 1, 4)


@pytest.mark.parametrize(
    ("tag", "name"), [("en", "en_US"), ("de-AT", "de_AT"), ("und", "en_US"), ("pt_BR", "pt_BR"), ("xx", "xx_XX")]
)
def test_a_locale_has_a_country_for_lex(tag: str, name: str):
    assert lex_v2.locale(tag) == name


def test_names_are_made_to_fit_and_stay_apart():
    assert fitted(["a/b", "a_b", "a//b", "c"], "/") == {"a_b": "a_b", "a/b": "a_b_3", "a//b": "a_b_2", "c": "c"}
    assert fitted(["play", "Play", "own"], "/", reserved=["Own"]) == {"Play": "Play", "own": "own_2", "play": "play_2"}
    assert sorted(fitted(["abcd", "abce", "\u05d0"], "[^a-z]", 3).values()) == ["_", "a_2", "abc"]


def test_a_locale_of_any_text_names_no_file_elsewhere():
    held, told = rows(ROWS[0], locale="../../etc/x")
    names = Names.of(held)
    for files in (massive.write({"train": held}, names, told), dialogflow_cx.write(held, names, told)):
        assert [name for name in files if ".." in name] == [] and any("_etc_x" in name for name in files)
    with zipfile.ZipFile(io.BytesIO(lex_v2.write(held, Names.of(held), told)["afterword.zip"])) as archive:
        assert not any(".." in name for name in archive.namelist())


def both() -> tuple[pa.Table, pa.Table]:
    """NLU rows of train and test; in train alone names clash."""
    train = [("lamp on", "turn_on", "light", "a b"), ("fan on", "turn_on", "fan", "a/b"), ("x", "on it", None, "c")]
    test = [("lamp up", "turn_on", "light", "a/b"), ("y", "on/it", "talk", "c")]
    made = []
    for said in (train, test):
        held = [
            example(text, utterance=text, intent=intent, domain=domain, slots=[slot(name, text[0], 0, 1)])
            for text, intent, domain, name in said
        ]
        made.append(VIEWS["nlu"](table(*held)))
    return made[0], made[1]


def test_an_intent_has_one_name_in_every_split():
    train, test = both()
    labels = labels_of([train, test])
    assert labels["light", "turn_on"] == "light_turn_on" and labels[None, "on it"] == "on it"
    told: Counter[str] = Counter()
    count_with_domain([test], labels, told)
    assert [row.intent for row in utterances(test, labels, told)] == ["light_turn_on", "on/it"]
    assert told["intents.with_domain"] == 1
    # A name that is made so may be an intent's own already, and then is numbered.
    clash = [("a", "on", "light"), ("b", "on", "fan"), ("c", "light_on", "x"), ("d", "n", "light_o")]
    made = VIEWS["nlu"](table(*(example(t, utterance=t, intent=i, domain=d) for t, i, d in clash)))
    found = labels_of([made])
    assert found["x", "light_on"] == "light_on" and found["light", "on"] == "light_on_2"
    assert len(set(found.values())) == 4


def test_a_format_gives_a_name_the_same_form_in_every_split():
    tables = both()
    labels = labels_of(tables)
    train, test = (utterances(t, labels, Counter()) for t in tables)
    names = Names.of([*train, *test])
    # "on it" and "on/it" become one in Lex, "a b" and "a/b" in Dialogflow; each is numbered as in the whole release.
    told: Counter[str] = Counter()
    files = lex_v2.write(test, names, told)
    with zipfile.ZipFile(io.BytesIO(files["afterword.zip"])) as archive:
        base = "Afterword/BotLocales/en_US/Intents"
        intents = {n.split("/")[-2] for n in archive.namelist() if n.startswith(base) and n.endswith("/Intent.json")}
    assert intents == {"FallbackIntent", "light_turn_on", "on_it_2"}
    assert (told["intents.renamed"], told["slots.renamed"]) == (1, 1)
    parameters = []
    for rows in (train, test):
        read = [json.loads(data) for data in dialogflow_cx.write(rows, names, Counter()).values()]
        parameters.append({i["displayName"]: {p["id"] for p in i["parameters"]} for i in read})
    assert parameters[0] == {"light_turn_on": {"a_b"}, "fan_turn_on": {"a_b_2"}, "on it": {"c"}}
    assert parameters[1] == {"light_turn_on": {"a_b_2"}, "on/it": {"c"}}
    alone = jointbert.write({"test": test}, names, Counter())
    assert alone["test/label"] == b"light_turn_on\non/it\n"


def test_both_splits_in_one():
    tables = both()
    labels = labels_of(tables)
    splits = dict(zip(("train", "test"), (utterances(t, labels, Counter()) for t in tables), strict=True))
    names = Names.of([*splits["train"], *splits["test"]])
    told: Counter[str] = Counter()
    project = json.loads(clu.write(splits, names, told)["project.json"])["assets"]
    assert [u["dataset"] for u in project["utterances"]] == ["Train"] * 3 + ["Test"] * 2 and told["rows.written"] == 5
    assert {u["intent"] for u in project["utterances"]} <= {i["category"] for i in project["intents"]}
    lines = jointbert.write(splits, names, Counter())
    listed = lines["intent_label.txt"].decode().splitlines()
    said = lines["train/label"].decode().splitlines() + lines["test/label"].decode().splitlines()
    assert len(said) == 5 and set(said) == set(listed) - {"UNK"}
    (data,) = massive.write(splits, names, Counter()).values()
    assert [json.loads(x)["partition"] for x in data.splitlines()] == ["train"] * 3 + ["test"] * 2
    assert sorted(hf.write(splits, names, Counter())) == ["test.jsonl", "train.jsonl"]


LEX_NAME = re.compile(r"([0-9a-zA-Z][_-]?){1,100}")


def lex_fitted(names: list[str]) -> dict[str, str]:
    """Names of intents as Lex gets them."""
    held, told = rows(*((f"say {k}", name, None, []) for k, name in enumerate(names)))
    with zipfile.ZipFile(io.BytesIO(lex_v2.write(held, Names.of(held), told)["afterword.zip"])) as archive:
        read = [json.loads(archive.read(n)) for n in archive.namelist() if n.endswith("/Intent.json")]
    return {
        names[int(i["sampleUtterances"][0]["utterance"].removeprefix("say "))]: i["name"]
        for i in read
        if i["sampleUtterances"]
    }


def test_names_for_lex_begin_with_a_letter_or_digit():
    made = lex_fitted(["_init", "/help", "\u5929\u6c17", "__", "play_", "Play_", "\u5929", "init"])
    assert made == {
        "_init": "init_2",
        "init": "init",
        "/help": "help",
        "\u5929\u6c17": "intent_3",
        "\u5929": "intent_2",
        "__": "intent",
        "Play_": "Play_",
        "play_": "play_2",
    }


LOGGED = st.text(st.sampled_from(list("aA0_-/ \u5929")), min_size=1, max_size=120)


@given(st.lists(LOGGED, min_size=1, unique=True, max_size=8))
def test_every_name_is_one_that_lex_takes(names: list[str]):
    made = lex_fitted(names)
    assert set(made) == set(names) and len({m.casefold() for m in made.values()}) == len(names)
    assert all(LEX_NAME.fullmatch(m) and len(m) <= 100 for m in made.values())


CHARACTERS = st.sampled_from(list("ab []{}():\"\\-#'\u0308\u05d0\U0001f600\n\t\u2028"))
TEXT = st.text(CHARACTERS, min_size=1, max_size=14).filter(lambda t: t.strip() != "")
SLOT = st.builds(slot, st.sampled_from(["n", "m o", "k:]"]), TEXT, st.integers(0, 8), st.integers(1, 14))


@given(TEXT, st.lists(SLOT, max_size=2))
def test_what_is_written_reads_back_or_is_counted(text: str, slots: list[dict[str, Any]]):
    held, told = rows((text, "i", None, slots))
    row = held[0]
    (said,) = json.loads(clu.write({"train": held}, Names.of(held), told)["project.json"])["assets"]["utterances"]
    units = said["text"].encode("utf-16-le")
    assert [units[2 * e["offset"] : 2 * (e["offset"] + e["length"])].decode("utf-16-le") for e in said["entities"]] == [
        t for _, t in marked(row)
    ]
    told = Counter()
    document = yaml.safe_load(rasa.write(held, Names.of(held), told)["nlu.yml"])
    if told["rows.unmarkable"]:
        assert not document["nlu"]
    else:
        (line,) = document["nlu"][0]["examples"].splitlines()
        found, entities = rasa.parse(line[2:])
        assert found == re.sub("[\n\t\u2028]", " ", text).strip(" ")
        assert len(entities) == len(row.spans) - told["slots.unmarkable"]
    told = Counter()
    files = massive.write({"train": held}, Names.of(held), told)
    assert bool(files) != bool(told["rows.unmarkable"])
    names = Names.of(held)
    lex_v2.write(held, names, told), dialogflow_cx.write(held, names, told), jointbert.write({"t": held}, names, told)
