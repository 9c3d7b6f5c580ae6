"""`lk plan`: both modes for a workload, from the study's rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from core.evidence.break_even import BreakEven, break_evens, nearest
from core.evidence.coefficients import Coefficients
from core.evidence.cost_model import ModePlan, plan
from core.evidence.fit import PREDICTED, STUDY_CORES, Prediction, fit, predicted_and_measured
from core.evidence.measurement import MODES, Measurement
from core.evidence.workload import Prices, Workload
from infra import study_files


@dataclass(frozen=True)
class PlanReport:
    """Both modes for a workload, and how far the model can be trusted.

    ``rows`` of the study were read, of which ``busy`` were measured while other programs used the machine.
    ``sizes`` are the measured ones, smallest first. ``predictions`` are of the largest, from lines through the others;
    there are none for fewer than three sizes.
    """

    study: Path
    rows: int
    busy: int
    workload: Workload
    prices: Prices
    coefficients: Coefficients
    plans: tuple[ModePlan, ...]
    break_evens: tuple[BreakEven, ...]
    sizes: tuple[int, ...]
    predictions: tuple[Prediction, ...]

    @property
    def cheaper(self) -> ModePlan:
        """The plan of the mode that costs less."""
        return min(self.plans, key=lambda each: each.month)

    @property
    def difference(self) -> float:
        """What the other mode costs more a month."""
        return max(each.month for each in self.plans) - self.cheaper.month

    @property
    def nearest(self) -> BreakEven | None:
        """The setting whose change by the smallest factor makes the other mode cheaper."""
        return nearest(self.break_evens)


def run_plan(
    workload: Workload, prices: Prices, study: Path | None = None, *, study_cores: float = STUDY_CORES
) -> PlanReport:
    """Plans both modes from the rows of ``study`` (default: ``default_study``).

    Raises Refused if there is no study, or if it measured too little.
    """
    path = study or study_files.default_study()
    measurements = study_files.read_rows(path)
    coefficients = fit(measurements, study_cores)
    sizes = measured_sizes(measurements)
    return PlanReport(
        study=path,
        rows=len(measurements),
        busy=sum(row.busy for row in measurements),
        workload=workload,
        prices=prices,
        coefficients=coefficients,
        plans=tuple(plan(workload, prices, coefficients, mode) for mode in MODES),
        break_evens=tuple(break_evens(workload, prices, coefficients)),
        sizes=sizes,
        predictions=tuple(predicted_and_measured(measurements, sizes[:-1])) if len(sizes) > 2 else (),
    )


def measured_sizes(measurements: Sequence[Measurement]) -> tuple[int, ...]:
    """The sizes at which something was measured that can be predicted, smallest first."""
    sources = [source for source, _ in PREDICTED.values()]
    return tuple(sorted({row.size for row in measurements if row.size and any(each.has(row) for each in sources)}))
