"""Each differing row is paired with the most similar row of the other side."""

from core.compute.row_pairs import differing_columns, pair_rows


def test_columns_that_differ_are_named_null_safe() -> None:
    assert differing_columns({"k": 1, "a": None, "b": 2}, {"k": 1, "a": None, "b": None}) == ("b",)
    assert differing_columns(None, {"k": 1}) == ()


def test_a_row_is_paired_with_the_most_similar_row_of_its_key() -> None:
    left = [{"k": "x", "a": 1, "b": 1}, {"k": "y", "a": 1, "b": 1}]
    right = [{"k": "x", "a": 9, "b": 9}, {"k": "x", "a": 1, "b": 9}, {"k": "z", "a": 1, "b": 1}]
    assert pair_rows(["k"], left, right) == [
        (left[0], right[1]),
        (left[1], None),
        (None, right[0]),
        (None, right[2]),
    ]
