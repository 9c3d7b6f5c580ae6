"""The documents are consistent: links, decisions, glossary, and a test for every promise."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from infra.project_files import ROOT
from tests.support.suite.tiers import tier

FOLDERS = ("docs", "terraform", "images")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))]
PACKAGES = ("cli", "core", "infra", "batch", "speed", "serving", "flows", "views")


def functions(path: Path) -> list[str]:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return [node.name for node in nodes if isinstance(node, ast.FunctionDef)]


def test_every_link_in_the_documents_names_a_file_that_exists() -> None:
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8"))]
    assert len(links) > 10
    assert [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()] == []


def test_decisions_are_numbered_without_gaps_and_all_indexed() -> None:
    folder = ROOT / "docs" / "decisions"
    records = sorted(path for path in folder.glob("*.md") if path.name != "index.md")
    assert [int(path.name[:4]) for path in records] == list(range(1, len(records) + 1))
    index = (folder / "index.md").read_text("utf-8")
    rows = re.findall(r"^\| \[(\d{4})\]\(([^)]+)\) \| (.+?) \| (?:accepted|superseded)", index, re.M)
    titles = [path.read_text("utf-8").splitlines()[0] for path in records]
    assert [(link, f"# {int(number)}. {title}") for number, link, title in rows] == [
        (path.name, title) for path, title in zip(records, titles, strict=True)
    ]


def promises() -> list[tuple[str, str, str]]:
    """Promise, fast test and full test of each row. The full test is empty where it is the fast one."""
    page = (ROOT / "docs" / "promises.md").read_text("utf-8")
    rows = re.findall(r"^\| (.+?) \| `(tests/[^`]+)` \| (?:`(tests/[^`]+)`(?: \(long\))?|\(the same\)) \|$", page, re.M)
    assert len(rows) == len([line for line in page.splitlines() if line.startswith("| ")]) - 1
    return rows


def test_every_promise_names_tests_that_exist() -> None:
    named = [test for _, *tests in promises() for test in tests if test]
    assert len(named) >= 60
    assert [test for test in named if test.partition("::")[2] not in functions(ROOT / test.partition("::")[0])] == []


def test_every_promise_has_a_fast_test_and_the_folder_says_which_it_is() -> None:
    """`make test` runs what is not slow of tests/unit, tests/spark and tests/integration; all scenarios are slow."""
    fast_folders = ("tests/unit/", "tests/spark/", "tests/integration/")
    (listed,) = re.findall(r"^FAST := (.+)$", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert tuple(f"{folder}/" for folder in listed.split()) == fast_folders
    assert [fast for _, fast, _ in promises() if not fast.startswith(fast_folders)] == []
    assert [full for _, _, full in promises() if full and not full.startswith("tests/scenarios/")] == []


def test_the_full_tests_that_make_long_runs_are_marked_so() -> None:
    page = (ROOT / "docs" / "promises.md").read_text("utf-8")
    cells = re.findall(r"\| `(tests/scenarios/[^`]+)`(| \(long\)) \|$", page, re.M)
    assert len(cells) == len([full for _, _, full in promises() if full])
    assert [test for test, mark in cells if bool(mark) != ("long" in tier(test, is_slow=False))] == []


def test_no_fast_test_of_a_promise_is_marked_slow() -> None:
    """Some values of a parameter may be, not the test and not its file."""
    marked = [fast for _, fast, _ in promises() if fast in slow_tests(ROOT / fast.partition("::")[0])]
    assert marked == []
    for file, test in (
        ("tests/integration/serving/test_compare_served.py", "test_a_planted_difference_is_found_and_named"),
        ("tests/integration/batch/test_batch.py", "test_a_killed_build_leaves_a_folder_that_is_made_again"),
    ):
        assert f"{file}::{test}" in slow_tests(ROOT / file)


def slow_tests(file: Path) -> list[str]:
    """The tests of a file that `make test` leaves out, by a mark of theirs or of the whole file."""
    tree = ast.parse(file.read_text("utf-8"))
    tests = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
    whole = any(isinstance(node, ast.Assign) and "slow" in ast.unparse(node) for node in tree.body)
    name = file.relative_to(ROOT)
    marks = "pytest.mark.slow"
    return [f"{name}::{test.name}" for test in tests if whole or marks in map(ast.unparse, test.decorator_list)]


def test_no_fast_test_of_a_promise_is_skipped_except_without_terraform() -> None:
    """`make` installs no terraform. Where it is missing, docs/promises.md and `make test` say what is not run."""
    files = {fast.partition("::")[0] for _, fast, _ in promises()}
    skips = re.compile(r"skipif|mark\.skip|pytest\.skip|importorskip|xfail")
    can_skip = [file for file in files if skips.search((ROOT / file).read_text("utf-8"))]
    assert can_skip == ["tests/integration/test_terraform_plants.py"]


def test_contributing_names_tests_of_every_folder_of_code() -> None:
    """A folder whose subfolders have rows needs none of its own. What is listed besides the packages is literal."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    rows = re.findall(r"^\| (`[^|]+`) \| ([^|]*) \| ([^|]*)\|$", page, re.M)
    code, fast, full = (re.findall(r"`([^`]+)`", " ".join(cells)) for cells in zip(*rows, strict=True))
    others = {"views", "terraform", "images", "infra/emr.py", "infra/faults.py"}
    folders = {*PACKAGES, "dags"} - {"views"}
    folders |= {
        f"{folder}/{child.parent.name}" for folder in folders for child in (ROOT / folder).glob("*/__init__.py")
    }
    parents = {folder.partition("/")[0] for folder in code if "/" in folder}
    assert sorted(folders - set(code)) == sorted((parents & folders) - set(code))
    assert set(code) - folders == others
    assert [path for path in others if not (ROOT / path).exists()] == []
    assert [path for path in fast if not (ROOT / "tests" / path).exists()] == []
    assert [path for path in full if not (ROOT / "tests" / "scenarios" / path).exists()] == []


def test_the_readme_names_every_folder_of_code_once() -> None:
    tree = re.findall(r"^(\w+)/ +\S", (ROOT / "README.md").read_text("utf-8"), re.M)
    assert sorted(tree) == sorted({*PACKAGES, "dags", "data", "terraform", "images", "tests", "docs"})


def test_the_index_lists_every_page_of_docs() -> None:
    """Each page once. Decisions have their own index."""
    folder = ROOT / "docs"
    listed = re.findall(r"^- \[[^]]+\]\(([^)]+)\)", (folder / "index.md").read_text("utf-8"), re.M)
    pages = {str(page.relative_to(folder)) for page in folder.rglob("*.md")} - {"index.md"}
    decisions = {page for page in pages if page.startswith("decisions/0")}
    assert sorted(listed) == sorted(pages - decisions)


def test_the_readme_has_one_screen_before_its_first_list_of_links() -> None:
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    assert next(number for number, line in enumerate(lines) if "](" in line) <= 55


def test_the_glossary_names_files_that_exist_and_defines_a_term_once() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text("utf-8").partition("## Where is X?")[0]
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?[.]) \| (`[^`]+`(?:, `[^`]+`)*) \|$", page, re.M)
    assert len(rows) == len([line for line in page.splitlines() if line.startswith("| ")]) - 1 >= 25
    terms = [term for term, *_ in rows]
    assert terms == sorted(set(terms), key=str.lower)
    paths = [path for *_, files in rows for path in re.findall(r"`([^`]+)`", files)]
    assert [path for path in paths if not (ROOT / path).is_file()] == []


def test_where_is_x_names_the_file_that_defines_it() -> None:
    page = (ROOT / "docs" / "glossary.md").read_text("utf-8").partition("## Where is X?")[2]
    rows = re.findall(r"^\| (.+?\?) \| `([^`]+)` \| `(\w+)` \|$", page, re.M)
    assert len(rows) == len([line for line in page.splitlines() if line.startswith("| ")]) - 1 >= 20
    definitions = {path: ast.parse((ROOT / path).read_text("utf-8")).body for _, path, _ in rows}
    kinds = (ast.FunctionDef, ast.ClassDef)
    assert [
        f"{path} does not define {name}"
        for _, path, name in rows
        if name not in [node.name for node in definitions[path] if isinstance(node, kinds)]
    ] == []


def test_the_generic_names_of_our_packages_are_this_checkout() -> None:
    for name in PACKAGES:
        module = __import__(name)
        assert Path(str(module.__file__)).parents[1] == ROOT
