"""What objects show of themselves in a notebook: pieces of HTML without scripts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

import jinja2

from backwater import style

if TYPE_CHECKING:
    from backwater.summary import Summary
    from backwater.views.view import View


@cache
def environment() -> jinja2.Environment:
    """What renders templates; text is escaped, since names come from users."""
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("backwater"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    made.globals["style"] = style
    return made


def fragment(
    views: Iterable[View],
    title: str = "",
    alarms: Sequence[str] = (),
    summary: Summary | None = None,
    sentences: Sequence[str] = (),
    picture: str = "",
    alt: str = "",
) -> str:
    """A piece of HTML.

    Args:
        views: Tables.
        title: Heading, if the tables' titles do not do.
        alarms: What is wrong, or may be.
        summary: Of a run, whose verdicts come first.
        sentences: What is said below the tables.
        picture: An SVG, below all.
        alt: What is said where the picture is not seen.
    """
    template = environment().get_template("fragment.html.j2")
    return template.render(
        views=[*views], title=title, alarms=alarms, summary=summary, sentences=sentences, picture=picture, alt=alt
    )
