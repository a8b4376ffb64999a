"""HTML representations for notebooks, without scripts."""

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
    """Returns the environment of the templates. Text is escaped, because names come from users."""
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
    """Renders a piece of HTML.

    Args:
        views: Tables.
        title: Heading; may be empty.
        alarms: Errors and warnings.
        summary: Summary of a run, whose verdicts are shown first.
        sentences: Text below the tables.
        picture: SVG at the end.
        alt: Alternative text of the picture.
    """
    template = environment().get_template("fragment.html.j2")
    return template.render(
        views=[*views], title=title, alarms=alarms, summary=summary, sentences=sentences, picture=picture, alt=alt
    )
