"""What the build of typed modules keeps: only binaries that belong to their keys."""

from __future__ import annotations

from pathlib import Path

import pytest

from typed.compiling import CannotBuild, compile_modules
from typed.modules import typed_modules, types_read_for

_COMPILER = """#!/bin/sh
[ "$1" = --version ] && exec echo 1
for last; do :; done
echo binary > "$last"
{then}
"""


def _compiler(place: Path, then: str) -> str:
    place.write_text(_COMPILER.format(then=then))
    place.chmod(0o755)
    return str(place)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with one typed module."""
    package = tmp_path / "project" / "balancer"
    package.mkdir(parents=True)
    (package / "one.py").write_text("def one():\n    return 1\n")
    (package / "one.pxd").write_text("cpdef one()\n")
    return package.parent


def test_a_binary_is_kept_and_not_made_again(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", _compiler(tmp_path / "cc", then=f"echo made >> {tmp_path}/calls"))
    first = compile_modules(project, tmp_path / "cache", "release")
    assert first == compile_modules(project, tmp_path / "cache", "release")
    assert [path.exists() for path in first.values()] == [True]
    assert (tmp_path / "calls").read_text() == "made\n"


@pytest.mark.parametrize("changed", ["one.py", "one.pxd"])
def test_no_binary_is_kept_of_what_changes_while_it_is_compiled(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    monkeypatch.setenv("CC", _compiler(tmp_path / "cc", then=f"echo '# later' >> {project}/balancer/{changed}"))
    with pytest.raises(CannotBuild, match="changed while it was compiled"):
        compile_modules(project, tmp_path / "cache", "release")
    assert not list((tmp_path / "cache").glob("*.so"))


def _add_types(project: Path, name: str, named: str) -> None:
    """Adds a module, whose types name those of the module `two` in that way."""
    package = project / "balancer"
    (package / "__init__.py").touch()
    (package / "two.py").write_text("class Two:\n    pass\n")
    (package / "two.pxd").write_text("cdef class Two:\n    pass\n")
    (package / f"{name}.py").write_text("def one():\n    return 1\n")
    (package / f"{name}.pxd").write_text(f"{named}\ncpdef one()\n")


@pytest.mark.parametrize(
    "named",
    [
        "from balancer.two cimport Two",
        "from balancer cimport two",
        "cimport balancer.two as t",
        "from balancer cimport (\n    two,\n)",
    ],
)
def test_types_are_known_however_a_module_names_them(project: Path, named: str) -> None:
    _add_types(project, "one", named)
    (module,) = (each for each in typed_modules(project) if each.name == "balancer.one")
    assert Path("balancer", "two.pxd") in types_read_for(project, module)


def test_types_are_part_of_the_keys_of_those_modules_that_name_them(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", _compiler(tmp_path / "cc", then=""))
    _add_types(project, "naming", "from balancer.two cimport Two")
    first = compile_modules(project, tmp_path / "cache", "release")
    (project / "balancer" / "two.pxd").write_text("cdef class Two:\n    cdef int a\n")
    second = compile_modules(project, tmp_path / "cache", "release")
    assert {module.name for module in first} == {"balancer.naming", "balancer.one", "balancer.two"}
    changed = {module.name for module in first if first[module] != second[module]}
    assert changed == {"balancer.naming", "balancer.two"}, "the other one does not name them"


def test_a_module_is_not_compiled_with_types_that_its_key_does_not_know(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", _compiler(tmp_path / "cc", then=""))
    _add_types(project, "one", "include 'more.pxi'")  # the key reads double quotes only
    (project / "balancer" / "more.pxi").write_text("cdef struct more:\n    int a\n")
    with pytest.raises(CannotBuild, match=r"one\.py is compiled with types that .* does not name: balancer/more\.pxi"):
        compile_modules(project, tmp_path / "cache", "release")
    assert not list((tmp_path / "cache").glob("balancer.one.*.so"))


def test_a_native_module_may_have_types_beside_it(project: Path) -> None:
    package = project / "balancer"
    (package / "three.pyx").write_text("from balancer.two cimport two\n")
    for name in ("two", "three"):
        (package / f"{name}.pxd").write_text(f"cdef int {name}() except -1\n")
    (package / "two.pyx").touch()
    three = next(each for each in typed_modules(project) if each.name == "balancer.three")
    assert (three.source, three.types) == (Path("balancer/three.pyx"), Path("balancer/three.pxd"))
    assert Path("balancer/two.pxd") in types_read_for(project, three), "the source names it, and not its types"
