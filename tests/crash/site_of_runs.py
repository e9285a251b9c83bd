"""What the tests of crashes share: two releases of one log, and what must hold whatever was interrupted."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from synthetic import SETTINGS, afterword, copy, tree

from pipeline.verify import verify

# What the second release is made with; the first has the defaults.
SECOND = ("--set", "curate.min_users=3")
AGAIN = ("run", "--from", "curate", *SETTINGS[2:], *SECOND)


@dataclass(frozen=True)
class Site:
    """An output folder, its two releases by id, and the bytes of the second as an undisturbed run writes them."""

    out: Path
    old: str
    new: str
    wanted: dict[str, bytes]

    @staticmethod
    def made(log: Path, out: Path) -> Site:
        """Two undisturbed runs. The second is left current."""
        assert afterword("run", "--input", log, *SETTINGS, "--out", out) == 0
        old = current(out)
        assert afterword(*AGAIN, "--out", out) == 0
        new = current(out)
        assert old != new
        return Site(out, old, new, tree(out / "releases" / new))

    def copied(self, to: Path) -> Site:
        """A copy that a test may spoil, put back to before the second release was handed over."""
        copy(self.out, to)
        site = Site(to, self.old, self.new, self.wanted)
        site.put_back()
        return site

    def put_back(self) -> None:
        """The first release is current, of the second nothing is there."""
        (self.out / "CURRENT").write_text(f"{self.old}\n")
        shutil.rmtree(self.out / "releases" / self.new, ignore_errors=True)

    def check_readers(self) -> str:
        """Readers see the old or the new release, whole; gives which. Any release with a manifest is whole."""
        named = current(self.out)
        assert named in (self.old, self.new)
        for manifest in (self.out / "releases").glob("*/manifest.json"):
            verify(str(manifest.parent))
        assert (self.out / "releases" / named / "manifest.json").exists()
        return named

    def check_finished(self) -> None:
        """The new release is current, with the bytes of an undisturbed run: nothing lost or doubled, no leftover."""
        assert self.check_readers() == self.new
        assert tree(self.out / "releases" / self.new) == self.wanted
        assert not [*(self.out / "releases").rglob(".tmp-*"), *self.out.glob(".tmp-*")]


def current(out: Path) -> str:
    """The release that readers follow."""
    return (out / "CURRENT").read_text().strip()
