"""From votes to examples: pooled over distinct users, one an utterance and split.

The aggregation is that of self-annotation by paraphrase (Falke et al. 2020): keep a label that enough users support
and that enough of the utterance's users agree on. An agent's answers are pooled only where the words, what they got and
the context are the same; several answers to the same words may stand side by side, and so may several things that were
found wrong.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from features.hashing import conversation_pseudonyms, hash128_hex, join, pseudonyms, strings
from features.interpretation import list_offsets
from features.text import flat
from models.correction import DECIMALS
from schemas import EXAMPLE, FAULT_KINDS, LABEL_KINDS, LEAST_USERS, TOOL_DOMAIN
from schemas.example import PROVENANCE

# Between locale, words and an answer's context in `pool_key`.
KEY_SEPARATOR: Final = "\x1f"


@dataclass(frozen=True)
class PoolOptions:
    """What an example needs.

    Attributes
    ----------
    min_users : int
    min_agreement : float
    answer_min_users : int
        In place of the two above where the vote is for an answer.
    defect_model_id, correction_model_id : str
    reject_min_users : int
        The same where it is against something.
    """

    min_users: int
    min_agreement: float
    answer_min_users: int
    defect_model_id: str
    correction_model_id: str
    reject_min_users: int = 1

    def least_users(self, kinds: pd.Series) -> npt.NDArray[np.int64]:
        """Users that an example of each kind needs, shape (n,)."""
        return np.array([getattr(self, LEAST_USERS[kind]) for kind in kinds], np.int64)


def pool(votes: pa.Table, options: PoolOptions) -> tuple[pa.Table, dict[str, int]]:
    """Examples of the votes of whole utterances, and what became of each vote.

    Within a split, an utterance has at most one example of what it means: the label that most distinct users support
    (then the more probable, then the lower id). Users are counted inside the split. An utterance that train has leaves
    test; an agent's does where train has the same words in the same context. Nothing is rejected that at least as many
    users have for right.

    Parameters
    ----------
    votes : pyarrow.Table
        VOTE rows; all votes of an utterance are in one table.
    options : PoolOptions

    Returns
    -------
    examples : pyarrow.Table
        EXAMPLE rows, sorted by example_id.
    outcomes : dict
        `kept` (votes that became an example, one each), `de_duplicated` (further votes for it), `outvoted`,
        `below_support`, `disagreement`, `contradicted`, `in_train`; they add up to the votes.
    """
    if not votes.num_rows:
        return EXAMPLE.empty(), {}
    # Sums of floats depend on their order, and a shuffle has none.
    votes = votes.sort_by("turn_id")
    frame, labels = standing(votes, options)
    outcome = labels["outcome"].to_numpy()[frame["label"].to_numpy()]
    kept = labels[labels["outcome"] == "kept"]
    outcomes = {str(k): int(v) for k, v in pd.Series(outcome).value_counts().items()}
    outcomes["de_duplicated"] = outcomes.get("kept", 0) - len(kept)
    outcomes["kept"] = len(kept)
    return _examples(votes, frame, kept, options), outcomes


def standing(votes: pa.Table, options: PoolOptions) -> tuple[pd.DataFrame, pd.DataFrame]:
    """How each label of whole utterances stands: its support, its agreement, and what becomes of it.

    Parameters
    ----------
    votes : pyarrow.Table
        VOTE rows sorted by turn_id; all votes of an utterance are in one table.
    options : PoolOptions

    Returns
    -------
    frame : pandas.DataFrame
        Scalars of the votes, in order; `label` is the vote's row of `labels`.
    labels : pandas.DataFrame
        `split, pool_key, label_id, kind, support, users, probability, agreement, wins, outcome`.
    """
    frame = _frame(votes)
    labels = _labels(frame)
    labels["outcome"] = np.select(
        # Where several may stand side by side the agreement is missing, and so under no minimum.
        [
            ~labels["wins"],
            labels["support"] < options.least_users(labels["kind"]),
            labels["agreement"] < options.min_agreement,
        ],
        ["outvoted", "below_support", "disagreement"],
        "kept",
    )
    _settle(labels)
    return frame, labels


def _settle(labels: pd.DataFrame) -> None:
    """Take back what other examples of the same words rule out."""
    # The same words under another locale are the same words. Behind those of an agent stands its context.
    words = labels["pool_key"].str.partition(KEY_SEPARATOR)[2]
    apart = labels["kind"].isin(("preference", "rejection"))
    words = words.mask(apart, words.str.rpartition(KEY_SEPARATOR)[0])
    labels.loc[_contradicted(labels, apart), "outcome"] = "contradicted"
    kept = labels["outcome"] == "kept"
    leaks = kept & (labels["split"] == "test") & words.isin(words[kept & (labels["split"] == "train")])
    labels.loc[leaks, "outcome"] = "in_train"


def _contradicted(labels: pd.DataFrame, apart: pd.Series) -> pd.Series:
    """What is rejected although at least as many users have it for right, in any split and whether released or not."""
    plain = labels["pool_key"].str.split(KEY_SEPARATOR).str[1]
    right = labels["support"].groupby([plain, labels["right_id"]]).max().rename("for")
    wrong = pd.MultiIndex.from_arrays([plain, labels["rejected_id"]])
    in_favour = right.reindex(wrong).to_numpy()
    return apart & (labels["outcome"] == "kept") & (np.nan_to_num(in_favour) >= labels["support"])


def _frame(votes: pa.Table) -> pd.DataFrame:
    """Scalars of the votes, with `label` numbering (split, utterance, label id)."""
    names = [
        "turn_id",
        "subject_id",
        "split",
        "pool_key",
        "label_id",
        "utterance",
        "kind",
        "blame",
        "probability",
        "certified",
        "rejected_id",
        "right_id",
    ]
    # Ids do not survive as floats, so nulls are told apart before.
    frame = votes.select(names).to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get)
    frame["label_id"] = frame["label_id"].astype(np.int64)
    frame["label"] = frame.groupby(["split", "pool_key", "label_id"], sort=True).ngroup()
    return frame


def _labels(frame: pd.DataFrame) -> pd.DataFrame:
    """One row a label: support, agreement, and whether it wins its utterance. Index = `frame.label`.

    A label's votes are all for an answer, all preferences, all rejections, or none is: their pool keys differ in form.
    """
    utterance = ["split", "pool_key"]
    users = frame.drop_duplicates([*utterance, "subject_id"]).groupby(utterance).size().rename("users")
    per_label = frame.groupby("label")
    labels = per_label.first()[[*utterance, "label_id"]]
    labels["support"] = frame.drop_duplicates(["label", "subject_id"]).groupby("label").size()
    labels["probability"] = per_label["probability"].mean().round(DECIMALS)
    labels = labels.join(users, on=utterance)
    labels["agreement"] = (labels["support"] / labels["users"]).round(DECIMALS)
    ranked = labels.sort_values(
        [*utterance, "support", "probability", "label_id"], ascending=[True, True, False, False, True]
    )
    labels["wins"] = ~ranked.duplicated(utterance).reindex(labels.index)
    labels["kind"] = per_label["kind"].first()
    # Of a rejection or a preference all votes are against the same.
    labels[["right_id", "rejected_id"]] = per_label[["right_id", "rejected_id"]].first()
    several = ~labels["kind"].isin(LABEL_KINDS)
    labels["wins"] |= several
    labels["agreement"] = labels["agreement"].mask(several)
    labels["solve_rate"] = frame["kind"].eq("confirmation").groupby(frame["label"]).mean().round(DECIMALS)
    return labels


def _examples(votes: pa.Table, frame: pd.DataFrame, kept: pd.DataFrame, options: PoolOptions) -> pa.Table:
    if not len(kept):
        return EXAMPLE.empty()
    rows = frame[frame["label"].isin(kept.index)]
    group = pd.Series(np.arange(len(kept)), index=kept.index).reindex(rows["label"]).to_numpy()
    corrected = rows["kind"].eq("correction").to_numpy()
    faulty = rows["kind"].isin(FAULT_KINDS).to_numpy()
    kinds = _kinds(kept, group, corrected)
    contents = _contents(votes, _typical(rows, group)) | {"rejected": _rejected(votes, rows, group)}
    examples = {
        "example_id": pa.array(_example_ids(kept, kinds), pa.string()),
        **contents,
        **_figures(kept, strings(contents["domain"])),
        "kind": pa.array(kinds, pa.string()),
        "blame": pa.array(_most_frequent(rows["blame"].where(faulty, "none"), group, faulty), pa.string()),
        "certified": _certified(rows, group, faulty),
        "provenance": _provenance(votes, rows, group, options),
        "split": pa.array(kept["split"].astype(object).to_numpy(), pa.string()),
    }
    return EXAMPLE.conform(pa.table(examples)).sort_by("example_id")


def _kinds(
    kept: pd.DataFrame, group: npt.NDArray[np.int64], corrected: npt.NDArray[np.bool_]
) -> npt.NDArray[np.object_]:
    """Kind of each example; one turn that was corrected makes a correction of it."""
    any_corrected = pd.Series(corrected).groupby(group).any().to_numpy()
    named = kept["kind"].to_numpy(object)
    several = ~np.isin(named, LABEL_KINDS)
    return np.select([several, any_corrected], [named, "correction"], "confirmation").astype(object)


def _certified(
    rows: pd.DataFrame, group: npt.NDArray[np.int64], faulty: npt.NDArray[np.bool_]
) -> npt.NDArray[np.bool_]:
    """Whether each example has votes of defective turns, and all of them are certified."""
    any_faulty = pd.Series(faulty).groupby(group).any()
    all_certified = pd.Series(~faulty | rows["certified"].to_numpy(bool)).groupby(group).all()
    return (any_faulty & all_certified).to_numpy()


def _contents(votes: pa.Table, typical: npt.NDArray[np.int64]) -> dict[str, pa.Array | pa.ChunkedArray]:
    """What each example's typical turn says and got."""
    at = pa.array(typical)
    label = flat(votes["label"]).take(at)
    slots = pc.struct_field(label, "slots")
    taken = {name: votes[name].take(at) for name in ("locale", "utterance", "response", "context")}
    return taken | {
        "domain": pc.struct_field(label, "domain"),
        "intent": pc.struct_field(label, "intent"),
        "slots": pc.if_else(pc.is_valid(slots), slots, pa.scalar([], slots.type)),
    }


def _figures(kept: pd.DataFrame, domain: npt.NDArray[np.object_]) -> dict[str, pa.Array]:
    """How each example stands in the pool."""
    # Tool calls that went well are answers, so the pooled turns of a corrected one do not tell how often it does.
    unsolved = ~kept["kind"].isin(LABEL_KINDS).to_numpy() | (domain == TOOL_DOMAIN)
    return {
        "confidence": pa.array(kept["probability"].to_numpy()),
        "support": pa.array(kept["support"].to_numpy(), pa.int32()),
        "agreement": pa.array(kept["agreement"].to_numpy(), from_pandas=True),
        "solve_rate": pa.array(kept["solve_rate"].to_numpy(), mask=unsolved),
        "weight": pa.array(kept["probability"].to_numpy()),
    }


def _example_ids(kept: pd.DataFrame, kinds: npt.NDArray[np.object_]) -> npt.NDArray[np.object_]:
    """An example is named by its split, its utterance, its label and its kind."""
    named = (kept[name].astype(str).astype(object).to_numpy() for name in ("split", "pool_key", "label_id"))
    return hash128_hex(join(*named, kinds))


def _typical(rows: pd.DataFrame, group: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Row in `votes` of each example's typical turn: its most frequent wording, then the lowest turn id."""
    wording = rows.assign(group=group, at=rows.index)
    wording["times"] = wording.groupby(["group", "utterance"])["at"].transform("size")
    ordered = wording.sort_values(["group", "times", "utterance", "turn_id"], ascending=[True, False, True, True])
    return ordered.drop_duplicates("group")["at"].to_numpy()


def _rejected(votes: pa.Table, rows: pd.DataFrame, group: npt.NDArray[np.int64]) -> pa.Array:
    """What each example's turns did and was wrong: the most frequent, then the lowest turn id's; null = nothing."""
    held = rows.assign(group=group, at=rows.index)[rows["rejected_id"].notna().to_numpy()]
    held["times"] = held.groupby(["group", "rejected_id"])["at"].transform("size")
    ordered = held.sort_values(["group", "times", "turn_id"], ascending=[True, False, True])
    first = ordered.drop_duplicates("group")
    at = np.full(int(group.max()) + 1, -1, np.int64)
    at[first["group"].to_numpy()] = first["at"].to_numpy()
    return flat(votes["rejected"]).take(pa.array(np.maximum(at, 0), mask=at < 0))


def _most_frequent(
    values: pd.Series, group: npt.NDArray[np.int64], counted: npt.NDArray[np.bool_]
) -> npt.NDArray[np.object_]:
    """Most frequent value a group over the counted rows (ties: the first by name); `none` where none is counted."""
    out = np.full(int(group.max()) + 1, "none", dtype=object)
    table = pd.DataFrame({"group": group, "value": values.astype(object).to_numpy()})[counted]
    sizes = table.groupby(["group", "value"]).size().rename("n").reset_index()
    best = sizes.sort_values(["group", "n", "value"], ascending=[True, False, True]).drop_duplicates("group")
    out[best["group"].to_numpy()] = best["value"].to_numpy()
    return out


def _provenance(votes: pa.Table, rows: pd.DataFrame, group: npt.NDArray[np.int64], options: PoolOptions) -> pa.Array:
    n = int(group.max()) + 1

    def united(column: str) -> pa.ListArray:
        lists = flat(votes[column]).take(pa.array(rows.index.to_numpy()))
        return _lists(np.repeat(group, np.diff(list_offsets(lists))), pd.Series(strings(lists.flatten())), n)

    # A name is made of each distinct id once.
    subject = flat(votes["subject_id"]).take(pa.array(rows.index.to_numpy())).dictionary_encode()
    subjects = pseudonyms(strings(subject.dictionary))[subject.indices.to_numpy()]
    talks = flat(votes["conversations"]).take(pa.array(rows.index.to_numpy()))
    talk = talks.flatten().dictionary_encode()
    conversations = conversation_pseudonyms(strings(talk.dictionary))[talk.indices.to_numpy()]
    columns = [
        _lists(group, rows["turn_id"], n),
        united("supporting_turns"),
        united("domains"),
        pa.repeat(options.defect_model_id, n),
        pa.repeat(options.correction_model_id, n),
        united("policies"),
        united("licences"),
        _lists(group, pd.Series(subjects), n),
        _lists(np.repeat(group, np.diff(list_offsets(talks))), pd.Series(conversations), n),
    ]
    return pa.StructArray.from_arrays(columns, fields=list(PROVENANCE))


def _lists(group: npt.NDArray[np.int64], values: pd.Series, n: int) -> pa.ListArray:
    """Distinct values of each group, sorted, as n lists."""
    table = pd.DataFrame({"group": group, "value": values.astype(object).to_numpy()})
    table = table.drop_duplicates().sort_values(["group", "value"])
    ends = np.cumsum(np.bincount(table["group"].to_numpy(np.int64), minlength=n))
    offsets = pa.array(np.concatenate([[0], ends]), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.array(table["value"].to_numpy(), pa.string()))
