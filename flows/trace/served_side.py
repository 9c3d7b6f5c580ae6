"""Whether what is served counts the record, and which side does: decided from the pin alone, without reading rows."""

from __future__ import annotations

from dataclasses import replace

from core.positions import RecordPosition
from flows.trace.stages import Outcome, RunEpoch, ServedSide
from infra.control.pins import Pin


def served_side(
    pin: Pin | None,
    position: RecordPosition,
    run: RunEpoch | None,
    outcome: Outcome,
    contributes: bool | None,
    *,
    belongs: bool = False,
    other_topic: bool = False,
) -> ServedSide:
    """The side of a view that counts the record. ``run`` is what the pinned run did with it, None without a run.

    ``other_topic`` says that what is served was read from an earlier topic of this name.

    ``contributes`` says whether the record changes anything in the view; None where that is not known. One that
    ``belongs`` to a unit and changes nothing was read, and is repeated or superseded.
    """
    if pin is None:
        return ServedSide("not served", False, "nothing serves this view yet")
    side = replace(
        _of_other_topic(pin) if other_topic else _by_position(pin, position, run),
        mode=pin.mode,
        build=pin.build,
        run=pin.run,
        after_epoch=pin.epoch if pin.run else None,
        last_epoch=run.last_epoch if run else None,
    )
    if side.side not in ("batch", "speed", "twice"):
        return side
    if contributes is False and belongs:
        reader = f"build {pin.build}" if side.side == "batch" else f"epoch {run.epoch if run else ''} of run {pin.run}"
        text = f"{reader} read it, and it changes no row: it is repeated or superseded"
        return side if side.side == "twice" else replace(side, counts=False, text=text)
    if contributes is False:
        return replace(side, side="never", counts=False, text=_why_never(outcome))
    if contributes is None:
        return replace(side, counts=None, text=f"{side.text}, if the definition of the view takes it")
    return side


def _by_position(pin: Pin, position: RecordPosition, run: RunEpoch | None) -> ServedSide:
    topic, partition, offset = position
    cut = pin.cut.end(topic, partition) if pin.build else 0
    in_build = pin.build is not None and offset < cut
    taken = run is not None and run.reading == "taken" and run.epoch is not None and run.epoch > pin.epoch
    batch = f"build {pin.build} counts it: its cut is at offset {cut}"
    if in_build and taken:
        problem = f"build {pin.build} and epoch {run.epoch if run else ''} of run {pin.run} both count it"
        return ServedSide("twice", True, "it is counted twice", problem=problem)
    if in_build:
        return ServedSide("batch", True, batch)
    if pin.run is None:
        return ServedSide("not yet", False, f"the cut of build {pin.build} is at offset {cut}; a later build counts it")
    if run is None:
        return ServedSide("unknown", None, f"what is served may have changed to run {pin.run} meanwhile: trace again")
    if taken:
        after = f", after epoch {pin.epoch} where the build ends" if pin.build else ""
        return ServedSide("speed", True, f"epoch {run.epoch} of run {pin.run} counts it{after}")
    return _not_taken(pin, cut, run)


def _of_other_topic(pin: Pin) -> ServedSide:
    names = (f"build {pin.build}" if pin.build else "", f"run {pin.run}" if pin.run else "")
    readers = " and ".join(name for name in names if name)
    return ServedSide("never", False, f"the topic was deleted and created again since {readers} read it")


def _not_taken(pin: Pin, cut: int, run: RunEpoch) -> ServedSide:
    """What is served of a record that is in no build, and in no epoch that is served."""
    if run.reading == "waiting":
        return ServedSide("not yet", False, f"run {pin.run} has not read it: {run.lag} more records with this one")
    if run.reading == "before its start":
        text = f"run {pin.run} begins after it, and no build that is served holds it"
        return ServedSide("never", False, text)
    if run.reading == "taken":
        problem = f"the served cut is at offset {cut}, and epoch {run.epoch} is not after the pinned epoch {pin.epoch}"
        return ServedSide("missing", False, "neither side counts it", problem=problem)
    if run.reading == "missing":
        return ServedSide("missing", False, "it is missing: its epoch is not committed", problem=run.problem)
    return ServedSide("unknown", None, f"the manifest of run {pin.run} cannot be read", problem=run.problem)


def _why_never(outcome: Outcome) -> str:
    if outcome == "quarantined":
        return "never: decoding refused it"
    if outcome == "no record":
        return "never: there is no record at this offset"
    return "never: it has no key of the view, or the view's filter leaves it out"
