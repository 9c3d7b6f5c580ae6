"""Log split: errors to a topic of high priority, all other lines to one of low priority."""

from core.route import Output, Route, When

ROUTE = Route(
    "log_split",
    comment="Errors apart from all other lines, in the order of their partition",
    sources=("access_log", "service_log"),
    outputs=(
        Output(
            "log_high",
            when=(When("access_log", "status >= 500"), When("service_log", "level = 'ERROR'")),
            comment="Lines that somebody should read now",
        ),
        Output("log_low", comment="All others, those that cannot be read included"),
    ),
)
