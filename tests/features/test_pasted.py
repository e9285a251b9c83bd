from __future__ import annotations

import pytest
from build import column, turns

from features.signals import signals


def found(text: str) -> bool:
    return column(signals(turns({"utterance": text})), "pastes_error")[0]


@pytest.mark.parametrize(
    "text",
    [
        "it says\nTraceback (most recent call last):\n  File x",
        'File "a.py", line 3, in <module>',
        "KeyError: 'name'",
        "Exception in thread main java.lang.NullPointerException",
        "error: expected ';' before '}' token",
        "I ran it and got Error: flight not found",
        "ERROR 1064 (42000): You have an error in your SQL syntax",
        "src/a.ts(1,2): error TS2345: Argument of type",
        "error[E0382]: borrow of moved value",
        "    at Object.<anonymous> (/app/index.js:10:5)",
        "at com.example.Main.run(Main.java:42)",
        "bash: foo: command not found",
        "Segmentation fault",
        "fatal: not a git repository",
        "the command exited with code 1",
        "it answers HTTP 500",
    ],
)
def test_what_programs_print_is_found(text):
    assert found(text)


@pytest.mark.parametrize(
    "text",
    [
        "I made an error",
        "what is a standard error",
        "by trial and error",
        "terror: a history of the revolution",
        "the exception proves the rule",
        "make an exception for me",
        "meet me at the station (platform 9:30 train)",
        "it was fatal",
        "exit code of a program",
        "call me at 500",
    ],
)
def test_talk_of_errors_is_not(text):
    assert not found(text)


def test_the_next_turns_is_null_at_the_end():
    got = signals(turns({"utterance": "sort my list"}, {"utterance": "TypeError: x"}))
    assert column(got, "pastes_error_next") == [True, None]
