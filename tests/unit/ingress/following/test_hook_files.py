"""How hooks are read from files and folders, and what becomes of those that cannot be used."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ingress.following.hook_files import REASON, HookFiles, HooksUnusable, ReadHooks, manifest_of
from zonal_hooks.loading import NotAHook, digest_of, load_text
from zonal_hooks.manifests import Asked, Told
from zonal_hooks.manifests import manifest_of as told_of

TEXT = "from zonal_hooks import hook\n@hook(timeout='5ms', on_error='pass')\ndef request(r): pass\n"


def told_here(asked: Asked) -> Told:
    """What a process would say, from this one."""
    try:
        return Told(told_of(load_text(asked.name, asked.text, asked.path)))
    except NotAHook as problem:
        return Told(problem=str(problem))


def names(read: ReadHooks | None) -> list[str]:
    assert read is not None
    return [hook.name for hook in read.hooks]


def files(*places: Path) -> HookFiles:
    return HookFiles(places, told_here)


def settled(files: HookFiles) -> ReadHooks:
    """What is read after a change: when two looks see the same."""
    assert files.poll() is None
    read = files.poll()
    assert read is not None
    assert files.poll() is None
    return read


def test_a_file_and_a_folder_are_read(tmp_path: Path) -> None:
    for name in ("ab_test.py", "tenant.py", "_shared.py", ".hidden.py", "notes.txt"):
        (tmp_path / name).write_text(TEXT)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "alone.py").write_text(TEXT)
    read = files(tmp_path, tmp_path / "more" / "alone.py").open()
    assert names(read) == ["ab-test", "alone", "tenant"]
    (hook,) = [each for each in read.hooks if each.name == "tenant"]
    assert (hook.code.text, hook.code.digest, hook.code.path) == (TEXT, digest_of(TEXT), str(tmp_path / "tenant.py"))
    assert (hook.phases[0].timeout_seconds, hook.phases[0].passes_on_error) == (0.005, True)


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("sick.py", "1/0", "sick.py, line 1: ZeroDivisionError"),
        ("Sick.py", TEXT, "is no name of a hook"),
        ("sick.py", "#" * 300_000, "more than 262144 bytes"),
        ("sick.py", "\udcff", "codec"),
    ],
)
def test_a_hook_that_cannot_be_used_is_told_at_the_start(tmp_path: Path, name: str, text: str, why: str) -> None:
    (tmp_path / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(HooksUnusable, match=why):
        files(tmp_path).open()


def test_what_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    with pytest.raises(HooksUnusable, match="no such file or folder"):
        files(tmp_path / "none").open()


def test_two_hooks_of_one_name_are_told(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    for folder in (tmp_path, tmp_path / "other"):
        (folder / "tenant.py").write_text(TEXT)
    with pytest.raises(HooksUnusable, match="another hook is called tenant"):
        files(tmp_path, tmp_path / "other").open()


def test_a_change_is_read_when_it_has_settled(tmp_path: Path) -> None:
    path = tmp_path / "tenant.py"
    path.write_text(TEXT)
    hooks = files(tmp_path)
    hooks.open()
    assert hooks.poll() is None
    path.write_text(TEXT + "#\n")
    read = settled(hooks)
    assert (read.hooks[0].code.text, read.findings) == (TEXT + "#\n", ())


def test_a_hook_that_cannot_be_read_any_more_stays(tmp_path: Path) -> None:
    path = tmp_path / "tenant.py"
    path.write_text(TEXT)
    hooks = files(tmp_path)
    hooks.open()
    path.write_text("1/0")
    (tmp_path / "new.py").write_text("2/0")
    read = settled(hooks)
    assert read.hooks[0].code.text == TEXT
    assert [(finding.name, finding.reason) for finding in read.findings] == [("new", REASON), ("tenant", REASON)]
    path.write_text(TEXT + "# again\n")
    (tmp_path / "new.py").unlink()
    assert settled(hooks).findings == ()


def test_a_file_that_is_gone_takes_its_hook_away(tmp_path: Path) -> None:
    (tmp_path / "tenant.py").write_text(TEXT)
    hooks = files(tmp_path)
    hooks.open()
    (tmp_path / "tenant.py").unlink()
    assert names(settled(hooks)) == []


def test_a_mounted_folder_that_is_swapped_is_noticed(tmp_path: Path) -> None:
    """As the kubelet does with a ConfigMap: files are links into a folder that is replaced as a whole."""
    for number in (1, 2):
        (tmp_path / f"v{number}").mkdir()
        (tmp_path / f"v{number}" / "tenant.py").write_text(f"{TEXT}#{number}\n")
    data, mount = tmp_path / "..data", tmp_path / "mount"
    mount.mkdir()
    data.symlink_to(tmp_path / "v1")
    (mount / "tenant.py").symlink_to(data / "tenant.py")
    hooks = files(mount)
    hooks.open()
    (tmp_path / "next").symlink_to(tmp_path / "v2")
    os.replace(tmp_path / "next", data)
    assert settled(hooks).hooks[0].code.text == f"{TEXT}#2\n"


@pytest.mark.large
@pytest.mark.parametrize(
    ("text", "problem"),
    [(TEXT, ""), ("import os; os._exit(3)", "ended its process (3)"), ("1/0", "ZeroDivisionError")],
)
def test_a_process_says_what_a_hook_is(text: str, problem: str) -> None:
    told = manifest_of(Asked("x", "x.py", text))
    assert problem in told.problem
    assert (told.manifest is None) == bool(problem)


def test_the_process_has_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN_OF_OURS", "secret")
    told = manifest_of(Asked("x", "x.py", "import os\nif 'TOKEN_OF_OURS' in os.environ: raise SystemExit\n" + TEXT))
    assert told.problem == ""
