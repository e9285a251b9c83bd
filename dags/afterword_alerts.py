"""Who is told when a gate fails: the task's log always, and a webhook where the variable afterword_alert_url names one.

An alert tells gate, domain and advice; figures and names, never a user's words.
"""

from __future__ import annotations

import json
import logging
import urllib.request
from collections.abc import Mapping
from typing import Any

from afterword_area import StoreError, failed_gates

GATE_FAILED = 4
_TIMEOUT_SECONDS = 10

log = logging.getLogger("airflow.task")


def on_failure(context: Mapping[str, Any]) -> None:
    """Callback of a task that failed for good."""
    error = context.get("exception")
    told: dict[str, Any] = {"event": "task_failed", **_where(context), "error": str(error)}
    # The gates that lie in the output folder are of stage release; where another one failed, of an earlier release.
    if getattr(error, "exit_code", None) == GATE_FAILED and error.stage == "release":
        told |= {"event": "gate_failed", "gates": _gates(error.out)}
    alert(told)


def on_quarantine(context: Mapping[str, Any], release_id: str, quarantined: Mapping[str, Any]) -> None:
    """Of a release without the new examples of some domains."""
    domains = [{"domain": name, **entry} for name, entry in quarantined.items()]
    alert({"event": "domains_quarantined", **_where(context), "release_id": release_id, "domains": domains})


def alert(told: Mapping[str, Any]) -> None:
    """Say it in the log, and to the webhook; one that does not answer fails nothing."""
    from airflow.sdk import Variable

    log.error("afterword alert: %s", text(told))
    url = Variable.get("afterword_alert_url", default="")
    if not url:
        return
    if not url.startswith(("https://", "http://")):
        log.error("afterword_alert_url: an address that begins with https:// or http:// is wanted; nothing was sent")
        return
    data = json.dumps({"text": text(told), **told}).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS):
            pass
    except Exception as error:
        log.error("afterword_alert_url: the alert was not delivered (%s: %s)", type(error).__name__, error)


def text(told: Mapping[str, Any]) -> str:
    """An alert as a message of a few lines, as chat services show the field `text`."""
    lines = [f"{told['dag']} {told['day']}, task {told['task']}: {str(told['event']).replace('_', ' ')}"]
    if "error" in told:
        lines.append(str(told["error"]))
    for gate in told.get("gates", ()):
        lines.append(f"- gate {gate['gate']}" + (f": {', '.join(gate['domains'])}" if gate["domains"] else ""))
    for entry in told.get("domains", ()):
        lines += [
            f"- domain {entry['domain']}: gate {check['gate']}: {check['observed']}, bound {check['bound']}"
            for check in entry["checks"]
        ]
        lines.append(f"  {entry['withheld']} new examples left out, {entry['carried']} carried over; {entry['advice']}")
    return "\n".join(lines)


def _where(context: Mapping[str, Any]) -> dict[str, str]:
    ti, start = context["task_instance"], context.get("data_interval_start")
    return {"dag": ti.dag_id, "task": ti.task_id, "run": ti.run_id, "day": str(start)[:10]}


def _gates(out: str) -> list[dict[str, Any]]:
    try:
        failed = failed_gates(out)
    except StoreError as error:
        log.error("the gates were not read: %s", error)
        return []
    keys = ("gate", "scope", "expectation", "arguments", "observed")
    return [{k: gate[k] for k in keys} | {"domains": gate.get("failing", {})} for gate in failed]
