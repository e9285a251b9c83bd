"""Users who do not want to be in it: their turns go no further than the reader."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from features.text import flat, is_true
from pipeline.errors import ConfigError
from pipeline.given import Given, read_given, text_of

OPTION: Final = "filters.opt_out"
_FIELD: Final = "user_id"


@dataclass(frozen=True)
class OptOuts:
    """Ids of users.

    Attributes
    ----------
    users : pyarrow.StringArray
        Distinct, without white space around them, sorted.
    """

    users: pa.StringArray

    def opted_out(self, turns: pa.Table) -> npt.NDArray[np.bool_]:
        """Turns of these users, shape (n,); white space around an id does not tell two of them apart.

        Where no user is logged, `conv:` and the conversation stand for one.
        """
        subject = pc.utf8_trim_whitespace(flat(turns["subject_id"]))
        return is_true(pc.is_in(subject, value_set=self.users))


def read_opt_outs(path: str) -> tuple[OptOuts, Given]:
    """The users of a file.

    Raises
    ------
    ConfigError
        If a line holds no id, with its number; the line is not quoted, as it may name a person.
    """
    given = read_given(path, OPTION)
    # Not splitlines: an id may hold other separators.
    lines = [line.strip() for line in text_of(given).split("\n")]
    users = {_user(line, f"{given.where}: line {at}") for at, line in enumerate(lines, start=1) if line}
    return OptOuts(pa.array(sorted(users), pa.string())), given


def _user(line: str, where: str) -> str:
    """The id of a line: the line itself, or what JSON on it says."""
    if line[0] not in '{"[':
        return line
    try:
        held = json.loads(line)
    except ValueError as error:
        raise ConfigError(f"{where} is neither an id nor JSON ({getattr(error, 'msg', 'not JSON')})") from None
    user = held.get(_FIELD) if isinstance(held, dict) else held
    if isinstance(user, int) and not isinstance(user, bool):
        # The log's own numbers are read as text, too.
        user = str(user)
    if not isinstance(user, str) or not user.strip():
        raise ConfigError(f'{where}: an id, or {{"{_FIELD}": "..."}}, is wanted')
    return user.strip()
