"""A jar that holds nothing but the class path of Beam's Spark job server, for `--spark_job_server_jar`.

    python spark/class_path_jar.py .spark/jars .spark/job-server.jar

It names the jars by their place beside it, so it works only there.
"""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

MAIN = "org.apache.beam.runners.spark.SparkJobServerDriver"
# The longest line of a manifest; what is longer goes on behind a blank.
LINE = 72


def manifest(jars: Path, beside: Path) -> str:
    """What makes `java -jar` start the job server with all jars of a folder."""
    found = sorted(str(path.relative_to(beside)) for path in jars.glob("*.jar"))
    lines = ["Manifest-Version: 1.0", f"Main-Class: {MAIN}", f"Class-Path: {' '.join(found)}"]
    return "".join(f"{part}\r\n" for line in lines for part in folded(line)) + "\r\n"


def folded(line: str) -> list[str]:
    """A line in parts that are short enough."""
    step = LINE - 1
    return [line[:LINE], *(f" {line[at : at + step]}" for at in range(LINE, len(line), step))]


def main() -> None:
    """Write it."""
    jars, target = map(Path, sys.argv[1:])
    with zipfile.ZipFile(target, "w") as jar:
        # A stated time: the file is the same for the same jars.
        jar.writestr(zipfile.ZipInfo("META-INF/MANIFEST.MF"), manifest(jars, target.parent))


if __name__ == "__main__":
    main()
