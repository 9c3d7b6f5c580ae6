"""Writes the view file of a guess: counts and sums per key and window, and an example."""

from __future__ import annotations

from core.identifiers import Name
from flows.new_topic.definition_text import call, comment, exploded, python_literal, table
from flows.new_topic.example_table import ExampleTable, example_of, measures_of
from flows.new_topic.field_guesses import FieldGuess
from flows.new_topic.field_names import unused
from flows.new_topic.guesses import TopicGuess
from flows.new_topic.sample_file import SampleFile


def view_name(guess: TopicGuess) -> Name:
    """The name of the view, such as readings_by_hour. Raises Usage when it is too long."""
    return Name(f"{guess.name}_by_{guess.window.name}")


def view_text(guess: TopicGuess, sample: SampleFile) -> tuple[str, bool]:
    """The Python text of the view file, and whether it has an example."""
    key, window, count = _column_names(guess)
    columns = [*([key] if guess.key else []), window, count, *(m for field in guess.sums for m in measures_of(field))]
    example = example_of(guess, sample.records, columns)
    per = f"{guess.key.name} and UTC {guess.window.name}" if guess.key else f"UTC {guess.window.name}"
    keys = []
    if guess.key:
        kind = [f"type={python_literal(guess.key.type)}"] if guess.key.type != "string" else []
        arguments = [
            python_literal(key),
            python_literal(guess.key.name),
            *kind,
            f"comment={python_literal(guess.key.json_name)}",
        ]
        keys = [call("", [call("Key", arguments, 8)], 4, before="keys=")]
    start = python_literal(f"Start of the {guess.window.name}, UTC")
    shown = [_mean(field, count) for field in guess.sums if field.required]
    arguments = [
        python_literal(view_name(guess)),
        f"comment={python_literal(f'Records of {guess.name} per {per}')}",
        f"sources=({python_literal(guess.name)},)",
        *(keys or ["keys=()"]),
        call(
            "Window", [python_literal(window), f"size={guess.window.size:_}", f"comment={start}"], 4, before="window="
        ),
        _tuple("measures", _measures(guess, count)),
        *([_tuple("shown", shown)] if shown else []),
        _tuple("checks", [call("Check", [python_literal(f"has_{count}"), python_literal(f"{count} > 0")], 8)]),
    ]
    names = ", ".join(["Count", *(["Max", "Min", "Sum"] if guess.sums else [])])
    classes = ", ".join(["Check", *(["Key"] if guess.key else []), "Rollup", *(["Shown"] if shown else []), "Window"])
    head = f'"""Records of {guess.name} per {per}. `lk init` wrote this file."""\n\n'
    imports = "from core.example import Example\n" if example else ""
    imports += f"from core.measures import {names}\nfrom core.view import {classes}\n\n"
    body = f"VIEW = {exploded('Rollup', arguments, 0)}\n"
    return head + imports + body + (f"\n{_example(guess, example)}" if example else ""), example is not None


def _tuple(name: str, items: list[str]) -> str:
    """An argument that is a tuple: a line per item, unless it is one item that fits beside its name."""
    return call("", items, 4, before=f"{name}=") if len(items) == 1 else f"{name}={exploded('', items, 4)}"


def _column_names(guess: TopicGuess) -> tuple[str, str, str]:
    """Names for the key, the window and the count that no measure has."""
    taken = {measure for field in guess.sums for measure in (*measures_of(field), _mean_name(field))}
    names: list[str] = []
    for name in (guess.key.name if guess.key else "key", guess.window.name, "records"):
        names.append(unused(name, {*taken, *names}))
    key, window, count = names
    return key, window, count


def _measures(guess: TopicGuess, count: str) -> list[str]:
    measures = [call("Count", [python_literal(count), f"comment={python_literal('Records')}"], 8)]
    for field in guess.sums:
        total, low, high = measures_of(field)
        scale = [f"scale={field.scale}"] if field.scale else []
        of, kind = python_literal(field.name), python_literal(field.type)
        kinds = [f"type={kind}"] if field.type != "bigint" else []
        sums = [python_literal(total), of, *scale, f"comment={python_literal(f'Sum of {field.json_name}')}"]
        lows = [python_literal(low), of, *kinds, f"comment={python_literal(f'Smallest {field.json_name}')}"]
        highs = [python_literal(high), of, *kinds, f"comment={python_literal(f'Largest {field.json_name}')}"]
        measures += [call("Sum", sums, 8), call("Min", lows, 8), call("Max", highs, 8)]
    return measures


def _mean_name(field: FieldGuess) -> str:
    return f"{field.name}_mean"


def _mean(field: FieldGuess, count: str) -> str:
    """A mean is a presentation column: Trino computes it from the sum and the count."""
    sql = f"cast({measures_of(field)[0]} as decimal(38,6)) / {count}"
    words = python_literal(f"Mean of {field.json_name}")
    return call("Shown", [python_literal(_mean_name(field)), python_literal(sql), f"comment={words}"], 8)


def _example(guess: TopicGuess, example: ExampleTable) -> str:
    """The first line says where the rows come from."""
    topic, records = python_literal(guess.name), [python_literal(record) for record in example.records]
    note = comment("The first records of the sample; `lk init` computed the rows in plain Python", 4)
    entries = call("", records, 8, before=f"{topic}: ")
    of_topic = f"records={{\n        {entries},\n    }}"
    return f"EXAMPLE = {exploded('Example', [note, of_topic, f'rows={table(example.rows, 4)}'], 0)}\n"
