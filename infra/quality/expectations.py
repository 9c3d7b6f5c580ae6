"""Great Expectations: evaluates the gate's checks on Spark.

Every check is a custom expectation over one metric, which is an aggregate. Great Expectations computes all metrics of
a suite in one pass. If that fails it computes each metric alone, so each check that crashes is reported by name.
Importing this module takes seconds: import it only where it is needed.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import great_expectations as gx
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.core.metric_function_types import MetricPartialFunctionTypes
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metadata_types import FailureSeverity
from great_expectations.expectations.metrics.metric_provider import metric_partial, metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.validator.metric_configuration import MetricConfiguration
from great_expectations.validator.v1_validator import Validator
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.gate_checks import FRAME, NO_RESULT, CheckOutcome, GateCheck, holds
from infra.library_errors import first_line

_LOG = logging.getLogger("great_expectations")
_LOGGERS = (_LOG, logging.getLogger("py.warnings"), PySparkLogger.getLogger("SQLQueryContextLogger"))


@dataclass(frozen=True)
class SuiteRun:
    """The checks of one frame, under the name of its view or topic."""

    name: str
    frame: DataFrame
    checks: tuple[GateCheck, ...]


def evaluate_suite(suite: SuiteRun, context: Any) -> list[CheckOutcome]:
    """The outcome of every check of a suite; one that cannot be evaluated gives the reason."""
    source = context.data_sources.add_or_update_spark(name=suite.name, persist=False)
    batch = source.add_dataframe_asset(name=suite.name).add_batch_definition_whole_dataframe("whole")
    expectations = gx.ExpectationSuite(name=suite.name, expectations=list(map(_expectation, suite.checks)))
    definition = gx.ValidationDefinition(name=suite.name, data=batch, suite=context.suites.add(expectations))
    frame = {"dataframe": suite.frame}
    validation = context.validation_definitions.add(definition).run(batch_parameters=frame)
    outcomes = [_outcome(result) for result in validation.results]
    crashed = {outcome.name for outcome in outcomes if outcome.crash}
    if len(crashed) < 2:
        return outcomes
    # In one pass all checks that crash get the reason of the last: evaluate each of them alone.
    alone = Validator(batch, batch_parameters=frame)
    results = [alone.validate_expectation(_expectation(check)) for check in suite.checks if check.name in crashed]
    return [outcome for outcome in outcomes if not outcome.crash] + [_outcome(result) for result in results]


@contextmanager
def open_context(views: Mapping[str, DataFrame], log: Path) -> Iterator[Any]:
    """A context to evaluate suites in, whose SQL may read ``views``; only its log file stays."""
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    context.delete_data_docs_site("local_site")
    with _logged_to(log):
        for name, frame in views.items():
            frame.createOrReplaceTempView(FRAME + name)
        try:
            yield context
        finally:
            for name, frame in views.items():
                frame.sparkSession.catalog.dropTempView(FRAME + name)


@contextmanager
def _logged_to(log: Path) -> Iterator[None]:
    """Sends what the libraries would print on the terminal to a log file."""
    log.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(log, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
    before = [(logger.handlers, logger.propagate) for logger in _LOGGERS]
    for logger in _LOGGERS:
        logger.handlers, logger.propagate = [handler], False
    try:
        yield
    finally:
        for logger, (handlers, propagate) in zip(_LOGGERS, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate
        handler.close()


class _Aggregate(TableMetricProvider):
    """A Spark SQL aggregate over the whole frame, as text."""

    metric_name = "gate.aggregate"
    value_keys = ("sql",)

    @metric_partial(
        engine=SparkDFExecutionEngine,
        partial_fn_type=MetricPartialFunctionTypes.AGGREGATE_FN,
        domain_type=MetricDomainTypes.TABLE,
    )
    def _spark(cls, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> Any:  # noqa: N805 - as decorated
        return fn.expr(metric_value_kwargs["sql"]).cast("string"), metric_domain_kwargs, {}


class _RepeatedKeys(TableMetricProvider):
    """The number of keys that more than one row has. When no hash repeats, no key does; hashes are counted faster."""

    metric_name = "gate.repeated"
    value_keys = ("keys",)

    @metric_value(engine=SparkDFExecutionEngine)
    def _spark(cls, execution_engine: Any, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> str:  # noqa: N805
        rows: DataFrame = execution_engine.get_domain_records(domain_kwargs=metric_domain_kwargs)
        keys = metric_value_kwargs["keys"].split(",")
        if not repeated_keys(rows.select(fn.xxhash64(*keys).alias("_hash")), ["_hash"]).take(1):
            return "0"
        return str(repeated_keys(rows, keys).count())


class ExpectGateCheck(BatchExpectation):
    """A check of the gate, as an expectation."""

    check: str
    sql: str
    expected: str | None
    expected_sql: str
    comparison: str
    keys: str
    success_keys: ClassVar[tuple[str, ...]] = ("check", "sql", "expected", "expected_sql", "comparison", "keys")

    def get_validation_dependencies(self, execution_engine: Any = None, runtime_configuration: Any = None) -> Any:
        dependencies = super().get_validation_dependencies(execution_engine, runtime_configuration)
        value = {"keys": self.keys} if self.keys else {"sql": self.sql}
        dependencies.set_metric_configuration("observed", self._metric(value))
        if self.expected_sql:
            dependencies.set_metric_configuration("expected", self._metric({"sql": self.expected_sql}))
        return dependencies

    def _metric(self, value: dict[str, str]) -> MetricConfiguration:
        name = _RepeatedKeys.metric_name if "keys" in value else _Aggregate.metric_name
        return MetricConfiguration(name, metric_domain_kwargs={"batch_id": self.batch_id}, metric_value_kwargs=value)

    def _validate(self, metrics: dict[str, Any], *_: Any, **__: Any) -> Any:
        observed, expected = metrics["observed"], metrics.get("expected", self.expected)
        success = holds(self.comparison, observed, expected)
        return {"success": success, "result": {"observed_value": observed, "details": {"expected": expected}}}


def repeated_keys(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The keys that more than one row has, null-safe."""
    return rows.groupBy(*keys).agg(fn.count(fn.lit(1)).alias("_times")).where("_times > 1").select(*keys)


def _expectation(check: GateCheck) -> ExpectGateCheck:
    return ExpectGateCheck(
        check=check.name,
        sql=check.sql,
        expected=check.expected,
        expected_sql=check.expected_sql,
        comparison=check.comparison,
        keys=",".join(check.keys),
        severity=FailureSeverity(check.severity),
    )


def _outcome(result: Any) -> CheckOutcome:
    check = result.expectation_config.kwargs["check"]
    crash = _crash(result.exception_info)
    if crash or not result.result:
        return CheckOutcome(check, success=False, crash=crash or NO_RESULT)
    values = result.result
    return CheckOutcome(check, bool(result.success), values["observed_value"], values["details"]["expected"])


def _crash(info: Mapping[str, Any]) -> str:
    """Why a check could not be evaluated, in one line; the tracebacks go to the log."""
    exceptions = [info] if "raised_exception" in info else list(info.values())
    raised = [exception for exception in exceptions if exception["raised_exception"]]
    for exception in raised:
        _LOG.error("a check of the gate crashed: %s", exception["exception_traceback"])
    return first_line(raised[0]["exception_message"]) if raised else ""
