"""What the site has beside its pages: llms.txt, each page as Markdown, and no link out of the docs."""  # noqa: INP001

import re
import shutil
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUTSIDE = re.compile(r"\[(?P<text>[^\]]+)\]\((?:\.\./)+(?P<path>(?:src|examples|tests|bench)/[^)]+)\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Show what lies outside the docs by its path: a link would lead out of the site."""
    return OUTSIDE.sub(lambda link: link["text"] if "`" in link["text"] else f"`{link['path']}`", markdown)


def on_page_content(html: str, **_: Any) -> str:
    """Show a bar in a cell of a table as GitHub does: without the backslash before it."""
    return re.sub(r"(?s)<td>.*?</td>", lambda cell: cell[0].replace("\\|", "|"), html)


def on_post_build(config: Any, **_: Any) -> None:
    """Put the index for models at the site's root, and beside each page its source."""
    site, docs = Path(config["site_dir"]), Path(config["docs_dir"])
    index = (ROOT / "llms.txt").read_text("utf-8")
    (site / "llms.txt").write_text(index.replace("](docs/", "]("), "utf-8")
    for page in docs.rglob("*.md"):
        shutil.copyfile(page, site / page.relative_to(docs))
