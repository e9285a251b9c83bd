"""Evaluate a suite of expectations with Great Expectations, in this process and without a network."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any, Final

import pandas as pd
import pyarrow as pa

from models.correction import DECIMALS
from pipeline.errors import GateError
from pipeline.imports import imported
from schemas.expectations import WHOLE, Expectation, Setting, Suite

_STATE: Final = "Nothing was published; the last release stays current"


def evaluate(
    suite: Suite, table: pa.Table, settings: Mapping[str, Mapping[str, Any]], library: Library | None = None
) -> list[dict[str, Any]]:
    """Gate rows of a suite, one an expectation in the suite's order, and one that says that all were evaluated.

    Parameters
    ----------
    suite : Suite
    table : pyarrow.Table
        Rows of `suite.record`.
    settings : mapping
        Section to key to value: the configuration, and `rows`.
    library : Library, optional
        Keeps what was found for its pages; a new one otherwise.

    Returns
    -------
    list of dict
        `gate` (suite and name), `scope`, `passed`, `expectation`, `arguments`, `observed` (either `unexpected` of
        `rows` or a `value`); of a suite that names its rows also `failing`, name to value. Nothing in them carries a
        clock or an id of the library.

    Raises
    ------
    GateError
        If an expectation raised, gave nothing, or is missing from the results.
    """
    wanted = {e.name: filled(e.kwargs, settings) for e in suite.expectations}
    if len(wanted) != len(suite.expectations):
        raise GateError(f"gate {suite.name}: two expectations have one name. {_STATE}")
    library = library or Library()
    results = library.validate(suite, wanted, table.to_pandas())
    rows = [_row(suite, e, wanted[e.name], results.get(e.name)) for e in suite.expectations]
    told = {"configured": len(wanted), "evaluated": len(results)}
    if told["configured"] != told["evaluated"]:
        raise GateError(
            f"gate {suite.name}: {told['evaluated']} of {told['configured']} expectations were evaluated. {_STATE}"
        )
    whole = {"gate": f"{suite.name}: every expectation was evaluated", "scope": WHOLE, "passed": True, **told}
    library.rows += [*rows, whole]
    return [*rows, whole]


class Library:
    """Great Expectations in memory: no progress bars, nothing sent; pages only where a folder for them is given.

    Parameters
    ----------
    pages : str, optional
        Local folder that `build` writes Data Docs to.
    """

    def __init__(self, pages: str | None = None) -> None:
        # Imported here, since it takes seconds; told first that no usage data is to be sent.
        os.environ["GX_ANALYTICS_ENABLED"] = "false"
        gx = imported("great_expectations")
        from great_expectations.data_context.types.base import (
            DataContextConfig,
            InMemoryStoreBackendDefaults,
            ProgressBarsConfig,
        )

        logging.getLogger("great_expectations").setLevel(logging.ERROR)
        config = DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
            data_docs_sites={"pages": _site(pages)} if pages else {},
            progress_bars=ProgressBarsConfig(globally=False, metric_calculations=False),
            analytics_enabled=False,
        )
        self._gx, self._pages = gx, pages
        # Gate rows of all suites that were evaluated, for the index of the pages.
        self.rows: list[dict[str, Any]] = []
        self._context = gx.get_context(mode="ephemeral", project_config=config)
        self._source = self._context.data_sources.add_pandas("tables")

    def validate(self, suite: Suite, wanted: Mapping[str, dict[str, Any]], frame: pd.DataFrame) -> dict[str, Any]:
        """The library's results by the name of the expectation; `wanted` are the arguments of each.

        Raises
        ------
        GateError
            If the library raises.
        """
        try:
            found = self._run(suite, wanted, frame)
        except Exception as error:
            # The library raises what its parts raise; whatever it is, the gate did not run.
            raise GateError(
                f"gate {suite.name}: cannot be evaluated ({type(error).__name__}: {str(error).strip()[:300]}). {_STATE}"
            ) from error
        return {result.expectation_config.meta["gate"]: result for result in found.results}

    def _run(self, suite: Suite, wanted: Mapping[str, dict[str, Any]], frame: pd.DataFrame) -> Any:
        from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

        gx, context = self._gx, self._context
        times = {n for n in frame.columns if isinstance(frame[n].dtype, pd.DatetimeTZDtype)}
        expectations = [
            ExpectationConfiguration(
                type=e.type, kwargs=_typed(wanted[e.name], times), meta={"gate": e.name, "notes": e.name}
            ).to_domain_obj()
            for e in suite.expectations
        ]
        whole = self._source.add_dataframe_asset(suite.name).add_batch_definition_whole_dataframe("whole")
        listed = context.suites.add(gx.ExpectationSuite(name=suite.name, expectations=expectations))
        definition = gx.ValidationDefinition(name=suite.name, data=whole, suite=listed)
        checked = gx.Checkpoint(
            name=suite.name,
            validation_definitions=[context.validation_definitions.add(definition)],
            result_format=_result_format(suite),
        )
        (found,) = context.checkpoints.add(checked).run({"dataframe": frame}).run_results.values()
        return found

    def build(self) -> None:
        """Write the pages of all that was validated."""
        if self._pages:
            self._context.build_data_docs()


def _site(folder: str) -> dict[str, Any]:
    return {
        "class_name": "SiteBuilder",
        "show_how_to_buttons": False,
        "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": folder},
        "site_index_builder": {"class_name": "DefaultSiteIndexBuilder", "show_cta_footer": False},
    }


def filled(kwargs: Mapping[str, Any], settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Arguments of an expectation with the values of its settings.

    Parameters
    ----------
    kwargs : mapping
    settings : mapping
        As for `evaluate`.
    """

    def value(held: Any) -> Any:
        if not isinstance(held, Setting):
            return held
        section, _, key = held.key.partition(".")
        return settings[section][key]

    return {k: value(v) for k, v in kwargs.items()}


def _result_format(suite: Suite) -> dict[str, Any]:
    """Numbers only; the rows that fail are named where the table is small. An index of rows fills memory elsewhere."""
    if suite.names_rows_by is None:
        return {"result_format": "BASIC", "partial_unexpected_count": 0}
    named = {"unexpected_index_column_names": [suite.names_rows_by], "partial_unexpected_count": 0}
    return {"result_format": "COMPLETE", **named}


def _typed(kwargs: dict[str, Any], times: set[str]) -> dict[str, Any]:
    """Bounds of a column of times are times."""
    if kwargs.get("column") not in times:
        return kwargs
    return {k: pd.Timestamp(v).to_pydatetime() if k in ("min_value", "max_value") else v for k, v in kwargs.items()}


def _row(suite: Suite, expectation: Expectation, kwargs: dict[str, Any], result: Any) -> dict[str, Any]:
    name = f"{suite.name}: {expectation.name}"
    if result is None:
        raise GateError(f"gate {name}: was left out of the evaluation. {_STATE}")
    if error := _raised(result.exception_info):
        raise GateError(f"gate {name}: cannot be evaluated ({error}). {_STATE}")
    row = {
        "gate": name,
        "scope": expectation.scope,
        "passed": bool(result.success),
        "expectation": expectation.type,
        "arguments": kwargs,
        "observed": _observed(name, result.result),
    }
    if suite.names_rows_by is not None and not row["passed"]:
        row["failing"] = _failing(suite.names_rows_by, kwargs, result.result)
    return row


def _raised(info: Mapping[str, Any] | None) -> str | None:
    """What an expectation raised: told flat, or by the metric that raised it."""
    told = [info or {}, *(v for v in (info or {}).values() if isinstance(v, Mapping))]
    return next((str(t.get("exception_message")).strip()[:300] for t in told if t.get("raised_exception")), None)


def _observed(name: str, result: Mapping[str, Any]) -> dict[str, Any]:
    if "element_count" in result:
        return {"unexpected": int(result["unexpected_count"]), "rows": int(result["element_count"])}
    if result.get("observed_value") is not None:
        return {"value": _plain(result["observed_value"])}
    raise GateError(f"gate {name}: was evaluated to nothing. {_STATE}")


def _failing(by: str, kwargs: dict[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """Name of each failing row to its value, in the order of names."""
    rows = result.get("unexpected_index_list") or []
    return {str(r[by]): _plain(r[kwargs["column"]]) for r in sorted(rows, key=lambda r: str(r[by]))}


def _plain(value: Any) -> Any:
    """A number or a text as JSON has it, floats rounded."""
    held = value.item() if hasattr(value, "item") else value
    return round(held, DECIMALS) if isinstance(held, float) else held
