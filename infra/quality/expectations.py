"""Great Expectations: asks the gate's questions on Spark, and writes what it found as pages.

Every question is an expectation of ours over one metric, which is an aggregate: Great Expectations computes all of a
suite in one pass, and each alone when that fails, so that one that crashes is known by name. Import this module where
it is needed only: it takes seconds.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import great_expectations as gx
from great_expectations.core.metric_domain_types import MetricDomainTypes
from great_expectations.core.metric_function_types import MetricPartialFunctionTypes
from great_expectations.core.run_identifier import RunIdentifier
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.expectation import BatchExpectation
from great_expectations.expectations.metadata_types import FailureSeverity
from great_expectations.expectations.metrics.metric_provider import metric_partial, metric_value
from great_expectations.expectations.metrics.table_metric_provider import TableMetricProvider
from great_expectations.render.components import LegacyRendererType, RenderedStringTemplateContent
from great_expectations.render.renderer.renderer import renderer
from great_expectations.validator.metric_configuration import MetricConfiguration
from great_expectations.validator.v1_validator import Validator
from pyspark.logger import PySparkLogger
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from core.gate_checks import FRAME, CheckAnswer, GateCheck, holds

_SITE = "gate"
_LOG = logging.getLogger("great_expectations")
_NOISY = (_LOG, logging.getLogger("py.warnings"), PySparkLogger.getLogger("SQLQueryContextLogger"))


@dataclass(frozen=True)
class SuiteRun:
    """Questions about one frame, under the name of its view, or of its topic."""

    name: str
    frame: DataFrame
    questions: tuple[GateCheck, ...]


def ask(suite: SuiteRun, context: Any, run: str) -> list[CheckAnswer]:
    """Asks every question of a suite; one that cannot be asked is answered with the reason. Pages name the ``run``."""
    source = context.data_sources.add_or_update_spark(name=suite.name, persist=False)
    whole = source.add_dataframe_asset(name=suite.name).add_batch_definition_whole_dataframe("whole")
    asked = gx.ExpectationSuite(name=suite.name, expectations=[_expectation(one) for one in suite.questions])
    named = {"name": suite.name, "data": whole, "suite": context.suites.add(asked)}
    validation = context.validation_definitions.add(gx.ValidationDefinition(**named))
    frame = {"dataframe": suite.frame}
    found = validation.run(batch_parameters=frame, run_id=RunIdentifier(run_name=run))
    answers = [_answer(one) for one in found.results]
    crashed = {answer.check for answer in answers if answer.crash}
    if len(crashed) < 2:
        return answers
    alone = Validator(whole, batch_parameters=frame)  # together, all that crash are given the reason of the last
    again = [alone.validate_expectation(_expectation(one)) for one in suite.questions if one.check in crashed]
    return [answer for answer in answers if not answer.crash] + [_answer(one) for one in again]


@contextmanager
def opened(views: Mapping[str, DataFrame], log: Path) -> Iterator[Any]:
    """A context for some suites, which may ask of these views too; nothing of it stays, but what it says in the log."""
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    context.delete_data_docs_site("local_site")
    with _said_to(log):
        for name, frame in views.items():
            frame.createOrReplaceTempView(FRAME + name)
        try:
            yield context
        finally:
            for name, frame in views.items():
                frame.sparkSession.catalog.dropTempView(FRAME + name)


def write_pages(context: Any, folder: Path) -> None:
    """Writes the pages of all that a context was asked, instead of those that were there."""
    shutil.rmtree(folder, ignore_errors=True)
    store = {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(folder)}
    site = {"class_name": "SiteBuilder", "show_how_to_buttons": False, "store_backend": store}
    context.add_data_docs_site(site_name=_SITE, site_config=site)
    context.build_data_docs(site_names=[_SITE])


@contextmanager
def _said_to(log: Path) -> Iterator[None]:
    """What would be said on the terminal is said in the log."""
    log.parent.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(log, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    before = [(one.handlers, one.propagate) for one in _NOISY]
    for one in _NOISY:
        one.handlers, one.propagate = [handler], False
    try:
        yield
    finally:
        for one, (handlers, propagate) in zip(_NOISY, before, strict=True):
            one.handlers, one.propagate = handlers, propagate
        handler.close()


class _Aggregate(TableMetricProvider):
    """Spark SQL over the whole frame, as text."""

    metric_name = "gate.aggregate"
    value_keys = ("sql",)

    @metric_partial(
        engine=SparkDFExecutionEngine,
        partial_fn_type=MetricPartialFunctionTypes.AGGREGATE_FN,
        domain_type=MetricDomainTypes.TABLE,
    )
    def _spark(cls, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> Any:  # noqa: N805 - as decorated
        return fn.expr(metric_value_kwargs["sql"]).cast("string"), metric_domain_kwargs, {}


class _Repeated(TableMetricProvider):
    """Keys that more than one row has. Hashes that are all different are keys that are, and are quicker to count."""

    metric_name = "gate.repeated"
    value_keys = ("keys",)

    @metric_value(engine=SparkDFExecutionEngine)
    def _spark(cls, execution_engine: Any, metric_domain_kwargs: Any, metric_value_kwargs: Any, **_: Any) -> str:  # noqa: N805
        rows: DataFrame = execution_engine.get_domain_records(domain_kwargs=metric_domain_kwargs)
        keys = metric_value_kwargs["keys"].split(",")
        if not repeated(rows.select(fn.xxhash64(*keys).alias("_hash")), ["_hash"]).take(1):
            return "0"
        return str(repeated(rows, keys).count())


class ExpectAnswer(BatchExpectation):
    """A question of the gate, as an expectation."""

    question: str
    about: str
    sql: str
    wanted: str | None
    wanted_sql: str
    how: str
    keys: str
    success_keys: ClassVar[tuple[str, ...]] = ("question", "about", "sql", "wanted", "wanted_sql", "how", "keys")

    def get_validation_dependencies(self, execution_engine: Any = None, runtime_configuration: Any = None) -> Any:
        needs = super().get_validation_dependencies(execution_engine, runtime_configuration)
        value = {"keys": self.keys} if self.keys else {"sql": self.sql}
        needs.set_metric_configuration("found", self._metric(value))
        if self.wanted_sql:
            needs.set_metric_configuration("wanted", self._metric({"sql": self.wanted_sql}))
        return needs

    def _metric(self, value: dict[str, str]) -> MetricConfiguration:
        name = _Repeated.metric_name if "keys" in value else _Aggregate.metric_name
        return MetricConfiguration(name, metric_domain_kwargs={"batch_id": self.batch_id}, metric_value_kwargs=value)

    def _validate(self, metrics: dict[str, Any], *_: Any, **__: Any) -> Any:
        found, wanted = metrics["found"], metrics.get("wanted", self.wanted)
        held = holds(self.how, found, wanted)
        return {"success": held, "result": {"observed_value": found, "details": {"wanted": wanted}}}

    @classmethod
    @renderer(renderer_type=LegacyRendererType.PRESCRIPTIVE)
    def _prescriptive_renderer(cls, configuration: Any = None, result: Any = None, *_: Any, **__: Any) -> list[Any]:
        asked = (configuration or result.expectation_config).kwargs
        least = "at least " if asked["how"] == "at_least" else ""
        wanted = asked["wanted"] if not asked["wanted_sql"] else asked["wanted_sql"]
        params = {"question": asked["question"], "about": asked["about"], "wanted": f"{least}{wanted}"}
        template = {"template": "$question: $about; wanted: $wanted", "params": params}
        return [RenderedStringTemplateContent(content_block_type="string_template", string_template=template)]


def repeated(rows: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The keys that more than one row has, null-safe."""
    return rows.groupBy(*keys).agg(fn.count(fn.lit(1)).alias("_times")).where("_times > 1").select(*keys)


def _expectation(question: GateCheck) -> ExpectAnswer:
    return ExpectAnswer(
        question=question.check,
        about=question.about,
        sql=question.sql,
        wanted=question.wanted,
        wanted_sql=question.wanted_sql,
        how=question.how,
        keys=",".join(question.keys),
        severity=FailureSeverity(question.severity),
    )


def _answer(result: Any) -> CheckAnswer:
    check = result.expectation_config.kwargs["question"]
    crash = _crash(result.exception_info)
    if crash or not result.result:
        return CheckAnswer(check, success=False, crash=crash or "it gave no result")
    told = result.result
    return CheckAnswer(check, bool(result.success), told["observed_value"], told["details"]["wanted"])


def _crash(info: Mapping[str, Any]) -> str:
    """Why a question could not be asked, in one line; all of it is logged."""
    found = [info] if "raised_exception" in info else list(info.values())
    raised = [one for one in found if one["raised_exception"]]
    for one in raised:
        _LOG.error("a question of the gate: %s", one["exception_traceback"])
    return first_line(raised[0]["exception_message"]) if raised else ""


def first_line(said: object) -> str:
    """What an error says, without plan or stack."""
    return (str(said).strip().splitlines() or ["it does not say why"])[0][:300]
