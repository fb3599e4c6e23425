"""Where in the user's code something happened."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a Python stack.

    ``file`` is the path as Python knows it, ``line`` counts from 1, ``function`` is the name of the code object, ``code`` is the stripped source
    line, empty when the file cannot be read.
    """

    file: str
    line: int
    function: str
    code: str = ""

    @property
    def place(self) -> str:
        """``file:line``, the form that editors and terminals turn into a link."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class Location:
    """The line where a person must act, and how the program came to it.

    ``frame`` is the innermost frame of the user's own code, ``called_from`` the user frames around it, innermost first, and ``library`` the
    frame inside TensorFlow, Keras or another installed package that the user's line led to. ``inside`` names the functions of such packages on the
    way there, outermost first; a report does not keep them.
    """

    frame: Frame
    called_from: tuple[Frame, ...] = ()
    library: Frame | None = None
    inside: tuple[str, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def new(cls, file: str, line: int, function: str = "", code: str = "") -> Location:
        """A location of one frame, for tests and simple cases."""
        return cls(Frame(file, line, function, code))

    @property
    def file(self) -> str:
        return self.frame.file

    @property
    def line(self) -> int:
        return self.frame.line

    @property
    def function(self) -> str:
        return self.frame.function

    @property
    def code(self) -> str:
        return self.frame.code

    @property
    def place(self) -> str:
        """``file:line`` of the innermost user frame."""
        return self.frame.place

    @property
    def key(self) -> tuple[str, int]:
        """What makes two locations the same place in the code."""
        return (self.frame.file, self.frame.line)
