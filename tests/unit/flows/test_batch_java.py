"""A batch of few records runs with Java's first compiler alone, which takes a third less CPU than both."""

from core.cut import Cut
from flows.batch_cycle import java_settings
from infra.settings import Settings

FEW = Cut.of({"trades": {0: 1_000_000, 1: 1_000_000}})
MANY = Cut.of({"trades": {0: 1_000_000, 1: 1_000_001}})


def test_few_records_are_worked_on_with_javas_first_compiler_alone() -> None:
    assert java_settings(Settings(), FEW).java_options == "-XX:TieredStopAtLevel=1"


def test_many_records_are_worked_on_with_both_compilers() -> None:
    assert java_settings(Settings(), MANY) == Settings()


def test_options_of_the_settings_come_last_so_that_java_takes_them() -> None:
    given = Settings(java_options="-XX:TieredStopAtLevel=4 -Xss8m")
    assert java_settings(given, FEW).java_options == "-XX:TieredStopAtLevel=1 -XX:TieredStopAtLevel=4 -Xss8m"
    assert java_settings(given, MANY) == given
