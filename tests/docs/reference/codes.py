"""The error codes of the source: for each, its messages, its hints and the modules that raise it."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import kron
from kron.errors import FAMILIES

SOURCE = Path(kron.__file__).parent
CLASSES = {family.__name__ for family in FAMILIES.values()}
FAULTS = {  # they become a LanguageError when the whole text is known
    "Fault",
    "LanguageError",
    "_expression_fault",
    "_field_fault",
    "_fault_at",
    "_range_fault",
    "bad_time",
    "read_choice",
    "sentence_fault",
    "unknown_choice",
}
RAISING = {*CLASSES, *FAULTS, "Finding", "code_details", "usage_error"}
FIXED = {"usage_error": "USAGE"}  # functions that raise one code, and are given the message first
CODE = re.compile(r"[A-Z][A-Z0-9]+(?:_[A-Z0-9]+)*")


@dataclass
class Code:
    """What the source says about one code."""

    messages: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    finding: bool = False  # of `kron lint` or a compiler; nothing is refused

    def add(self, message: str, hint: str, module: str) -> None:
        """Add one place that raises it."""
        for known, new in ((self.messages, message), (self.hints, hint), (self.modules, module)):
            if new and new not in known:
                known.append(new)


def codes() -> dict[str, Code]:
    """Return every code of the source, by name."""
    found: defaultdict[str, Code] = defaultdict(Code)
    for path in sorted(SOURCE.rglob("*.py")):
        module = path.relative_to(SOURCE).as_posix()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for scope, call in calls(tree):
            for name, message, hint in raised(call, scope):
                found[name].add(message, hint, module)
                found[name].finding |= call.func.id == "Finding" if isinstance(call.func, ast.Name) else False
        if module.endswith("problem.py"):
            for name in _answered(tree):
                found[name].add("", "", module)
    return dict(sorted(found.items()))


def calls(tree: ast.Module) -> Iterator[tuple[ast.AST, ast.Call]]:
    """Yield every call with the innermost function that contains it."""
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    seen: set[int] = set()
    for scope in [*reversed(functions), tree]:  # inner functions first
        for node in ast.walk(scope):
            if isinstance(node, ast.Call) and id(node) not in seen:
                seen.add(id(node))
                yield scope, node


def raised(call: ast.Call, scope: ast.AST) -> Iterator[tuple[str, str, str]]:
    """Yield the code, the message and the hint of each error that a call can create."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    if name not in RAISING or not call.args:
        return
    args = call.args[1:] if name == "Finding" else call.args
    hint = next((_text(word.value, scope) for word in call.keywords if word.arg == "hint"), "")
    hint = hint or (
        _text(args[-1], scope) if len(args) > 2 and not isinstance(args[-1], ast.Constant | ast.Name) else ""
    )
    if name in FIXED:
        yield FIXED[name], _text(args[0], scope), _text(args[1], scope) if len(args) > 1 else ""
        return
    for code in _constants(args[0], scope):
        yield code, _text(args[1], scope) if len(args) > 1 else "", hint


def _constants(node: ast.AST, scope: ast.AST) -> Iterator[str]:
    """The codes that an expression can be: a text, a choice of two, or a local name that is one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and CODE.fullmatch(node.value):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _constants(node.body, scope)
        yield from _constants(node.orelse, scope)
    elif isinstance(node, ast.Name):
        for value in _assigned(node.id, scope):
            if not isinstance(value, ast.Name):
                yield from _constants(value, scope)


def _assigned(name: str, scope: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name) and target.id == name:
                    yield node.value
                elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = zip(target.elts, node.value.elts, strict=False)
                    yield from (value for each, value in pairs if isinstance(each, ast.Name) and each.id == name)


def _text(node: ast.AST, scope: ast.AST) -> str:
    """A message as the source writes it, with `…` for what is filled in; empty if it is computed."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
    if isinstance(node, ast.Name):
        texts = [_text(value, scope) for value in _assigned(node.id, scope) if not isinstance(value, ast.Name)]
        return next((text for text in texts if text), "")
    return ""


def _answered(tree: ast.Module) -> Iterator[str]:
    """The codes of answers that no error of Kron causes, such as `NO_ROUTE`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and (key.value == "code" or key.value in (404, 405)):
                    yield from _constants(value, tree)
