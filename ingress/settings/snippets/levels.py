"""What a snippet says for one level of nginx's configuration, and how the levels go together at a path.

Values only. Does not know how a snippet is written, nor whose snippet a level is.
"""

from __future__ import annotations

from enum import Enum

import msgspec

from balancer.model.scripts import Criterion, Expiry, FieldBeside, FieldChange, OrderedEdits, PlainStep


class SnippetPlace(Enum):
    """Where a snippet stands in nginx's configuration."""

    HTTP = "http"
    SERVER = "server"
    LOCATION = "location"


class AccessEntry(msgspec.Struct, frozen=True):
    """One line of allow or deny: the networks that it names, of IPv4 and IPv6."""

    allows: bool
    networks: tuple[str, ...]


class Fields(msgspec.Struct, frozen=True):
    """What a level says about fields of responses. None: nothing, so the level above counts."""

    hidden: tuple[str, ...] | None = None
    changes: tuple[FieldChange, ...] = ()
    expiry: Expiry | None = None
    says_expiry: bool = False
    beside: tuple[FieldBeside, ...] | None = None

    def within(self, outer: Fields) -> Fields:
        """This level inside of `outer`. Only changes come beside those of the level above (headers-more)."""
        return Fields(
            hidden=outer.hidden if self.hidden is None else self.hidden,
            changes=outer.changes + self.changes,
            expiry=self.expiry if self.says_expiry else outer.expiry,
            says_expiry=self.says_expiry or outer.says_expiry,
            beside=outer.beside if self.beside is None else self.beside,
        )

    @property
    def edits(self) -> OrderedEdits:
        """What responses get where no level is inside of this one."""
        return OrderedEdits(self.hidden or (), self.changes, self.expiry, self.beside or ())


class LevelCondition(msgspec.Struct, frozen=True):
    """A directive `if`, with the steps and the fields in its block."""

    test: Criterion
    steps: tuple[PlainStep, ...] = ()
    fields: Fields = Fields()


LevelStep = PlainStep | LevelCondition


class Level(msgspec.Struct, frozen=True):
    """Everything that a snippet says. `request_fields` are names and texts that endpoints get. `access` None: nothing.

    `useless` are sentences about lines that change nothing in ingress-nginx either.
    """

    fields: Fields = Fields()
    access: tuple[AccessEntry, ...] | None = None
    request_fields: tuple[tuple[str, str], ...] = ()
    steps: tuple[LevelStep, ...] = ()
    useless: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the level changes nothing."""
        return self == Level(useless=self.useless)

    def followed_by(self, other: Level) -> Level:
        """This level with another snippet of the same level behind it."""
        mine, its = self.fields, other.fields
        fields = Fields(
            hidden=_joined(mine.hidden, its.hidden),
            changes=mine.changes + its.changes,
            expiry=its.expiry if its.says_expiry else mine.expiry,
            says_expiry=mine.says_expiry or its.says_expiry,
            beside=_joined(mine.beside, its.beside),
        )
        return Level(
            fields=fields,
            access=_joined(self.access, other.access),
            request_fields=self.request_fields + other.request_fields,
            steps=self.steps + other.steps,
            useless=self.useless + other.useless,
        )


def _joined(first: tuple | None, second: tuple | None) -> tuple | None:  # type: ignore[type-arg]
    if first is None or second is None:
        return second if first is None else first
    return first + second
