"""MkDocs hooks: pages from the root of the repository, links to files outside `docs`, and pages that have moved.

Pages link to each other by their paths in the repository, so that the links work there too. The site has no files
outside `docs`; links to those lead to the source. Links to a moved page lead to the new page.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
FROM_ROOT = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "SECURITY.md": "security-policy.md",
    "README.md": "index.md",
}
LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)\s#]+)(#[^)\s]*)?(?=\))")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are at the root of the repository."""
    for source, page in FROM_ROOT.items():
        if page != "index.md":
            files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Turn links between files of the repository into links between pages of the site."""
    uri = page.file.src_uri
    origin = next((source for source, name in FROM_ROOT.items() if name == uri and uri != "index.md"), f"docs/{uri}")
    moves: dict[str, str] = config.plugins["redirects"].config["redirect_maps"]

    def rewritten(match: re.Match[str]) -> str:
        path, anchor = match[1], match[2] or ""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
        name = FROM_ROOT.get(target) or target.removeprefix("docs/")
        if name in moves:
            return posixpath.relpath(moves[name], posixpath.dirname(uri) or ".")
        if target in FROM_ROOT or (target.startswith("docs/") and files.get_file_from_path(name)):
            return posixpath.relpath(name, posixpath.dirname(uri) or ".") + anchor
        return f"{config.repo_url}{target}" if (ROOT / target).exists() else match[0]

    return LINK.sub(rewritten, markdown)
