"""Page views of users."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def page_view(dice: Draws) -> dict[str, object]:
    """A look of one of a thousand users; of an unmatched one nothing else is known."""
    user = f"x{dice.number}" if dice.unmatched else f"u{dice.below(1_000)}"
    return {"view_id": f"v{dice.number}", "user_id": user, "page": f"/{dice.pick(('home', 'news', 'shop'))}"}


TOPIC = Topic(
    "page_views",
    comment="Page views of users",
    key="user_id",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("view_id", "user_id", "page", "event_time")),)),
    fields=(
        Field("view_id", comment="Name of the view"),
        Field("user_id", comment="Who looked"),
        Field("page", comment="At what"),
        Field("event_time", "timestamp", comment="When; epoch milliseconds in the record"),
    ),
    example=page_view,
)
