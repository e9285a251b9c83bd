"""SharedConversation: a conversation in which users of both sides of the split speak."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from schemas.record import Column, Record

SHARED_CONVERSATION: Final = Record(
    name="shared_conversation",
    version=1,
    key=("conversation",),
    meaning="A conversation in which users of both sides of the split speak: its turns of test cast no vote.",
    columns=(Column("conversation", pa.int64(), "64-bit hash of the conversation id", None, False, "key"),),
)
