"""What an instance has published."""

from __future__ import annotations

from infra.control.publications import Publication, read_publications
from tests.support.world import World


def done_publications(world: World) -> list[Publication]:
    """The completed publications, oldest first."""
    return [publication for publication in read_publications(world.settings) if publication.state == "done"]
