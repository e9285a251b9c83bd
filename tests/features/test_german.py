"""German, the second language: phrases that perform an act, and phrases that only sound like it."""

from __future__ import annotations

import pytest
from build import column, turns

from features.signals import SignalOptions, signals

USER = {
    "negates": (
        ["Nein", "nee, das ist falsch", "Das stimmt nicht", "Falsch!", "Ne, das nicht", "Ich habe Köln gesagt"],
        ["Neingasse", "Das stimmt", "Neue Adresse", "Der Nebel", "ne Frage: wann fährt der Bus"],
    ),
    "affirms": (
        ["Ja bitte", "genau", "Stimmt", "Natürlich", "okay, passt", "gerne"],
        ["Januar", "Jana anrufen", "stimmt nicht", "natürlich nicht", "klar ist das nicht"],
    ),
    "goes_back": (
        ["zurück", "Bitte noch mal zurück", "einen Schritt zurück", "Mach das rückgängig", "Ich möchte das ändern"],
        ["Fahrt zurück nach Köln", "Rückfahrt am Montag", "Wann kommt er zurück", "Ändere meinen Namen", "Änderung"],
    ),
    "restarts": (
        ["von vorne", "Noch einmal von vorne bitte", "Neustart", "neue Suche", "Lass uns neu anfangen", "fang neu an"],
        ["ein Platz vorne", "neue Schuhe", "Neues aus Köln", "wann beginnt der Film", "Von Anfang bis Ende"],
    ),
    "corrects": (
        [
            "Nein, ich meinte Straßburg",
            "nicht Rock sondern Jazz",
            "Ich sagte Köln",
            "Das habe ich nicht gesagt",
            "nein nach Süden",
        ],
        [
            "Nein danke",
            "Wann findet das statt",
            "Ich wollte einen Tisch reservieren",
            "Was sagte er",
            "Besondere Wünsche",
        ],
    ),
    "complains": (
        [
            "Das ist falsch",
            "Das stimmt so nicht",
            "Das funktioniert immer noch nicht",
            "Das ergibt keinen Sinn",
            "Du hast meine Frage nicht beantwortet",
            "Das war nicht hilfreich",
        ],
        [
            "Wie funktioniert das",
            "Es geht nicht um mich",
            "Das ist richtig",
            "Hilft Tee gegen Husten",
            "Was ist falsch an Zucker",
        ],
    ),
    "asks_back": (
        ["Wie bitte?", "Was meinst du?", "Das verstehe ich nicht", "Was soll das heißen", "Häh?", "Bist du sicher?"],
        ["Was kostet das", "Wie wird das Wetter", "Bitte", "Ich verstehe", "Was nun"],
    ),
    "gives_up": (
        ["Vergiss es", "abbrechen", "Egal", "Lass es", "Ich gebe auf", "Brich das ab"],
        ["Vergiss nicht, Milch zu kaufen", "Stopp die Musik", "Egal wohin", "Wann wurde abgebrochen", "Auf geht's"],
    ),
    "closes": (
        ["Tschüss", "Tschüß!", "Auf Wiedersehen", "Das war's", "Nein, das ist alles", "bis morgen"],
        ["Wetter bis morgen", "Ende der Straße", "Das war schön", "Ist das alles an Bussen", "Wiederholung"],
    ),
    "escalates": (
        [
            "Mitarbeiter",
            "Ich möchte mit einem Menschen sprechen",
            "Verbinden Sie mich bitte",
            "Kundenservice",
            "Kann ich mit jemandem reden",
        ],
        [
            "Wie viele Menschen leben in Köln",
            "Mitarbeiterrabatt",
            "Züge verbinden",
            "Ein Agent im Film",
            "Wer ist der Chef",
        ],
    ),
    "thanks": (
        ["Danke schön", "Vielen Dank!", "Perfekt", "Das war sehr hilfreich", "Super", "Das hat mir geholfen"],
        ["Dankesrede", "Superman", "ein perfekter Tag", "Das hat nicht geholfen", "Toll Collect anrufen"],
    ),
    "says_sorry": (
        ["Entschuldigung", "Tut mir leid", "Sorry", "mein Fehler", "Verzeihung, ich meinte Ulm"],
        ["Leider ja", "das Leid", "Entschuldigungsschreiben", "ein Fehler", "wer ist schuld"],
    ),
}
SYSTEM = {
    "asks_confirmation": (
        [
            "Nach Köln, ist das richtig?",
            "Meinten Sie Ulm?",
            "Stimmt das?",
            "Soll ich buchen?",
            "Bitte sagen Sie ja oder nein",
        ],
        ["Wohin möchten Sie?", "Der Zug fährt um 9", "Gebucht.", "Das ist der richtige Bus", "Sollte es regnen"],
    ),
    "apologises": (
        ["Entschuldigung.", "Es tut mir leid", "Das tut uns sehr leid", "Ich bedaure das", "Verzeihung, wohin?"],
        ["Leider ausgebucht", "Kein Problem", "Gern geschehen", "Der Zug fährt um 9", "Leid und Freude"],
    ),
    "cannot_help": (
        [
            "Das kann ich leider nicht",
            "Ich kann dir dabei nicht helfen",
            "Dazu habe ich keine Informationen",
            "Das weiß ich nicht",
            "Das ist leider nicht möglich",
        ],
        ["Das kann ich buchen", "Ich habe drei Züge gefunden", "Ich weiß", "Das ist möglich", "Sie können hier sitzen"],
    ),
    "falls_back": (
        [
            "Das habe ich nicht verstanden",
            "Können Sie das anders formulieren?",
            "Ich verstehe das leider nicht",
            "Bitte versuchen Sie es noch einmal",
            "Ich bin nicht sicher, was Sie meinen",
        ],
        ["Verstanden", "Ich verstehe", "Das Formular", "Noch einmal Köln?", "Sicher"],
    ),
    "clarifies": (
        [
            "Welche Linie?",
            "Welches davon?",
            "Meinten Sie Ulm?",
            "Was genau suchen Sie?",
            "Bitte genauer beschreiben",
        ],
        ["Der Zug fährt um 9", "Genau.", "Für welche Uhrzeit auch immer", "Wohin möchten Sie?", "Präsident"],
    ),
    "hands_off": (
        [
            "Ich verbinde Sie mit einem Mitarbeiter",
            "Ich leite dich an eine Kollegin weiter",
            "Wir verbinden Sie mit unserem Kundenservice",
            "Ich übergebe Sie an einen Berater",
            "Ich stelle Sie zu einer Person durch",
        ],
        [
            "Ich verbinde die Geräte",
            "Ein Mitarbeiter kommt",
            "Der Kollege ist da",
            "Ich leite das Wasser um",
            "Verbunden",
        ],
    ),
}


def performing(act: str, texts: list[str]) -> list[str]:
    """Those of the user's, or the system's, texts that perform an act."""
    field = "utterance" if act in USER else "response"
    got = signals(turns(*({field: text} for text in texts)), SignalOptions(language="de"))
    return [text for text, done in zip(texts, column(got, act), strict=True) if done]


@pytest.mark.parametrize("act", [*USER, *SYSTEM])
def test_words_perform_an_act_and_those_that_only_sound_like_it_do_not(act):
    act_texts, others = (USER | SYSTEM)[act]
    assert performing(act, act_texts) == act_texts
    assert performing(act, others) == []


def test_an_umlaut_may_be_written_in_any_way():
    ways = ["Tschüss", "tschuess", "Tschu\u0308ss", "TSCHÜSS", "tschüß"]
    assert performing("closes", ways) == ways


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Das ist schön", 0.5),
        ("nicht schön", -0.5),
        ("Blödsinn", -0.5),
        ("keine gute Idee", -0.5),
        ("groß", 0.0),
    ],
)
def test_sentiment(text, value):
    got = signals(turns({"utterance": text}), SignalOptions(language="de"))
    assert column(got, "sentiment") == [pytest.approx(value)]


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("Fehler beim Buchen", True),
        ("Es ist ein unerwarteter Fehler aufgetreten", True),
        ("Die Suche ist fehlgeschlagen", True),
        ("Der Kunde wurde nicht gefunden", True),
        ("Gebucht", False),
        ("Fehlerfrei gebucht", False),
    ],
)
def test_a_tool_call_fails_by_the_answers_words(text, failed):
    call = [{"domain": "tool", "intent": "book", "slots": [], "score": None}]
    got = signals(turns({"nbest": call, "response": text}), SignalOptions(language="de"))
    assert column(got, "tool_failed") == [failed]


def test_a_question_asked_again_in_other_words_is_the_same_question():
    rows = turns({"prompt": "Wohin möchten Sie fahren?", "response": "Entschuldigung, wohin fahren Sie?"})
    assert column(signals(rows, SignalOptions(language="de")), "question_repeat") == [1.0]
