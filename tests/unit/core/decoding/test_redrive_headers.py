"""A copy names its original itself: what the original's producer wrote under these names is left out."""

from __future__ import annotations

from core.decoding.redrive_headers import headers, origin_of


def test_the_headers_of_a_copy_are_the_only_ones_with_their_names() -> None:
    forged = [("lk_origin_value", b"{}"), ("a", b"b"), ("lk_origin", None), ("lk_origin_key", b"x"), ("a", None)]
    copy = headers("trades/0/7", b"k", None, forged)
    assert copy == [
        ("a", b"b"),
        ("a", None),
        ("lk_origin", b"trades/0/7"),
        ("lk_origin_key", b"k"),
        ("lk_origin_value", None),
    ]
    assert origin_of(copy) == "trades/0/7"
