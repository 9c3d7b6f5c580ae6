"""A repeated `lk views check` starts Spark for what has changed, and for nothing else."""

from pathlib import Path

from infra.definitions import definition_files, passed_checks
from infra.project_files import VIEWS
from infra.settings import Settings
from tests.support.command import lk, write_config


def test_a_check_without_changes_starts_no_spark_and_a_changed_file_is_checked(tmp_path: Path) -> None:
    views = tmp_path / "views"
    views.mkdir()
    for name in ("lines", "word_count"):
        (views / f"{name}.py").write_text((VIEWS / "programs" / f"{name}.py").read_text("utf-8"), "utf-8")
    values = {"data": str(tmp_path / "data"), "views": [str(views)]}
    config = write_config(tmp_path / "lk.toml", values)
    settings = Settings(data=tmp_path / "data", views=(views,))
    digests = passed_checks.digests(settings, definition_files.load_files(settings))
    passed_checks.write_passed(settings, digests.values())
    log = tmp_path / "data" / "logs" / "spark-views-check.log"

    unchanged = lk(config, "views", "check").ok()
    assert unchanged.out.endswith("no mistakes\n")
    assert not log.exists()

    text = (views / "word_count.py").read_text("utf-8")
    (views / "word_count.py").write_text(text.replace("word <> 'the'", "words <> 'the'"), "utf-8")
    changed = lk(config, "views", "check")
    assert changed.code == 1
    assert "word_count.py:" in changed.out
    assert changed.out.endswith("1 mistake\n")
    assert log.exists()
