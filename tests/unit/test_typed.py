"""Typed modules agree with their sources, and keep to the rule without which compiled code would use freed objects."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

import pytest

from tests.unit.declarations import (
    BUILT_IN,
    LAYOUTS,
    TYPED,
    attributes_with_classes,
    counted_attributes,
    declared,
    typed_signatures,
)
from tests.unit.sources import SOURCES, calls_in, outline, parsed, relative, statements, targets_of

CLASSES = {name for module in (*TYPED, *LAYOUTS) for name in declared(module)}


def classes_of(module: str) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in statements(parsed(SOURCES[module])) if isinstance(node, ast.ClassDef)}


def slots_of(node: ast.ClassDef) -> list[str] | None:
    """What the class says in `__slots__`, or None if it says nothing."""
    for statement in node.body:
        if isinstance(statement, ast.Assign) and _is_name(statement.targets[0], "__slots__"):
            said = ast.literal_eval(statement.value)
            return [said] if isinstance(said, str) else list(said)
    return None


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def calls_of(source: str) -> list[ast.Call]:
    return [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]


def calls_through_attributes(calls: Iterable[ast.Call], names: frozenset[str]) -> Iterator[ast.Call]:
    """The method calls on an attribute, of whatever object, that has one of those `names`."""
    for node in calls:
        if isinstance(node.func, ast.Attribute):
            holder = node.func.value
            if isinstance(holder, ast.Attribute) and holder.attr in names:
                yield node


def test_no_call_goes_through_a_typed_attribute() -> None:
    """Compiled code holds no reference to `self._x` during `self._x.m()`. What `m` clears is freed while it runs.

    So the object is taken to a local variable first, which holds one: `x = self._x`, then `x.m()`.
    """
    names = attributes_with_classes()
    offenders = [
        f"{relative(SOURCES[module])}:{call.lineno}: {ast.unparse(call.func)}(…)"
        for module in TYPED
        for call in calls_through_attributes(calls_in(SOURCES[module]), names)
    ]
    assert not offenders, "take the attribute to a local first:\n" + "\n".join(offenders)


def cleared_attributes(tree: ast.AST) -> Iterator[str]:
    """The names of attributes that a function other than `__init__` sets to None."""
    for function in statements(tree):
        if isinstance(function, ast.FunctionDef) and function.name != "__init__":
            for node in statements(function):
                if isinstance(node, ast.Assign):
                    for target in node.targets:
                        yield from _cleared_by(target, node.value)


def _cleared_by(target: ast.expr, value: ast.expr) -> Iterator[str]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, its in zip(target.elts, value.elts, strict=True):
            yield from _cleared_by(one, its)
    elif isinstance(target, ast.Attribute) and isinstance(value, ast.Constant) and value.value is None:
        yield target.attr


def own_attributes_passed(calls: Iterable[ast.Call], names: set[str]) -> Iterator[ast.Call]:
    """The calls that get an attribute of `self` with one of those `names` as an argument."""
    for node in calls:
        for given in (*node.args, *(keyword.value for keyword in node.keywords)):
            if isinstance(given, ast.Attribute) and given.attr in names and _is_name(given.value, "self"):
                yield node


def test_no_attribute_that_may_be_cleared_is_passed_on() -> None:
    """Compiled code passes the object of `self._x` on without a reference of its own, as it does for `self._x.m()`."""
    cleared = {name for module in TYPED for name in cleared_attributes(parsed(SOURCES[module]))}
    offenders = [
        f"{relative(SOURCES[module])}:{call.lineno}: {ast.unparse(call)}"
        for module in TYPED
        for call in own_attributes_passed(calls_in(SOURCES[module]), cleared)
    ]
    assert "_consumer" in cleared
    assert not offenders, "take the attribute to a local first:\n" + "\n".join(offenders)


def rebound_attributes(tree: ast.AST) -> set[str]:
    """The names of attributes that a function other than `__init__` gives another value."""
    return {
        target.attr
        for function in statements(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) and function.name != "__init__"
        for statement in statements(function)
        for target in targets_of(statement)
        if isinstance(target, ast.Attribute)
    }


def handed_to_plain_methods(calls: Iterable[ast.Call], rebound: set[str], signatures: set[str]) -> Iterator[ast.Call]:
    """Calls of `self.m` that give it an attribute, of whatever object, that is rebound. `m` has no typed signature."""
    for call in calls:
        if isinstance(call.func, ast.Attribute) and _is_name(call.func.value, "self"):
            given = (*call.args, *(keyword.value for keyword in call.keywords))
            is_plain = call.func.attr not in signatures
            if is_plain and any(isinstance(each, ast.Attribute) and each.attr in rebound for each in given):
                yield call


def test_no_plain_method_of_the_own_object_gets_an_attribute_that_is_rebound() -> None:
    """Cython owns the arguments of a typed signature only. A method without one borrows them from the attribute.

    What it calls may rebind the attribute, of another object too, and its argument is freed while it runs.
    """
    rebound = {name for module in TYPED for name in rebound_attributes(parsed(SOURCES[module]))} & counted_attributes()
    signatures = {name for module in TYPED for name in typed_signatures(module)}
    offenders = [
        f"{relative(SOURCES[module])}:{call.lineno}: {ast.unparse(call)}"
        for module in TYPED
        for call in handed_to_plain_methods(calls_in(SOURCES[module]), rebound, signatures)
    ]
    assert {"kept", "_destination"} <= rebound
    assert "respond" in signatures
    assert not offenders, "take the attribute to a local first:\n" + "\n".join(offenders)


def test_the_rule_of_plain_methods_finds_what_it_forbids() -> None:
    source = "def f(self):\n    self.g(self._o.kept)\n    self.typed(self.kept)\n    self.kept, x = 1, self.g(x)"
    rebound = rebound_attributes(ast.parse(source))
    assert rebound == {"kept"}
    found = [ast.unparse(call) for call in handed_to_plain_methods(calls_of(source), rebound, {"typed"})]
    assert found == ["self.g(self._o.kept)"]


_DECLARED = re.compile(r"(?P<indent> *)c(?:p)?def [^=(]*?(?P<name>\w+)\((?P<parameters>[^)]*)\)")


def declared_parameters(types: str) -> dict[tuple[str, str], tuple[int, int]]:
    """How many parameters each function or method of a file of types has, and how many of them have a default."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    owner = ""
    for line in types.splitlines():
        if line.startswith("cdef class "):
            owner = re.split(r"\W", line.removeprefix("cdef class "))[0]
        elif (each := _DECLARED.match(line)) is not None:
            parameters = [text for text in each["parameters"].split(",") if text.strip()]
            defaults = sum(text.strip().endswith("=*") for text in parameters)
            found[owner if each["indent"] else "", each["name"]] = len(parameters), defaults
    return found


def written_parameters(tree: ast.Module) -> dict[tuple[str, str], tuple[int, int]]:
    """The same of a source."""
    classes = [node for node in statements(tree) if isinstance(node, ast.ClassDef)]
    scopes = [("", tree.body), *((node.name, node.body) for node in classes)]
    return {
        (name, each.name): (len(each.args.args), len(each.args.defaults))
        for name, body in scopes
        for each in body
        if isinstance(each, ast.FunctionDef)
    }


def test_typed_signatures_have_the_parameters_of_the_source() -> None:
    """Otherwise the module does not compile, which would show minutes later only."""
    declared_ones = {module: declared_parameters(path.read_text(encoding="utf-8")) for module, path in TYPED.items()}
    written = {module: written_parameters(parsed(SOURCES[module])) for module in TYPED}
    found = {module: {name: written[module].get(name) for name in names} for module, names in declared_ones.items()}
    assert found == declared_ones


def test_the_rule_of_signatures_counts_parameters_and_defaults() -> None:
    types = "cdef f(a, int b=*)\ncdef class C(D):\n    cdef public int x\n    cpdef bint m(self, C c) except -1\n"
    assert declared_parameters(types) == {("", "f"): (2, 1), ("C", "m"): (2, 0)}
    source = ast.parse("def f(a, b=1): ...\nclass C:\n    def m(self, c): ...")
    assert written_parameters(source) == declared_parameters(types)


def hidden_methods(module: str) -> dict[str, set[str]]:
    """The methods of each class of `module` that only compiled code sees (`cdef`)."""
    return {name: each.hidden for name, each in declared(module).items() if each.hidden}


def test_no_class_without_types_redefines_a_hidden_method() -> None:
    """Compiled code calls a `cdef` method in its own table: what an untyped subclass says is never asked."""
    hidden = {name: methods for module in TYPED for name, methods in hidden_methods(module).items()}
    offenders = [
        f"{relative(path)}:{each.line}: {each.name}.{redefined}"
        for path in SOURCES.values()
        for each in outline(path).classes
        if each.name not in CLASSES
        for base in each.bases
        for redefined in sorted(hidden.get(base, set()) & each.members)
    ]
    assert "_fail" in hidden["Exchange"]
    assert not offenders, "declare them with cpdef:\n" + "\n".join(offenders)


def test_the_rule_of_arguments_finds_what_it_forbids() -> None:
    source = "def f(self):\n    g(1, self._x, y=self._z)\n    self._a, self._x = 1, None"
    cleared = set(cleared_attributes(ast.parse(source)))
    assert cleared == {"_x"}
    assert [ast.unparse(call) for call in own_attributes_passed(calls_of(source), cleared)] == [
        "g(1, self._x, y=self._z)"
    ]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("self._consumer.lost()", ["self._consumer.lost"]),
        ("def f(job): return [job.stream._consumer.lost(1)]", ["job.stream._consumer.lost"]),
        ("consumer = self._consumer\nconsumer.lost()", []),
        ("self._other.lost()", []),
        ("self._consumer.closed", []),
    ],
)
def test_the_rule_finds_what_it_forbids(source: str, found: list[str]) -> None:
    calls = calls_through_attributes(calls_of(source), frozenset({"_consumer"}))
    assert [ast.unparse(call.func) for call in calls] == found


def test_declared_attributes_are_the_slots() -> None:
    assert [problem for module in TYPED for problem in slot_problems(module)] == []


def slot_problems(module: str) -> Iterator[str]:
    """Where the declared attributes of classes are not those in the source."""
    sources = classes_of(module)
    for name, each in declared(module).items():
        slots = slots_of(sources[name]) if name in sources else None
        if slots is None:
            yield f"{name} of {module} has no class with __slots__"
        elif sorted(slots) != sorted(each.attributes):
            yield f"{name} of {module}: {sorted(set(slots) ^ set(each.attributes))}"


def test_attributes_have_known_types() -> None:
    unknown = {
        f"{name} of {module}": types
        for module in TYPED
        for name, each in declared(module).items()
        if (types := set(each.attributes.values()) - BUILT_IN - CLASSES)
    }
    assert unknown == {}


def test_a_declared_base_is_the_first_one() -> None:
    assert [problem for module in TYPED for problem in base_problems(module)] == []


def base_problems(module: str) -> Iterator[str]:
    """Where a class derives from another class of compiled code than is declared, or not from that one first."""
    sources = classes_of(module)
    for name, each in declared(module).items():
        bases = [ast.unparse(base) for base in sources[name].bases]
        typed = [base for base in bases if base in CLASSES]
        if typed != ([each.base] if each.base else []) or (typed and bases[0] != typed[0]):
            yield f"{name} of {module} derives from {bases}, and {each.base or 'no base'} is declared"
