"""Log split: errors to a topic of high priority, all other lines to one of low priority."""

from core.route import Output, Route, When

ROUTE = Route(
    "log_split",
    comment="Errors in one topic, all other lines in another, each in the order of its partition",
    sources=("access_log", "service_log"),
    outputs=(
        Output(
            "log_high",
            when=(When("access_log", "status >= 500"), When("service_log", "level = 'ERROR'")),
            comment="Lines that need attention now",
        ),
        Output("log_low", comment="All other lines, also those that do not decode"),
    ),
)
