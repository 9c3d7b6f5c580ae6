"""What both modes would cost for several histories and numbers of rule changes: the planner's formula as a grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from core.errors import Refused
from core.evidence.cost_model import GridCell, grid
from core.evidence.fit import STUDY_CORES, fit
from core.evidence.measurement import Measurement
from core.evidence.workload import Prices, Workload
from flows.plan.run_plan import measured_sizes

HISTORIES: tuple[float, ...] = (7, 30, 90, 365, 1_825)  # days
CHANGES: tuple[float, ...] = (0, 1, 4, 30)  # a month: none, one, weekly, daily


@dataclass(frozen=True)
class CostGrid:
    """The cells of a study, of each history (days) one for each of ``changes``, smallest first.

    There are none if the study measured too little: then ``missing`` says what, and ``fix`` how to measure it.
    ``sizes`` are those of the logs that were measured, smallest first.
    """

    workload: Workload
    prices: Prices
    cells: Mapping[float, Sequence[GridCell]] = field(default_factory=dict)
    sizes: tuple[int, ...] = ()
    missing: str = ""
    fix: str = ""
    changes: tuple[float, ...] = CHANGES
    study_cores: float = STUDY_CORES

    @property
    def command(self) -> str:
        """The command that computes the cell of the workload again, in the folder of the page, from its raw rows."""
        days, changes = self.workload.history_days, self.workload.rule_changes
        return f"lk plan --study raw.parquet --history-days {days:g} --rule-changes {changes:g}"

    @property
    def fewest_events(self) -> float:
        """The events of the shortest history."""
        return self.workload.millions(HISTORIES[0]) * 1e6


def cost_grid(measurements: Sequence[Measurement]) -> CostGrid:
    """The grid that follows from the rows of a study, for the load and the prices of `lk plan` without options."""
    workload, prices = Workload(), Prices()
    try:
        coefficients = fit(measurements)
    except Refused as refused:
        return CostGrid(workload, prices, missing=refused.what, fix=refused.fix)
    cells = grid(workload, prices, coefficients, HISTORIES, CHANGES)
    by_history = {days: [cell for cell in cells if cell.history_days == days] for days in HISTORIES}
    return CostGrid(workload, prices, by_history, measured_sizes(measurements))
