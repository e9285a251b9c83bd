"""`--runner=SparkRunner`: what would download, or could not start, is refused with the ways that work."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from pipeline.errors import AfterwordError, ConfigError
from pipeline.jobs import spark
from pipeline.jobs.context import pipeline_options
from pipeline.jobs.endpoint import job_endpoint
from pipeline.jobs.remote import rooted

ROOT = Path(__file__).parents[3]
RUNNER = "--runner=SparkRunner"


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    path = tmp_path / "server.jar"
    path.write_bytes(b"no jar")
    return path


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "tries to download a job server"),
        (["--spark_job_server_jar=absent.jar"], "no such file"),
        (["--spark_job_server_jar=https://host/server.jar"], "would be downloaded"),
        (["--spark_submit_uber_jar", "--spark_rest_url=http://host:6066"], "not made here"),
    ],
)
def test_what_cannot_work_is_refused_with_the_ways_that_do(options: list[str], said: str):
    with pytest.raises(ConfigError, match=said) as refused:
        pipeline_options([RUNNER, *options])
    assert "make spark" in str(refused.value)
    assert "--runner=PortableRunner --job_endpoint=" in str(refused.value)


def test_a_jar_that_is_there_is_taken_where_there_is_java(jar: Path):
    named = f"--spark_job_server_jar={jar}"
    assert spark.starts_server(pipeline_options([RUNNER, named, f"--job_server_java_launcher={sys.executable}"]))
    with pytest.raises(ConfigError, match="nojava is not there"):
        pipeline_options([RUNNER, named, "--job_server_java_launcher=nojava"])


def test_with_an_endpoint_no_server_is_started():
    options = pipeline_options([RUNNER, "--job_endpoint=host:1"])
    assert not spark.starts_server(options)
    assert job_endpoint(options) == "host:1"


def test_a_server_that_does_not_start_is_told_with_its_jar(jar: Path):
    # The interpreter takes the place of Java: it knows no -jar, and ends.
    named = [f"--spark_job_server_jar={jar}", f"--job_server_java_launcher={sys.executable}"]
    with pytest.raises(AfterwordError, match=r"server\.jar did not start"):
        job_endpoint(pipeline_options([RUNNER, *named]))
    spark.stop_servers()


def test_workers_of_other_runners_are_given_paths_from_the_root():
    local, other = PipelineOptions(["--runner=FnApiRunner"]), PipelineOptions(["--runner=PortableRunner"])
    assert rooted(local, "logs") == "logs"
    assert rooted(other, "logs/*.gz") == f"{Path.cwd()}/logs/*.gz"
    for as_it_is in ("/logs", "gs://bucket/logs", "bq+query:a.sql"):
        assert rooted(other, as_it_is) == as_it_is


def test_the_jar_of_the_class_path_names_each_jar_in_lines_that_java_takes(tmp_path: Path):
    (tmp_path / "jars").mkdir()
    names = [f"jars/{'long-' * 20}{n}.jar" for n in range(3)]
    for name in names:
        (tmp_path / name).touch()
    made = tmp_path / "server.jar"
    subprocess.run([sys.executable, ROOT / "spark" / "class_path_jar.py", tmp_path / "jars", made], check=True)
    text = zipfile.ZipFile(made).read("META-INF/MANIFEST.MF").decode()
    assert max(map(len, text.split("\r\n"))) <= 72
    assert f"Class-Path: {' '.join(names)}" in text.replace("\r\n ", "").split("\r\n")
