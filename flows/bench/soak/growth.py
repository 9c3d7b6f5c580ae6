"""Whether something grows: the line of least squares through the second half of its samples."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

from flows.measure.figures import Figure

GROWTH = 0.05  # of the mean, within the second half; less is noise: a heap fills, a cache warms up
_HOUR = 3_600.0


@dataclass(frozen=True)
class Series:
    """Samples of one quantity: seconds since the begin, and its value; ``noise`` is a change that means nothing."""

    name: str
    what: str
    unit: str
    noise: float
    samples: tuple[tuple[float, float], ...]


def growth(series: Series) -> Figure:
    """The slope in the second half, per hour, bounded by GROWTH of the mean, or by the noise, within that half."""
    half = series.samples[len(series.samples) // 2 :]
    times, values = zip(*half, strict=True)
    slope = statistics.linear_regression(times, values).slope
    hours = (times[-1] - times[0]) / _HOUR
    mean = statistics.mean(values)
    most = max(GROWTH * mean, series.noise) / hours
    how = f"least squares over the last {len(half)} samples, {hours:.2f} h; mean {mean:,.0f} {series.unit}"
    return Figure(f"soak {series.name}", series.what, f"{series.unit}/h", (slope * _HOUR,), most=most, how=how)
