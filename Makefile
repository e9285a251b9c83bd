# The commands of docs/contributing.md. `make install` makes .venv with the locked versions; nothing else is touched.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
DATA   ?= ../shared/data
OUT    ?= out/quality.json
STAMP   = $(VENV)/.installed

.PHONY: demo docs install test test-all lint types lock golden bench-quality bench-loop bench-ablation bench-audit bench-memory \
        bench-speed bench-scale bench-dedup bench-privacy bench-cost bench-spark crash clean airflow test-airflow lock-airflow spark \
        test-spark

# Two commands are enough to see it: `make demo`, `make test`.
demo: install
	$(BIN)/python examples/demo.py out/demo

install: $(STAMP)

$(STAMP): requirements.lock pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $@

test: install
	$(BIN)/python -m pytest -n 2 -m "not long and not spark"

test-all: install
	$(BIN)/python -m pytest -n 2 -m "not spark"

# Wants a JDK 17 and Maven; keeps what it has until spark/pom.xml changes.
spark: .spark/.fetched

.spark/.fetched: spark/pom.xml spark/class_path_jar.py
	rm -rf .spark/jars .spark/new .spark/.fetched
	mvn --batch-mode --quiet --file spark/pom.xml \
	    org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies -DoutputDirectory=$(CURDIR)/.spark/new
	mv .spark/new .spark/jars
	$(PYTHON) spark/class_path_jar.py .spark/jars .spark/job-server.jar
	touch $@

test-spark: install spark
	$(BIN)/python -m pytest -n 0 -m spark tests/spark

# The command, killed at 200 random moments: an hour or so.
crash: install
	KILLS=200 $(BIN)/python -m pytest -n 0 tests/crash

# Airflow in an environment and a home of its own, .airflow/: its versions do not go with Beam's.
AIRFLOW     = .airflow/venv/bin
AIRFLOW_ENV = set -a; . dags/airflow.env; AIRFLOW_HOME=$(CURDIR)/.airflow/home; \
              AIRFLOW__CORE__DAGS_FOLDER=$(CURDIR)/dags; set +a;

airflow: .airflow/.installed

.airflow/.installed: dags/requirements.lock dags/airflow.env
	test -x $(AIRFLOW)/python || $(PYTHON) -m venv .airflow/venv
	$(AIRFLOW)/python -m pip install --quiet --disable-pip-version-check --requirement dags/requirements.lock
	$(AIRFLOW_ENV) $(AIRFLOW)/airflow db migrate
	$(AIRFLOW_ENV) $(AIRFLOW)/airflow pools set afterword 1 "work area of afterword"
	touch $@

# The DAGs run the command of .venv, in a home of their own below pytest's temporary folder.
test-airflow: airflow install
	AFTERWORD_PYTHON=$(CURDIR)/$(BIN)/python $(AIRFLOW)/python -m pytest -n 2 --dist worksteal --confcutdir tests/dags tests/dags

# As `make lock`, for Airflow.
lock-airflow:
	uv pip compile --universal --python-version 3.10 --no-emit-index-url --no-annotate --no-header --quiet \
	    --output-file dags/requirements.lock dags/requirements.in

lint: install
	$(BIN)/ruff check .

types: install
	$(BIN)/mypy

# Only when the versions are to change. Needs uv; writes no addresses.
lock:
	uv pip compile --universal --python-version 3.11 --extra dev --extra simulate --no-emit-index-url --no-annotate --no-header \
	    --quiet --output-file requirements.lock pyproject.toml

docs: install
	$(BIN)/python -m pipeline.reference docs

golden: install
	$(BIN)/python -m tests.golden_files

bench-quality: install
	$(BIN)/python -m bench.quality --data $(DATA) --out $(OUT)

bench-loop: OUT = out/loop.json
bench-loop: install
	$(BIN)/python -m bench.loop --data $(DATA) --out $(OUT)

bench-ablation: OUT = out/ablation.json
bench-ablation: install
	$(BIN)/python -m bench.ablation --data $(DATA) --out $(OUT)

bench-audit: install
	$(BIN)/python -m bench.audit --out out/audit.json

bench-memory: install
	$(BIN)/python -m bench.memory --out out/memory.json

bench-privacy: OUT = out/privacy.json
bench-privacy: install
	$(BIN)/python -m bench.privacy --out $(OUT)

bench-speed: OUT = out/speed.json
bench-speed: install
	$(BIN)/python -m bench.speed --out $(OUT)

bench-cost: install
	$(BIN)/python -m bench.cost --out out/cost.json

bench-spark: OUT = out/spark.json
bench-spark: install spark
	$(BIN)/python -m bench.spark --out $(OUT)

bench-scale: install
	$(BIN)/python -m bench.scale --out out/scale.json

bench-dedup: install
	$(BIN)/python -m bench.near_duplicates --data $(DATA) --exact 12000 50000 200000 --out out/near_duplicates.json
	$(BIN)/python -m bench.duplicate_cost --data $(DATA) --out out/duplicate_cost.json

clean:
	rm -rf $(VENV) .airflow out build dist *.egg-info
