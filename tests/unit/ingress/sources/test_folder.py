"""The folder source follows files while they are saved, and never mistakes a save in progress for content."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path

import pytest

from ingress.findings import Severity
from ingress.objects.definitions import DEFINITION
from ingress.objects.kinds import Kind
from ingress.sources.contract import Wanted
from ingress.sources.events import Event, Provisioned, Removed, Replaced, SourceFindings, Upserted
from ingress.sources.folder import Folder, FolderSource, FolderUnreadable
from ingress.sources.inventory import Inventory


def save(place: Path, *names: str, text: str | None = None) -> None:
    """Write Services of these names, with a new modification time even within one tick of the clock."""
    before = place.stat().st_mtime_ns if place.exists() else 0
    documents = (f"apiVersion: v1\nkind: Service\nmetadata: {{name: {name}}}\n" for name in names)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("---\n".join(documents) if text is None else text)
    os.utime(place, ns=(0, max(place.stat().st_mtime_ns, before + 1)))


def shown(events: Iterable[Event]) -> list[str]:
    texts = []
    for event in events:
        match event:
            case Upserted():
                texts.append(f"+{event.object.metadata.name}")
            case Removed():
                texts.append(f"-{event.name}")
            case SourceFindings():
                texts.append(f"!{','.join(finding.name for finding in event.findings)}")
            case Replaced():
                texts.append(f"={event.kind.value}")
    return sorted(texts)


def opened(directory: Path) -> Folder:
    folder = Folder(directory)
    folder.open()
    return folder


def settled(folder: Folder) -> list[str]:
    """What two polls bring, the least after which a saved edit is believed."""
    return shown((*folder.poll(), *folder.poll()))


def test_it_starts_with_every_kind_even_in_an_empty_folder(tmp_path: Path) -> None:
    events = Folder(tmp_path).open()
    assert [event.kind for event in events if isinstance(event, Replaced)] == list(Kind)
    known = Inventory()
    for event in events:
        known.apply(event)
    assert known.complete


@pytest.mark.parametrize(
    ("names", "problem"),
    [((), "It has no *.yaml, *.yml or *.json file"), (("a.yaml",), "No file in it holds an object that zonal reads")],
)
def test_a_folder_without_an_object_is_a_finding_until_there_is_one(
    tmp_path: Path, names: tuple[str, ...], problem: str
) -> None:
    for name in names:
        save(tmp_path / name, text="apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: cart}\n")
    folder = Folder(tmp_path)
    (found,) = (event for event in folder.open() if isinstance(event, SourceFindings))
    (finding,) = found.findings
    assert (finding.kind, finding.name, finding.reason) == ("File", ".", "FolderEmpty")
    assert finding.severity is Severity.CLOSED
    assert finding.message == f"{problem}: write manifests into {tmp_path}, or name another folder by --source."
    save(tmp_path / "b.yaml", "b")
    assert settled(folder) == ["!", "+b"]
    (tmp_path / "b.yaml").unlink()
    assert settled(folder) == ["!.", "-b"]


def test_files_below_are_read_in_path_order_and_others_are_not(tmp_path: Path) -> None:
    save(tmp_path / "b.yml", "b")
    save(tmp_path / "a" / "deep.yaml", "a")
    save(tmp_path / "c.json", text='{"apiVersion":"v1","kind":"Service","metadata":{"name":"c"}}')
    for ignored in (".hidden.yaml", ".git/x.yaml", "x.yaml~", "x.yaml.swp", "#x.yaml#", "x.txt"):
        save(tmp_path / ignored, "ignored")
    replaced = {event.kind: event.objects for event in Folder(tmp_path).open() if isinstance(event, Replaced)}
    assert [item.metadata.name for item in replaced[Kind.SERVICE]] == ["a", "b", "c"]


def test_an_edit_becomes_the_changes_it_makes(tmp_path: Path) -> None:
    save(tmp_path / "a.yaml", "one", "two")
    folder = opened(tmp_path)
    assert settled(folder) == []
    save(tmp_path / "a.yaml", "one", "three")
    assert settled(folder) == ["+three", "-two"]
    assert settled(folder) == []


def test_new_and_deleted_files(tmp_path: Path) -> None:
    save(tmp_path / "a.yaml", "a")
    folder = opened(tmp_path)
    save(tmp_path / "sub" / "b.yaml", "b")
    assert settled(folder) == ["+b"]
    (tmp_path / "a.yaml").unlink()
    # What comes later in the folder moves up, which decides conflicts.
    assert settled(folder) == ["+b", "-a"]


def test_which_definitions_of_gateway_api_there_are_is_told_and_told_again(tmp_path: Path) -> None:
    def write(version: str) -> None:
        metadata = f"{{name: {DEFINITION}, annotations: {{gateway.networking.k8s.io/bundle-version: {version}}}}}"
        kind = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        save(tmp_path / "a.yaml", text=f"{kind}metadata: {metadata}\n")

    write("v1.6.1")
    folder = Folder(tmp_path)
    assert Provisioned(bundles=("v1.6.1",)) in folder.open()
    write("v1.7.0")
    folder.poll()
    assert Provisioned(bundles=("v1.7.0",)) in folder.poll()
    (tmp_path / "a.yaml").unlink()
    folder.poll()
    assert Provisioned() in folder.poll()


def test_an_edit_is_not_believed_before_the_file_rests(tmp_path: Path) -> None:
    save(tmp_path / "a.yaml", "a", "b")
    folder = opened(tmp_path)
    save(tmp_path / "a.yaml", text="")
    assert folder.poll() == ()
    save(tmp_path / "a.yaml", "a")
    assert folder.poll() == ()
    save(tmp_path / "a.yaml", "a", "b", "c")
    assert folder.poll() == ()
    assert shown(folder.poll()) == ["+c"]


def test_a_file_that_vanishes_and_comes_back_changes_nothing(tmp_path: Path) -> None:
    save(tmp_path / "a.yaml", "a")
    folder = opened(tmp_path)
    (tmp_path / "a.yaml").rename(tmp_path / "a.yaml~")
    assert folder.poll() == ()
    save(tmp_path / "a.yaml", "a")
    assert settled(folder) == []


def test_a_file_that_never_rests_is_read_in_the_end(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    seen: list[str] = []
    for turn in range(8):
        save(tmp_path / "a.yaml", f"turn-{turn}")
        seen += shown(folder.poll())
    assert seen == ["!", "+turn-7"]


def test_files_that_are_saved_one_after_the_other_are_one_change(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    save(tmp_path / "ingress.yaml", "ingress")
    assert folder.poll() == ()
    save(tmp_path / "secret.yaml", "secret")
    assert folder.poll() == ()
    assert shown(folder.poll()) == ["!", "+ingress", "+secret"]


def test_a_file_that_never_rests_does_not_hold_up_the_others_for_ever(tmp_path: Path) -> None:
    folder = opened(tmp_path)
    save(tmp_path / "b.yaml", "b")
    seen: list[str] = []
    for turn in range(8):
        save(tmp_path / "a.yaml", f"turn-{turn}")
        seen += shown(folder.poll())
    assert seen == ["!", "+b", "+turn-7"]


def test_a_renamed_file_is_one_change_without_a_gap(tmp_path: Path) -> None:
    save(tmp_path / "a.yaml", "a")
    folder = opened(tmp_path)
    (tmp_path / "a.yaml").rename(tmp_path / "b.yaml")
    assert settled(folder) == []


def test_a_broken_file_keeps_its_content_until_it_is_repaired(tmp_path: Path) -> None:
    save(tmp_path / "a.yaml", "a")
    folder = opened(tmp_path)
    save(tmp_path / "a.yaml", text="a: [")
    assert settled(folder) == ["!a.yaml"]
    save(tmp_path / "a.yaml", "a", "b")
    assert settled(folder) == ["!", "+b"]


def test_an_emptied_file_keeps_its_content(tmp_path: Path) -> None:
    save(tmp_path / "a.yaml", "a")
    folder = opened(tmp_path)
    save(tmp_path / "a.yaml", text="")
    assert settled(folder) == ["!a.yaml"]


def test_mounted_config_maps_are_followed_through_their_links(tmp_path: Path) -> None:
    save(tmp_path / "..one" / "a.yaml", "one")
    save(tmp_path / "..two" / "a.yaml", "two")
    (tmp_path / "..data").symlink_to("..one")
    (tmp_path / "a.yaml").symlink_to("..data/a.yaml")
    folder = opened(tmp_path)
    (tmp_path / "..new").symlink_to("..two")
    (tmp_path / "..new").rename(tmp_path / "..data")
    assert settled(folder) == ["+two", "-one"]


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    save(tmp_path / "sub" / "a.yaml", "a")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    assert settled(opened(tmp_path)) == []


def test_directories_are_followed_32_deep_and_deeper_ones_are_a_finding(tmp_path: Path) -> None:
    read, deeper = tmp_path.joinpath(*["d"] * 32), tmp_path.joinpath(*["d"] * 600)
    save(read / "a.yaml", "a")
    deeper.mkdir(parents=True)
    events = Folder(tmp_path).open()
    (services,) = (event.objects for event in events if isinstance(event, Replaced) and event.kind is Kind.SERVICE)
    assert [item.metadata.name for item in services] == ["a"]
    (findings,) = (event.findings for event in events if isinstance(event, SourceFindings))
    assert [(finding.name, finding.reason) for finding in findings] == [("/".join(["d"] * 33), "FolderUnreadable")]
    assert "more than 32 directories deep" in findings[0].message


def test_a_file_that_grows_too_large_keeps_its_content_until_it_is_repaired(tmp_path: Path) -> None:
    save(tmp_path / "a.yaml", "a")
    folder = opened(tmp_path)
    # Sparse: it takes no space on disk, and more than all memory if it were read.
    os.truncate(tmp_path / "a.yaml", 2**40)
    assert settled(folder) == ["!a.yaml"]
    assert settled(folder) == []
    save(tmp_path / "a.yaml", "a", "b")
    assert settled(folder) == ["!", "+b"]


def test_a_file_name_that_is_no_text_is_read(tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(b"\xff.yaml")
    try:
        save(place, "a")
    except OSError:
        pytest.skip("the file system takes text only")
    folder = opened(tmp_path)
    save(place, text="a: [")
    assert settled(folder) == ["!\\udcff.yaml"]


def test_a_file_that_turns_unreadable_keeps_its_content(tmp_path: Path) -> None:
    save(tmp_path / "a.yaml", "a")
    folder = opened(tmp_path)
    (tmp_path / "a.yaml").unlink()
    (tmp_path / "a.yaml").symlink_to("a.yaml")
    assert settled(folder) == ["!a.yaml"]
    (tmp_path / "a.yaml").unlink()
    save(tmp_path / "a.yaml", "b")
    assert sorted((*settled(folder), *settled(folder))) == ["!", "+b", "-a"]


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read")
def test_a_file_that_fails_to_read_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to("/proc/self/mem")
    folder = Folder(tmp_path)
    assert shown(folder.open())[0] == "!a.yaml"
    assert settled(folder) == []
    (tmp_path / "a.yaml").unlink()
    save(tmp_path / "a.yaml", "a")
    assert settled(folder) == ["!", "+a"]


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that opens and cannot be read")
def test_a_file_that_was_unreadable_for_a_while_is_read_again_even_if_it_is_the_same(tmp_path: Path) -> None:
    save(tmp_path / "a.yaml", "a")
    folder = opened(tmp_path)
    (tmp_path / "a.yaml").rename(tmp_path / "kept")
    (tmp_path / "a.yaml").symlink_to("/proc/self/mem")
    assert settled(folder) == ["!a.yaml"]
    (tmp_path / "kept").rename(tmp_path / "a.yaml")
    assert settled(folder) == ["!"]


def test_a_link_to_nowhere_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to("nowhere")
    assert shown(Folder(tmp_path).open())[0] == "!."


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    (tmp_path / "directory.yaml").mkdir()
    assert settled(opened(tmp_path)) == []


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_folder_that_cannot_be_read_is_one_clear_line(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderUnreadable) as refused:
        Folder(tmp_path / name).open()
    assert str(refused.value).startswith(f"cannot read manifest folder {tmp_path / name}: ")
    assert "\n" not in str(refused.value)


def test_a_folder_that_disappears_later_keeps_its_content_until_it_is_back(tmp_path: Path) -> None:
    directory = tmp_path / "manifests"
    save(directory / "a.yaml", "a")
    folder = opened(directory)
    directory.rename(tmp_path / "away")
    assert settled(folder) == ["!."]
    assert settled(folder) == []
    (tmp_path / "away").rename(directory)
    assert settled(folder) == ["!"]


async def test_watching_begins_with_everything_and_goes_on_with_changes(tmp_path: Path) -> None:
    save(tmp_path / "a.yaml", "a")
    known = Inventory()
    async with asyncio.timeout(30), aclosing(FolderSource(tmp_path, poll_seconds=0.01).events()) as events:
        async for event in events:
            known.apply(event)
            if known.complete and isinstance(event, SourceFindings):
                break
        assert known.service("default", "a")
        save(tmp_path / "b.yaml", "b")
        assert shown([await anext(events)]) == ["+b"]


async def test_what_is_wanted_is_answered_once_the_last_event_of_a_look_has_been_yielded(tmp_path: Path) -> None:
    save(tmp_path / "a.yaml", "a")
    source = FolderSource(tmp_path, poll_seconds=0.01)
    answers = []
    async with asyncio.timeout(30), aclosing(source.events()) as events:
        for _ in (*Kind, SourceFindings):
            await anext(events)
            answers.append(source.want(Wanted()))
        assert answers == [False] * len(Kind) + [True]
        save(tmp_path / "a.yaml", "b", "c", "d")
        assert shown([await anext(events)]) == ["-a"]
        assert not source.want(Wanted())


async def test_watching_an_unreadable_folder_fails_at_once(tmp_path: Path) -> None:
    with pytest.raises(FolderUnreadable):
        await anext(FolderSource(tmp_path / "missing").events())
