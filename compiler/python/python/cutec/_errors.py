"""What goes wrong, as exceptions with their data. The extension module raises them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Sequence


@dataclass(frozen=True)
class Span:
    """A place in a source: lines and columns from 1, columns in characters, and offsets in bytes."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int
    start: int
    end: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


@dataclass(frozen=True)
class Label:
    """A place, and what there is to say about it."""

    span: Span
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """An error, a warning or a remark of the compiler. `cutec explain CODE` says more about its code."""

    code: str
    severity: str
    message: str
    labels: list[Label] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    help: str | None = None
    #: With the lines of the source.
    rendered: str = ""

    @property
    def span(self) -> Span | None:
        """Where it is, the first of its places."""
        return self.labels[0].span if self.labels else None

    def __str__(self) -> str:
        return self.rendered or self.message


class CutecError(Exception):
    """What every error of this package is. It may be pickled, with its data."""

    #: What it was made of.
    _made: tuple[Any, ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), self._made or self.args)


class _WithDiagnostics(CutecError):
    def __init__(self, rendered: str, diagnostics: Sequence[Diagnostic] = ()):
        super().__init__(rendered)
        self.diagnostics = list(diagnostics)
        self._made = (rendered, self.diagnostics)

    @property
    def rendered(self) -> str:
        """The message, with the lines of the source."""
        return str(self.args[0])

    @property
    def code(self) -> str | None:
        """The code of the first error, such as `E0101`."""
        codes = (found.code for found in self.diagnostics if found.severity == "error")
        return next(codes, None)

    @property
    def span(self) -> Span | None:
        """Where the first error is."""
        errors = (found for found in self.diagnostics if found.severity == "error")
        first = next(errors, None)
        return first.span if first else None

    def __str__(self) -> str:
        # Below the name of the exception, so that the drawing stands as it is meant.
        return f"\n{self.rendered}" if self.diagnostics else self.rendered


class CompileError(_WithDiagnostics):
    """A source does not compile. `failures` are what went wrong apart from the source."""

    def __init__(
        self,
        rendered: str,
        diagnostics: Sequence[Diagnostic] = (),
        failures: Sequence[str] = (),
    ):
        super().__init__(rendered, diagnostics)
        self.failures = list(failures)
        self._made = (rendered, self.diagnostics, self.failures)


class LaunchError(CutecError):
    """A launch is refused, or went wrong."""


class ArgumentError(LaunchError, ValueError):
    """The arguments do not fit the kernel; nothing was launched."""

    def __init__(self, message: str, kind: str, argument: str | None = None):
        super().__init__(message)
        #: What does not fit: `DType`, `Rank`, `Stride`, `Align`, `TiedExtent`, `Divisibility`, ….
        self.kind = kind
        #: The name of the argument, where it is one.
        self.argument = argument
        self._made = (message, kind, argument)


class KernelError(_WithDiagnostics, LaunchError):
    """The simulator found the kernel doing what it must not: an access out of bounds, a read of memory that nobody wrote,
    a barrier that not all threads reach."""


class RaceError(KernelError):
    """Two accesses to the same memory that nothing orders."""


class DeviceError(CutecError, RuntimeError):
    """A device is not there, or failed."""
