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
# A trade is put together from few parts: millions of them are generated.
_KEYS = tuple(ticker.encode() for ticker in TICKERS)
_UP_TO_PRICE = tuple(
    tuple(f'{{"type":"{side}","ticker":"{ticker}","price":' for side in ("bid", "ask")) for ticker in TICKERS
)
_FROM_CENTS = tuple(f'.{cents:02d},"size":' for cents in range(100))


def trades(spec: SampleSpec, numbers: Sequence[int]) -> Iterator[SampleRecord]:
    """The trades with these numbers, in their order: the ticker is the key, the value JSON in version 1.

    The price has exactly two decimals.
    """
    from core.sample_data.trade_columns import trade_columns  # imports numpy, which other verbs need not wait for

    columns, seed = trade_columns(spec, numbers, len(TICKERS)), spec.seed
    for number, ask, ticker, cents, size, at in zip(numbers, *columns, strict=True):
        value = (
            f"{_UP_TO_PRICE[ticker][ask]}{cents // 100}{_FROM_CENTS[cents % 100]}{size}"
            f',"event_time":{at},"id":"{seed}-{number}"}}'
        )
        yield SampleRecord(_KEYS[ticker], value.encode(), at)


GENERATOR = BlockGenerator(trades)
