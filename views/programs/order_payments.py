"""Stream-stream join: orders with their payments of the next ten minutes."""

from core.example import Example
from core.view import Check, Key, Keyed, Reach, Result

TEN_MINUTES = 600_000

VIEW = Keyed(
    "order_payments",
    comment="Orders joined with payments of the same order up to ten minutes later; rows without a match are kept",
    sources=("orders", "payments"),
    keys=(Key("order_id", "order_id", comment="Id of the order"),),
    query="""
        SELECT coalesce(o.order_id, p.order_id) AS order_id,
               o.event_time AS ordered_at, p.event_time AS paid_at,
               coalesce(o.event_time, p.event_time) AS happened_at,
               o.amount, p.payment_id, p.paid,
               CASE WHEN p.order_id IS NULL THEN 'order' WHEN o.order_id IS NULL THEN 'payment' ELSE 'both' END AS side
        FROM {orders} AS o FULL OUTER JOIN {payments} AS p
          ON o.order_id = p.order_id
         AND p.event_time BETWEEN o.event_time AND o.event_time + INTERVAL 10 MINUTES
    """,
    results=(
        Result("ordered_at", "timestamp", comment="When it was ordered; null without an order"),
        Result("paid_at", "timestamp", comment="When it was paid; null without a payment"),
        Result("happened_at", "timestamp", comment="When it was ordered, else paid"),
        Result("amount", "decimal(10,2)", comment="Dollars to be paid"),
        Result("payment_id", comment="Id of the payment"),
        Result("paid", "decimal(10,2)", comment="Dollars paid"),
        Result("side", comment="both, order or payment: the sides that exist. An inner join is the rows with 'both'"),
    ),
    reach=Reach("happened_at", before=TEN_MINUTES, after=TEN_MINUTES, segment=3_600_000),
    checks=(
        Check("some_side", "side = 'both' or (side = 'order') = (paid is null)"),
        Check("in_time", "paid_at is null or ordered_at is null or paid_at >= ordered_at"),
    ),
)

EXAMPLE = Example(  # o1 is paid in time, o2 is paid a second too late
    records={
        "orders": (
            '{"order_id":"o1","customer":"c1","country":"NO","amount":"2.00","event_time":ms(2026-01-01T10:00:00Z)}',
            '{"order_id":"o2","customer":"c2","country":"DE","amount":"5.00","event_time":ms(2026-01-01T10:00:00Z)}',
        ),
        "payments": (
            '{"payment_id":"p2","order_id":"o2","paid":"5.00","event_time":ms(2026-01-01T10:10:01Z)}',
            '{"payment_id":"p1","order_id":"o1","paid":"2.00","event_time":ms(2026-01-01T10:10:00Z)}',
        ),
    },
    rows="""
    order_id | ordered_at           | paid_at              | happened_at          | amount | payment_id | paid | side
    o1       | 2026-01-01T10:00:00Z | 2026-01-01T10:10:00Z | 2026-01-01T10:00:00Z | 2.00   | p1         | 2.00 | both
    o2       | 2026-01-01T10:00:00Z | null                 | 2026-01-01T10:00:00Z | 5.00   | null       | null | order
    o2       | null                 | 2026-01-01T10:10:01Z | 2026-01-01T10:10:01Z | null   | p2         | 5.00 | payment
    """,
)
