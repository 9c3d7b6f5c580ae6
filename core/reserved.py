"""Words that cannot be names of columns, topics or views: reserved by SQL, or columns of the project's tables."""

_SQL = """
alter and as between by case cast constraint create cross cube current_catalog current_date current_path current_role
current_schema current_time current_timestamp current_user deallocate delete describe distinct drop else end escape
except execute exists extract false for from full group grouping having in inner insert intersect interval into is join
json_array json_exists json_object json_query json_table json_value left like listagg localtime localtimestamp natural
normalize not null on or order outer prepare recursive right rollup select skip table then trim true uescape union
unnest using values when where with
"""
_OURS = "first_epoch last_epoch"

RESERVED = frozenset(f"{_SQL} {_OURS}".split())
