"""Which columns are the keys of a view's rows, and which identify a row."""

from core.measures import Column
from core.view import Key, Keyed, Result, Rollup, Window

K, W, SEGMENT = Column("k", "bigint"), Column("w", "timestamp"), Column("_segment", "bigint")


def test_a_rollup_has_one_row_for_its_keys_and_its_window() -> None:
    view = Rollup("v", ("t",), keys=(Key("k", "a", "bigint"),), window=Window("w", 5_000), measures=())
    assert view.key_columns == view.identifying_columns == (K, W)


def test_rows_of_a_keyed_view_share_a_key_and_are_told_apart_by_all_columns() -> None:
    view = Keyed("v", ("t",), keys=(Key("k", "a", "bigint"),), results=(Result("r"),), query="SELECT k, r FROM {t}")
    assert view.key_columns == (K,)
    assert view.unit_columns == (K, SEGMENT)
    assert view.identifying_columns == (K, Column("r", "string"))
    assert view.stored_columns == (K, Column("r", "string"), SEGMENT, Column("_rows", "bigint"))
