"""The report of one run of the demo: the page of `lk report`, from the values of this run alone."""

from __future__ import annotations

from dataclasses import replace

from core.evidence.origin import Origin
from flows.demo.run_demo import Demo
from flows.demo.run_measurements import measurements
from flows.measure.figures import machine, versions
from flows.report.write_report import report

FOLDER = "report"


def with_report(demo: Demo) -> Demo:
    """Writes the report beside the settings of the demo's instance; the result names its page."""
    files = report(measurements(demo), demo.config.parent / FOLDER, Origin(machine(), versions(), "lk demo"))
    return replace(demo, report=files.page)
