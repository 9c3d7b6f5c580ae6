"""What was sent by purpose adds up to what Kafka holds and what each view counts; a planted difference is reported."""

from __future__ import annotations

from core.identifiers import Name
from flows.demo.sent_records import SentCounts, SentRecords, checks, topic_counts

ACCESS_LOG, TRADES = Name("access_log"), Name("trades")
SENT = [
    SentRecords(ACCESS_LOG, "the log", 10_000),
    SentRecords(TRADES, "history", 300),
    SentRecords(TRADES, "the switch", 45),
]


def of_trades(log: int, by_day: int, by_window: int) -> SentCounts:
    return topic_counts(TRADES, SENT, log=log, views={Name("by_day"): by_day, Name("by_window"): by_window})


def test_records_of_all_purposes_add_up() -> None:
    assert of_trades(345, 345, 345) == SentCounts(TRADES, 345, 345, 345, {Name("by_day"): 345, Name("by_window"): 345})
    assert [(check.what, check.expected, check.actual) for check in checks([of_trades(345, 345, 345)])] == [
        ("records sent to trades, in Kafka at the end", "345", "345"),
        ("valid records of trades, in by_day at the end", "345", "345"),
        ("valid records of trades, in by_window at the end", "345", "345"),
    ]
    assert of_trades(345, 345, 345).ok


def test_the_line_of_the_access_log_that_cannot_be_decoded_is_in_kafka_and_in_no_view() -> None:
    requests = topic_counts(ACCESS_LOG, SENT, log=10_000, views={Name("by_hour"): 9_999})
    assert (requests.sent, requests.valid, requests.ok) == (10_000, 9_999, True)
    counted_twice = topic_counts(ACCESS_LOG, SENT, log=10_000, views={Name("by_hour"): 10_000})
    assert not counted_twice.ok


def test_a_planted_difference_in_kafka_or_in_one_view_is_reported() -> None:
    planted = {
        "records sent to trades, in Kafka at the end": of_trades(344, 345, 345),
        "valid records of trades, in by_day at the end": of_trades(345, 346, 345),
        "valid records of trades, in by_window at the end": of_trades(345, 345, 300),
    }
    for what, counts in planted.items():
        assert [check.what for check in checks([counts]) if not check.ok] == [what]
        assert not counts.ok
    unlisted = topic_counts(TRADES, SENT[:2], log=345, views={Name("by_day"): 345})  # the switch's traffic is forgotten
    assert [check.expected for check in checks([unlisted]) if not check.ok] == ["300", "300"]
