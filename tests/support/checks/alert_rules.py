"""The alert rules, and a small evaluator of their expressions: one metric compared with a number."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass

import yaml
from prometheus_client.parser import text_string_to_metric_families

from infra.project_files import ROOT

FOLDER = ROOT / "infra" / "monitoring"
_EXPRESSION = re.compile(r'([a-z_]+)(?:\{([a-z]+)(=|!~)"([a-z|]+)"\})? (<|>|!=) ([0-9.]+)\Z')
_COMPARE = {"<": operator.lt, ">": operator.gt, "!=": operator.ne}


@dataclass(frozen=True)
class AlertRule:
    """One rule; ``label`` is a label that must have ``value``, or match it not if ``match`` is "!~"; "" for none."""

    name: str
    metric: str
    label: str
    match: str
    value: str
    compare: str
    threshold: float
    severity: str
    annotations: Mapping[str, str]

    def holds(self, labels: Mapping[str, str], value: float) -> bool:
        """Whether a sample of the metric would fire the alert."""
        if self.label and (re.fullmatch(self.value, labels.get(self.label, "")) is None) is (self.match == "="):
            return False
        return bool(_COMPARE[self.compare](value, self.threshold))


def rules() -> list[AlertRule]:
    """Every rule of alerts.yaml. Fails on an expression that is no comparison of one metric."""
    (group,) = yaml.safe_load((FOLDER / "alerts.yaml").read_text("utf-8"))["groups"]
    return [_rule(rule) for rule in group["rules"]]


def firing(exposed: str) -> set[str]:
    """The alerts whose expression holds for a text of /metrics; how long it holds is left out."""
    samples = [sample for family in text_string_to_metric_families(exposed) for sample in family.samples]
    return {
        rule.name
        for rule in rules()
        for sample in samples
        if sample.name == rule.metric and rule.holds(sample.labels, sample.value)
    }


def _rule(rule: Mapping[str, object]) -> AlertRule:
    match = _EXPRESSION.match(str(rule["expr"]))
    assert match, f"{rule['alert']}: {rule['expr']}"
    metric, label, equals, value, compare, threshold = match.groups(default="")
    labels, annotations = rule["labels"], rule["annotations"]
    assert isinstance(labels, dict)
    assert isinstance(annotations, dict)
    name = str(rule["alert"])
    return AlertRule(name, metric, label, equals, value, compare, float(threshold), labels["severity"], annotations)
