"""Options of the filters."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FilterOptions:
    """What is kept out of learning. Of files, see docs/inputs.md; their content is a part of a release's id.

    Attributes
    ----------
    incidents : str or None
        File of incidents: time windows, app versions, policies, channels, regions or domains in which what users did
        says nothing of how well they were understood. Their turns stay in the log, as what came before and after them
        is read beside them, but teach nothing.
    file : str or None
        File of named filters over users, channels and versions: probes, bots, employees. The same holds of their turns.
    opt_out : str or None
        File of users who do not want to be in it, one id a line, or JSON lines with `user_id`. Their turns are counted
        and dropped before anything is written, whenever they were said.
    require_consent : bool
        Whether turns whose record does not say `"consent": true` teach nothing. False = those that state nothing may be
        learned from, and only `"consent": false` keeps a turn out.
    """

    incidents: str | None = None
    file: str | None = None
    opt_out: str | None = None
    require_consent: bool = False
