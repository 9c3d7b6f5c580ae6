"""Generated stock trades: a pure function of a spec and an event number. All seeds trade at the same prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from core.sample_spec import BlockGenerator, SampleRecord, SampleSpec

# fmt: off
TICKERS = (
    "AAPL", "ABBV", "ADBE", "AMD", "AMZN", "AVGO", "BAC", "COST", "CRM", "CSCO", "CVX",
    "DIS", "GOOG", "HD", "IBM", "INTC", "JNJ", "JPM", "KO", "MA", "MCD", "META",
    "MRK", "MSFT", "NFLX", "NKE", "NVDA", "ORCL", "PEP", "TSLA", "V", "WMT",
)
# fmt: on


def trades(spec: SampleSpec, numbers: Sequence[int]) -> Iterator[SampleRecord]:
    """The trades with these numbers, in their order: the ticker is the key, the value JSON in version 1.

    The price has exactly two decimals.
    """
    from core.sample_data.trade_columns import trade_columns  # imports numpy, which other verbs need not wait for

    columns = trade_columns(spec, numbers, len(TICKERS))
    for number, ask, ticker, cents, size, at in zip(numbers, *columns, strict=True):
        value = (
            f'{{"type":"{"ask" if ask else "bid"}","ticker":"{TICKERS[ticker]}",'
            f'"price":{cents // 100}.{cents % 100:02d},"size":{size},"event_time":{at},"id":"{spec.seed}-{number}"}}'
        )
        yield SampleRecord(TICKERS[ticker].encode(), value.encode(), at)


GENERATOR = BlockGenerator(trades)
