"""The README as PyPI shows it: links and pictures of the repository do not exist there."""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PICTURE = re.compile(r"!\[([^\]]*)\]\((?!https?:)[^)]+\)\n*")
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")


def for_pypi(text: str, source: str | None) -> str:
    """Let relative links lead to the address of the source, or, if there is none, name the file instead."""
    text = PICTURE.sub("", text)
    if source is None:
        return LINK.sub(lambda found: found[1] if found[1] == found[2] else f"{found[1]} ({found[2]})", text)
    return LINK.sub(lambda found: f"[{found[1]}]({source}/blob/HEAD/{found[2]})", text)


class ReadmeHook(MetadataHookInterface):
    """Sets the `readme` of the package when it is built."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add the README to the metadata."""
        text = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        source = metadata.get("urls", {}).get("Source")
        metadata["readme"] = {"content-type": "text/markdown", "text": for_pypi(text, source)}
