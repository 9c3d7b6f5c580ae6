"""The sentences about one record, which `lk trace` prints and the live page shows."""

from __future__ import annotations

from flows.trace.stages import ArchivedRecord, Decoded, RedriveLink, RouteCopy, ServedSide, ViewBuild, ViewPartials

NO_RUN = "no run reads this topic"
NO_ARCHIVE = "the topic has no archive yet: `lk batch` copies the log"
MADE_AGAIN_AFTER_RUN = "the topic was deleted and created again after this run was declared"
HOLDS_EARLIER_TOPIC = "it holds the topic that was deleted and created again since"
NO_ROUTE = "no route copies this topic"
_ANSWERS = {True: "yes", False: "no", None: "not known"}


def decoding(decoded: Decoded) -> tuple[str, ...]:
    """What decoding made of it, and who knows that."""
    rules = f"it broke {', '.join(decoded.rules)}" if decoded.rules else ""
    return texts(decoded.outcome, rules, f"known from {decoded.source}" if decoded.source else "")


def redrive(redriven: RedriveLink) -> tuple[str, ...]:
    """Its original or its copy; empty for most records."""
    original = f"original {redriven.original}" if redriven.original else ""
    return texts(original, f"copy {redriven.copy}" if redriven.copy else "", redriven.note)


def archived(archive: ArchivedRecord) -> str:
    """Whether the archive of a decoder has it."""
    decoder = "today's decoder" if archive.is_current else "an earlier decoder"
    return f"{decoder} {archive.decoder}: {'there' if archive.row else 'not there'}"


def routed(route: RouteCopy) -> tuple[str, ...]:
    """Whether a run of a route has copied it, and to where."""
    return texts(f"{route.route} {route.run}: copied {_ANSWERS[route.is_passed]}", route.copy, route.note)


def counted(served: ServedSide) -> str:
    """Whether what is served counts it."""
    return f"counted {_ANSWERS[served.counts]}"


def partial_table(partials: ViewPartials) -> str:
    """The table of a run that has its rows."""
    return f"run {partials.run}: {partials.table}, version {partials.version}"


def build_holds(build: ViewBuild) -> str:
    """Whether a build reaches it."""
    served = ", served" if build.is_served else ""
    return f"build {build.build}{served}: {'holds it' if build.holds else 'ends before it'}"


def problems(stage: ViewPartials | ViewBuild) -> tuple[str, ...]:
    """Why a table cannot be read, and the rows that it lacks."""
    return texts(stage.problem, *(f"missing: {lost}" for lost in stage.missing))


def texts(*parts: str) -> tuple[str, ...]:
    """The parts that are not empty."""
    return tuple(part for part in parts if part)
