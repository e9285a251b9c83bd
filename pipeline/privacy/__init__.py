"""Redaction: what identifies a person by its form is replaced by a mark before anything is written to disk.

`Redactor` is given what a reader read, checked; docs/privacy.md says what it finds, where, and what it cannot find.
"""

from __future__ import annotations

from pipeline.privacy.options import PrivacyOptions
from pipeline.privacy.redact import Redacted, Redactor

__all__ = ["PrivacyOptions", "Redacted", "Redactor"]
