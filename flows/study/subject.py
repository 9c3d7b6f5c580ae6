"""The instance that a study measures, and the rows that it gives."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from core.catalog import Catalog
from core.evidence.measurement import Measurement
from core.evidence.questions import BY_ID
from core.identifiers import Name
from flows.measure.fresh_instance import FreshInstance
from flows.measure.live_system import LiveInstance
from flows.study.history import History
from flows.study.study_plan import StudyInstance
from infra.definitions import definition_files
from infra.settings import Settings


@dataclass(frozen=True)
class Subject:
    """An instance whose mode serves. ``deployed`` are the rows that its deployment gave."""

    planned: StudyInstance
    instance: FreshInstance
    history: History
    busy: bool
    deployed: tuple[Measurement, ...] = field(default=(), repr=False)

    @property
    def settings(self) -> Settings:
        """The settings of the instance."""
        return self.instance.settings

    def catalog(self) -> Catalog:
        """The definitions as they are in the files now."""
        return definition_files.load(self.settings)

    def live(self, run: Name) -> LiveInstance:
        """The instance with one of its runs, for the measures of a live system."""
        return LiveInstance(self.settings, self.catalog(), self.instance.config, run)

    def row(
        self,
        question: str,
        value: float,
        *,
        situation: str = "",
        part: str = "",
        view: str = "",
        x: float | None = None,
        mode: str | None = None,
    ) -> Measurement:
        """One measured value of this instance, measured now."""
        return Measurement(
            BY_ID[question].id,
            self.planned.mode if mode is None else mode,
            float(value),
            datetime.now(UTC),
            situation=situation,
            part=part,
            view=view,
            size=self.planned.size,
            repetition=self.planned.repetition,
            x=x,
            busy=self.busy,
        )

    def with_deployed(self, rows: list[Measurement]) -> Subject:
        """The subject with the rows of its deployment."""
        return replace(self, deployed=tuple(rows))
