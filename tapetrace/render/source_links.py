"""Links from the boxes of a picture to the lines of code that they stand for."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from tapetrace.render.repository import current_folder, path_in_repository, repository_root
from tapetrace.render.scene import SceneNode

Link = Callable[[SceneNode], str]


def links_from(picture: Path) -> Link:
    """For each box a link from a picture at this path, empty where there is no file of the repository to lead to.

    The link is relative, ``../samples/vae.py#L33``: it holds where picture and code are handed on together, and tells nothing of the machine.
    """
    root = repository_root()
    folder = Path(os.path.normpath(current_folder() / picture)).parent

    def link(node: SceneNode) -> str:
        if node.at is None:
            return ""
        file, line = node.at
        try:
            if path_in_repository(file, root) is None or not Path(file).is_file():
                return ""
            way = os.path.relpath(file, folder).replace(os.sep, "/")
        except (OSError, ValueError):  # a name that no file can have, another drive
            return ""
        return f"{quote(way.encode('utf-8', 'surrogatepass'), safe='/')}#L{line}"

    return link
