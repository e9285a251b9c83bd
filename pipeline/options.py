"""The sections of the configuration: every option with its default and its reason."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Final

from features.signals import SignalOptions
from models.chain import ChainOptions
from models.options import TrainOptions
from pipeline.events import EventsOptions
from pipeline.filters.options import FilterOptions
from pipeline.gates.options import GatesOptions
from pipeline.given import name_of
from pipeline.ontology.options import OntologyOptions
from pipeline.privacy.options import PrivacyOptions

# Options that name a file; its content is a part of a release's identity.
_FILES: Final = (
    "ontology.file",
    "filters.incidents",
    "filters.file",
    "filters.opt_out",
    "models.file",
    "curate.training_set",
)


@dataclass(frozen=True)
class IngestOptions:
    """Reading.

    Attributes
    ----------
    timezone : str or None
        IANA zone of times without an offset; None takes the reader's own, and refuses naive times if it has none.
    incremental : bool
        Whether the run is one of a row, each over the interval after the last (`release.interval_start`, `_end`): it
        reads its own interval, takes over the sessions that the release before left open, leaves open to the next run
        those that its end cuts through, and judges sessions anew that late events join. See docs/incremental.md.
    take_over : bool
        Whether anything is taken over. False begins a row here: what a release before left open is given up.
    lateness : float
        Late events of up to so many seconds before the interval's end still find their session, which is kept in the
        release for that. A day: what comes with the next day's log is mostly of the day before. 0 = no session is kept,
        and late events are judged by themselves.
    """

    timezone: str | None = None
    incremental: bool = False
    take_over: bool = True
    lateness: float = 86_400.0


@dataclass(frozen=True)
class ShuffleOptions:
    """Shuffling.

    Attributes
    ----------
    mode : str
        `spill`, `native`, or `auto`: spill on the local runner, native elsewhere.
    bucket_bytes : int
        Uncompressed input a bucket holds; the number of buckets follows from the input's size.
    """

    mode: str = "auto"
    bucket_bytes: int = 64 << 20


@dataclass(frozen=True)
class WorkerOptions:
    """Workers.

    Attributes
    ----------
    threads : int
        Buckets, or batches of a file, that a worker works on at once; 0 = two on the local runner, which has one worker
        for the whole machine, and one elsewhere. Each holds its own in memory. The commands fork as many processes for
        them on the local runner (Linux); else they are threads. What comes out is the same.
    """

    threads: int = 0


@dataclass(frozen=True)
class SampleOptions:
    """Rows to train on.

    Attributes
    ----------
    train_rows : int
        At most so many turns, whole sessions of lowest hash. Bounds the time and the memory of the fit.
    """

    train_rows: int = 20_000


@dataclass(frozen=True)
class CurateOptions:
    """From judged turns to examples.

    Attributes
    ----------
    min_users : int
        Distinct users who must support a label, inside its split. One user's slip is not a rule.
    min_agreement : float
        Least share of an utterance's users who support its label (0.8 after Falke et al. 2020).
    confirm_below : float
        A turn with p(defect) at or below this confirms the interpretation that was executed, or the answer given.
    answer_min_users : int
        The same for the answers and tool calls of an agent. They are one-off: the same words in the same context rarely
        come twice. One user is enough, as nothing is relabelled: what satisfied is learned as it was said.
    reject_min_users : int
        The same for what was done and found wrong. Nothing is relabelled by it, so one user's defective turn is a case.
    context_turns : int
        Turns before an answer that the `sft` view shows with it: most of what a request refers to was said just before.
    context_chars : int
        Characters in them; about 2,000 tokens, so that an example fits a short training window. Older turns go first.
    context_below : float
        Highest p(defect) of a turn before an answer: trainers that mask by role learn every assistant turn in the
        context, so each has to be more than not judged defective. Wider than `confirm_below`, as a context ends at the
        first turn that is over it, and an answer without what it refers to teaches less.
    test_share : float
        Share of users, by hash, whose turns go to the test split.
    test_from : str or None
        ISO 8601 time with offset: train takes turns before it, test turns from it on. None = no cut in time.
    deduplicate : bool
        Of examples that teach the same in words that are nearly the same, keep one (split, locale, domain, intent and
        slots are the same; near words with another label are information). A test example that is nearly one of train
        is left out, whatever the labels.
    duplicate_likeness : float
        Least share of their letter sequences that near-duplicates have in common (Jaccard). A letter more or less in 40
        characters is 0.8; docs/benchmarks.md has what others would take away.
    duplicate_letters : int
        Letters of a sequence, spaces among them. A text shorter than that is like no other.
    duplicate_exact : int
        Up to so many pooled examples none of these pairs is missed, and `verify` proves that. Of more, MinHash misses
        one in some hundreds; to compare all takes time that grows with their square at worst.
    decontaminate : str or None
        Evaluation sets: a file, a folder or a glob of .jsonl, .csv, .tsv, .parquet or .txt. An example whose utterance
        is a text of theirs, or that shares a run of words with one, is left out. The contents of the files, and not
        this path, are part of what names the release.
    decontaminate_columns : str or None
        Their columns of text, separated by commas. None = those with a usual name: text, utterance, question,
        messages and so on.
    decontaminate_words : int
        Words of such a run. Ordinary language repeats runs of up to five or six words; published sets are checked
        with 8 to 13.
    max_per_user : int or None
        Examples of train that one user alone supports, at most. None = no cap, here and below.
    max_per_intent : int or None
        Examples of train with one intent, at most.
    max_per_domain : int or None
        Examples of train with one domain, at most.
    replay_power : float
        Sampling of train's confirmations: of an intent that has n of them, replay_floor * (n / replay_floor) ^ this are
        kept. 1 = all; lower, and frequent intents have a smaller share.
    replay_floor : int
        An intent with no more confirmations than this keeps all of them.
    licences : str or None
        Licences of turns that may be learned from, separated by commas, as the log names them. Turns under others, or
        that state none, do not vote, and neither does a correction that one of them supports. None = any.
    training_set : str or None
        File of what the NLU is trained on now (see docs/inputs.md). An example of the same words with another label is
        not released over it, but listed for review, in `training_set_diff.csv` of the release.
    keep_known : bool
        Whether an example that the training set has already, same words and same label, is released all the same.
    """

    min_users: int = 2
    min_agreement: float = 0.8
    confirm_below: float = 0.05
    answer_min_users: int = 1
    reject_min_users: int = 1
    context_turns: int = 8
    context_chars: int = 8_000
    context_below: float = 0.2
    test_share: float = 0.1
    test_from: str | None = None
    deduplicate: bool = True
    duplicate_likeness: float = 0.8
    duplicate_letters: int = 4
    duplicate_exact: int = 50_000
    decontaminate: str | None = None
    decontaminate_columns: str | None = None
    decontaminate_words: int = 8
    max_per_user: int | None = None
    max_per_intent: int | None = None
    max_per_domain: int | None = None
    replay_power: float = 1.0
    replay_floor: int = 100
    licences: str | None = None
    training_set: str | None = None
    keep_known: bool = True


@dataclass(frozen=True)
class ReleaseOptions:
    """The release.

    Attributes
    ----------
    shard_bytes : int
        Largest size of a shard, as stored.
    interval_start, interval_end : str or None
        The interval that the run covers, ISO 8601 with offset. Its parent is the release whose interval ends where
        this one starts; CURRENT never moves back to an earlier one.
    """

    shard_bytes: int = 256 << 20
    interval_start: str | None = None
    interval_end: str | None = None


@dataclass(frozen=True)
class ForgetOptions:
    """Forgetting users; see docs/forget.md.

    Attributes
    ----------
    key : str or None
        File of the secret key that tombstones are made under, 32 bytes or more in hexadecimal. None = what
        AFTERWORD_TOMBSTONE_KEY names, else <out>/tombstones/key, which is made when it is first needed.
    """

    key: str | None = None


@dataclass(frozen=True)
class ModelsOptions:
    """Models that were fitted before.

    Attributes
    ----------
    file : str or None
        A `models.json`, or the output folder of a run whose models are meant. Stage train takes them as they are, and
        fits none: a day's log is judged by the models of the week. Sections `sample`, `chain` and `train` have no say
        then. Users whom they were fitted on are judged out of fold, as ever.
    """

    file: str | None = None


@dataclass(frozen=True)
class Config:
    """All sections."""

    ingest: IngestOptions = field(default_factory=IngestOptions)
    ontology: OntologyOptions = field(default_factory=OntologyOptions)
    filters: FilterOptions = field(default_factory=FilterOptions)
    privacy: PrivacyOptions = field(default_factory=PrivacyOptions)
    shuffle: ShuffleOptions = field(default_factory=ShuffleOptions)
    workers: WorkerOptions = field(default_factory=WorkerOptions)
    signals: SignalOptions = field(default_factory=SignalOptions)
    sample: SampleOptions = field(default_factory=SampleOptions)
    chain: ChainOptions = field(default_factory=ChainOptions)
    train: TrainOptions = field(default_factory=TrainOptions)
    models: ModelsOptions = field(default_factory=ModelsOptions)
    curate: CurateOptions = field(default_factory=CurateOptions)
    gates: GatesOptions = field(default_factory=GatesOptions)
    release: ReleaseOptions = field(default_factory=ReleaseOptions)
    forget: ForgetOptions = field(default_factory=ForgetOptions)
    events: EventsOptions = field(default_factory=EventsOptions)

    def resolved(self) -> dict[str, Any]:
        """Every key with its value, for the manifest, less those that do not change what comes out.

        Of a file its name alone: what comes out hangs on its content, and not on where it lies.
        """
        out = dataclasses.asdict(self)
        del out["shuffle"], out["workers"], out["events"], out["forget"]
        # A path says nothing of what is there; the contents of the files are in the identity.
        del out["curate"]["decontaminate"]
        for name in _FILES:
            section, key = name.split(".")
            out[section][key] = None if out[section][key] is None else name_of(out[section][key])
        return out
