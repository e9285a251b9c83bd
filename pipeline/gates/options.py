"""Options of the gates."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GatesOptions:
    """What has to hold before a release is switched to.

    Attributes
    ----------
    max_defect_share : float
        A domain with a larger share of defective turns is quarantined: where nearly all turns look defective, a broken
        log or model is likelier than an assistant that fails nine times in ten.
    max_correction_share : float
        A domain with a larger share of corrected turns is quarantined: an assistant that most users were understood
        by otherwise than they meant would not be in use.
    min_domain_turns : int
        Domains with fewer turns are not judged by their shares. Of 50 turns more than 90% are defective in 2 of 1,000
        draws where 75% is the truth; of 20 turns in 24.
    max_dead_letter_share : float
        The release stops if a larger share of the records read are dead letters: a broken export, or another format.
    earliest, latest : str
        ISO 8601 times with offset between which a request is plausible. A clock that was never set, or a unit taken
        for another, lies outside.
    min_plausible_times : float
        The release stops if a smaller share of the turns sampled lie between them; a few lost clocks are in every log.
    min_drift_turns : int
        Domains with fewer turns, in this release or its parent, are not held against it: of 30 intents alone two draws
        of 300 turns differ by .035.
    max_defect_shift : float
        A domain whose share of defective turns changed by more since the parent release is quarantined.
    max_intent_shift, max_length_shift : float
        The same for its intents and the lengths of its utterances, as Jensen-Shannon divergence (base 2): two mixes of
        which a third is each one's own differ by a third.
    sample_rows : int
        Rows of each table that are looked at one by one, those of lowest key hash. A fault in one row of 5,000 is
        missed by 20,000 rows in 2 of 100 draws; what is counted is exact in any case.
    """

    max_defect_share: float = 0.9
    max_correction_share: float = 0.5
    min_domain_turns: int = 50
    max_dead_letter_share: float = 0.5
    earliest: str = "2000-01-01T00:00:00Z"
    latest: str = "2100-01-01T00:00:00Z"
    min_plausible_times: float = 0.99
    min_drift_turns: int = 300
    max_defect_shift: float = 0.25
    max_intent_shift: float = 0.33
    max_length_shift: float = 0.33
    sample_rows: int = 20_000
