"""What people operate: parts that run, commands that they enter, lines that they change."""

from __future__ import annotations

from core.evidence.measurement import Measurement
from flows.demo.both_modes import parts_of
from flows.study.correction_section import COMMANDS, rule_file
from flows.study.subject import Subject
from infra.control.publications import last_done
from infra.lake import table_paths

DEPLOY = {
    "lambda": (("up",), ("speed", "start"), ("batch",)),
    "kappa": (("up",), ("speed", "start"), ("switch", "kappa")),
}
BACK = (("rollback",),)


def operations_section(subject: Subject) -> list[Measurement]:
    """The rows of the questions ``parts``, ``steps``, ``rule-lines`` and ``rule-files``."""
    served = last_done(subject.settings)
    assert served is not None, "the mode serves"
    mode, served_parts = subject.planned.mode, parts_of(served)
    parts = {
        "processes": len(served_parts.processes),
        "jobs to schedule": len(served_parts.jobs),
        "topics": len(subject.catalog().topics),
        "tables": len(table_paths.tables(subject.settings)),
        "tables that a query reads": len(served_parts.tables),
    }
    steps = {"deploy": len(DEPLOY[mode]), "correct history": len((COMMANDS[mode],)), "go back": len(BACK)}
    return [
        *(subject.row("parts", count, part=part) for part, count in parts.items()),
        *(subject.row("steps", count, part=part) for part, count in steps.items()),
        subject.row("rule-lines", _rule_lines(subject)),
        subject.row("rule-files", 1),
    ]


def _rule_lines(subject: Subject) -> int:
    """Lines of the changed view's file before its example, without empty ones."""
    rule, _, _ = rule_file(subject).read_text("utf-8").partition("\nEXAMPLE")
    return sum(bool(line.strip()) for line in rule.splitlines())
