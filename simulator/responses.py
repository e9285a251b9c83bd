"""What the assistant answers: it says what it did, or asks whether it should, with the values that it understood."""

from __future__ import annotations

from typing import Final

from simulator.phrases import TALK, Reading

# (done, to do) by intent, for some domains apart; {thing} is what it is done to.
_VERBS: Final[dict[str, tuple[str, str]]] = {
    "cover/HassTurnOn": ("Opened {thing}", "open {thing}"),
    "cover/HassTurnOff": ("Closed {thing}", "close {thing}"),
    "valve/HassTurnOn": ("Opened {thing}", "open {thing}"),
    "valve/HassTurnOff": ("Closed {thing}", "close {thing}"),
    "lock/HassTurnOn": ("Locked {thing}", "lock {thing}"),
    "lock/HassTurnOff": ("Unlocked {thing}", "unlock {thing}"),
    "scene/HassTurnOn": ("Activated {thing}", "activate {thing}"),
    "script/HassTurnOn": ("Started {thing}", "start {thing}"),
    "button/HassTurnOn": ("Pressed {thing}", "press {thing}"),
    "HassTurnOn": ("Turned on {thing}", "turn on {thing}"),
    "HassTurnOff": ("Turned off {thing}", "turn off {thing}"),
    "HassGetState": ("Checked {thing}", "check {thing}"),
    "HassLightSet": ("Set {thing}", "set {thing}"),
    "HassFanSetSpeed": ("Set the speed of {thing}", "set the speed of {thing}"),
    "HassSetPosition": ("Moved {thing}", "move {thing}"),
    "HassSetVolume": ("Set the volume of {thing}", "set the volume of {thing}"),
    "HassSetVolumeRelative": ("Changed the volume of {thing}", "change the volume of {thing}"),
    "HassMediaSearchAndPlay": ("Playing {query}", "play {query}"),
    "HassMediaNext": ("Playing the next one on {thing}", "play the next one on {thing}"),
    "HassMediaPrevious": ("Playing the previous one on {thing}", "play the previous one on {thing}"),
    "HassMediaPause": ("Paused {thing}", "pause {thing}"),
    "HassMediaUnpause": ("Resumed {thing}", "resume {thing}"),
    "HassMediaPlayerMute": ("Muted {thing}", "mute {thing}"),
    "HassMediaPlayerUnmute": ("Unmuted {thing}", "unmute {thing}"),
    "HassClimateGetTemperature": ("It is 21 degrees at {thing}", "read the temperature of {thing}"),
    "HassClimateSetTemperature": ("Temperature of {thing} set", "set the temperature of {thing}"),
    "HassClimateSetFanMode": ("Fan mode of {thing} set", "set the fan mode of {thing}"),
    "HassStartTimer": ("Timer set", "set a timer"),
    "HassCancelTimer": ("Timer cancelled", "cancel the timer"),
    "HassCancelAllTimers": ("All timers cancelled", "cancel all timers"),
    "HassPauseTimer": ("Timer paused", "pause the timer"),
    "HassUnpauseTimer": ("Timer resumed", "resume the timer"),
    "HassIncreaseTimer": ("Time added to the timer", "add time to the timer"),
    "HassDecreaseTimer": ("Time taken off the timer", "take time off the timer"),
    "HassTimerStatus": ("The timer is running", "check the timer"),
    "HassShoppingListAddItem": ("Added {item} to the shopping list", "add {item} to the shopping list"),
    "HassShoppingListCompleteItem": ("Checked {item} off the shopping list", "check {item} off the shopping list"),
    "HassListAddItem": ("Added {item} to the {name} list", "add {item} to the {name} list"),
    "HassListCompleteItem": ("Checked {item} off the {name} list", "check {item} off the {name} list"),
    "HassListRemoveItem": ("Removed {item} from the {name} list", "remove {item} from the {name} list"),
    "HassVacuumStart": ("Cleaning started", "start cleaning"),
    "HassVacuumCleanArea": ("Cleaning", "clean"),
    "HassVacuumReturnToBase": ("Returning {thing} to its base", "return {thing} to its base"),
    "HassLawnMowerStartMowing": ("Started mowing", "start mowing"),
    "HassLawnMowerDock": ("Docking the lawn mower", "dock the lawn mower"),
    "HassGetWeather": ("It is 12 degrees and cloudy", "tell the weather"),
    "HassGetCurrentTime": ("It is a quarter past", "tell the time"),
    "HassGetCurrentDate": ("It is Sunday, the first of March", "tell the date"),
    "HassBroadcast": ("Announced {message}", "announce {message}"),
}
# How a slot is said after the verb, where the verb does not say it.
_DETAILS: Final[dict[str, str]] = {
    "state": "({0})",
    "media_class": "({0})",
    "brightness": "to {0} percent",
    "color": "to {0}",
    "temperature": "to {0} degrees",
    "percentage": "to {0} percent",
    "position": "to {0} percent",
    "volume_level": "to {0} percent",
    "volume_step": "by {0}",
    "fan_mode": "to {0}",
    "hours": "{0} hours",
    "minutes": "{0} minutes",
    "seconds": "{0} seconds",
    "start_hours": "(the one of {0} hours)",
    "start_minutes": "(the one of {0} minutes)",
    "start_seconds": "(the one of {0} seconds)",
    "conversation_command": "to {0}",
    "name": "for {0}",
    "device_class": "({0})",
    "item": "({0})",
    "search_query": "({0})",
    "message": "({0})",
    "area": "in the {0}",
    "floor": "on the {0} floor",
}
_LIKE_THINGS: Final = {"light": "lights", "fan": "fans", "switch": "switches", "cover": "covers", "lock": "locks"}


def done(reading: Reading) -> str:
    """What was done."""
    if reading.domain == TALK:
        return "Okay."
    return _sentence(reading, 0) + "."


def asked(reading: Reading) -> str:
    """Whether that was meant."""
    if reading.domain == TALK:
        return f"Did you mean {reading.intent}?"
    return f"Did you mean {_sentence(reading, 1)}?"


def _sentence(reading: Reading, form: int) -> str:
    slots = dict(reading.slots)
    verbs = _VERBS.get(f"{reading.domain}/{reading.intent}") or _VERBS.get(reading.intent)
    verb = verbs[form] if verbs else ("Done", "do that")[form]
    said = {"question"}
    for key, slot, otherwise in (
        ("query", "search_query", "something"),
        ("item", "item", "that"),
        ("message", "message", "that"),
        ("name", "name", "default"),
    ):
        if f"{{{key}}}" in verb:
            verb = verb.replace(f"{{{key}}}", slots.get(slot, otherwise))
            said.add(slot)
    if "{thing}" in verb:
        thing, used = _thing(reading.domain, slots)
        verb = verb.replace("{thing}", thing)
        said.add(used)
    details = [
        _DETAILS[name].format(slots[name].lstrip("-")) for name in _DETAILS if name in slots and name not in said
    ]
    return " ".join([verb, *details])


def _thing(domain: str, slots: dict[str, str]) -> tuple[str, str]:
    """What a reading is about, and the slot that says it."""
    for slot in ("name", "device_class"):
        if slot in slots:
            return f"the {slots[slot]}", slot
    return f"the {_LIKE_THINGS.get(domain, domain.replace('_', ' '))}", ""
