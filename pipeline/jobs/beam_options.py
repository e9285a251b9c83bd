"""Beam's options, which keep their views."""

from __future__ import annotations

from typing import Any

from apache_beam.options.pipeline_options import PipelineOptions


class Options(PipelineOptions):
    """Beam's options, each view of them made once.

    Beam asks for a view at every step of a graph, some 3,000 times a run, and parses all flags for each anew: a second
    and more of a run over any log. All views of an object share its values, so one that is kept tells of every change.
    """

    def view_as(self, cls: Any) -> Any:
        """A view, as Beam makes it."""
        views = self.__dict__.setdefault("_views", {})
        if cls not in views:
            views[cls] = super().view_as(cls)
        return views[cls]

    def __getstate__(self) -> dict[str, Any]:
        """What a copy is made of. Beam leaves an impersonated account out of its values, which kept views would not."""
        return {name: value for name, value in super().__getstate__().items() if name != "_views"}
