"""The one reader of options: the texts of a ConfigMap, a Service or an Ingress become overrides and findings.

Responsible for what happens to a value that does not parse or is too large. It must not know any option by name, nor
what is closed because of a refused value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ingress.findings import Report, Severity, quote
from ingress.settings.table.option import Option, OptionSource, Overrides
from ingress.settings.unsupported import Loss
from ingress.settings.values import HarmlessValue, InvalidValue

_IGNORED = {
    OptionSource.CONFIGMAP: "The default of this key holds.",
    OptionSource.SERVICE: "The annotation has no effect.",
    OptionSource.INGRESS: "The annotation has no effect.",
}


class RefusedValue(msgspec.Struct, frozen=True, gc=False):
    """A value that does not parse, of an option whose default would weaken what its author asks for.

    `why` is a clause such as "Annotation X is Y (use Z)". No finding has been made about it.
    """

    option: Option
    why: str

    @property
    def loss(self) -> Loss:
        """What the value closes, and what would be lost by serving all the same."""
        return self.option.if_invalid


class Reading(msgspec.Struct, frozen=True, gc=False):
    """What one object sets, and its values that close something."""

    overrides: Overrides
    refused: tuple[RefusedValue, ...] = ()


def read_options(
    texts: Mapping[str, str], options: Mapping[str, Option], *, source: OptionSource, report: Report
) -> Reading:
    """The values in `texts` of those names that `options` has; other names are left alone.

    A value that does not parse leaves the default of its option. It is a finding in `report`, or a `RefusedValue` where
    the option protects. So is a number above the most that an Ingress may set: then the most counts.
    """
    values: dict[type[msgspec.Struct], dict[str, Any]] = {}
    refused = []
    for name, text in texts.items():
        if (option := options.get(name)) is None:
            continue
        called = name if source is OptionSource.CONFIGMAP else f"Annotation {name}"
        try:
            value = option.grammar(text if source is OptionSource.CONFIGMAP else _trimmed(text))
        except InvalidValue as problem:
            if option.closes and not isinstance(problem, HarmlessValue):
                refused.append(RefusedValue(option, f"{called} is {quote(text)} ({problem})"))
            else:
                message, effect = f"{called} is {quote(text)}: {problem}.", _IGNORED[source]
                severity = option.if_invalid.severity
                report.add(reason="InvalidValue", message=message, effect=effect, severity=severity)
            continue
        if source is OptionSource.INGRESS and option.most is not None and value > option.most:
            value = option.most
            report.add(
                reason="ValueCapped",
                message=f"{called} is {quote(text)}: the most is {option.most:g}.",
                effect="The largest allowed value is used.",
                severity=Severity.DEGRADED,
            )
        if option.fills is not None:
            struct, field = option.fills
            values.setdefault(struct, {})[field] = value
    return Reading(Overrides(values), tuple(refused))


def _trimmed(text: str) -> str:
    """The value of an annotation without spaces around its lines (ingress-nginx parser: normalizeString)."""
    return "\n".join(line.strip() for line in text.split("\n"))
