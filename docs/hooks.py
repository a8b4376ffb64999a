"""Adds `papers/` and `data/` to the site, beside the pages of `docs/`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parent.parent
FOLDERS: Final = ("data", "papers")


def on_files(files: Files, *, config: MkDocsConfig) -> None:
    """Adds all files of the folders."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.*")):
            files.append(File.generated(config, path.relative_to(ROOT).as_posix(), abs_src_path=str(path)))


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - as called
    """Rewrites links between the folders and `docs/`, which is the root of the site."""
    if page.file.src_uri.startswith(FOLDERS):
        return markdown.replace("](../../docs/", "](../../")
    return re.sub(rf"\]\(\.\./((?:\.\./)*(?:{'|'.join(FOLDERS)})/)", r"](\1", markdown)
