"""Page views of users."""

from core.draws import Draws
from core.topic import Field, Json, Topic, Version


def page_view(draws: Draws) -> dict[str, object]:
    """A page view of one of a thousand users; an unmatched one is of a user without a profile."""
    user = f"x{draws.number}" if draws.unmatched else f"u{draws.below(1_000)}"
    return {"view_id": f"v{draws.number}", "user_id": user, "page": f"/{draws.pick(('home', 'news', 'shop'))}"}


TOPIC = Topic(
    "page_views",
    comment="Page views of users",
    key="user_id",
    event_time="event_time",
    format=Json(versions=(Version(1, names=("view_id", "user_id", "page", "event_time")),)),
    fields=(
        Field("view_id", comment="Id of the page view"),
        Field("user_id", comment="Id of the user"),
        Field("page", comment="Path of the page"),
        Field("event_time", "timestamp", comment="Event time; epoch milliseconds in the record"),
    ),
    generator=page_view,
)
