"""One cell's output as the site shows it: pictures alive, stills with their texts, questions to answer."""

import ast
import base64
import hashlib
import html
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from nbformat import NotebookNode

from mha_lib.widgets.base import MIME
from mha_lib.widgets.questions import question, quiz_questions

from .questions import answer, ask

# A corner that names nothing is no heading: a screen reader would read out an empty one.
EMPTY_HEADING, CORNER = '<th scope="col"></th>', "<td></td>"
NEEDS_KERNEL = "A still: this console computes with PyTorch, so it needs the notebook."


@dataclass
class Rewriter:
    """Rewrites the cells of one page; `up` leads from it to the site's root.

    Collects the `modules` of the pictures it met; writes stills into `stills`.
    """

    up: str
    stills: Path
    modules: set[str] = field(default_factory=set)

    def cell(self, cell: NotebookNode) -> None:
        """Rewrite a code cell's outputs in place."""
        shown = shown_by(cell.source)
        for output in cell.outputs:
            if "data" in output:
                data = self._data(output.data, shown)
                if "text/html" in data:
                    data["text/html"] = data["text/html"].replace(EMPTY_HEADING, CORNER)
                output.data = data
                output.metadata = NotebookNode()

    def _data(self, data: NotebookNode, shown: "Shown") -> NotebookNode:
        if MIME in data:
            return NotebookNode({"text/html": self.picture(json.loads(data[MIME]), data["text/html"])})
        if shown.question:
            return NotebookNode({"text/html": shown.question})
        if "image/png" in data:
            return NotebookNode({"text/html": self.still(data["image/png"], data["text/plain"])})
        if shown.widget:
            note = f'<p class="mha-site-note">{html.escape(NEEDS_KERNEL)}</p>'
            return NotebookNode(
                {"text/html": f'<div class="mha-site-console">{note}{data["text/html"]}</div>'}
            )
        return data

    def picture(self, state: dict, fallback: str) -> str:
        """Return a picture that moves once its script has run, and its fallback until then."""
        self.modules.add(state["module"])
        plain = json.dumps(state["state"], separators=(",", ":")).replace("<", "\\u003c")
        name = html.escape(state["title"], quote=True)
        return (
            f'<div class="mha-site-live" role="group" aria-label="{name}" data-module="{state["module"]}">'
            f'<div class="mha-site-picture"></div><div class="mha-site-fallback-box">{fallback}</div>'
            f'<script type="application/json">{plain}</script></div>'
        )

    def still(self, png: str, alt: str) -> str:
        """Write the picture to a file of its own; return the tag that shows it with its text."""
        content = base64.b64decode(png)
        name = f"{hashlib.sha256(content).hexdigest()[:16]}.png"
        self.stills.mkdir(parents=True, exist_ok=True)
        (self.stills / name).write_bytes(content)
        words = html.escape(alt.removeprefix("[picture]").strip(), quote=True)
        return (
            f'<img class="mha-site-still" loading="lazy" src="{self.up}_static/stills/{name}" alt="{words}">'
        )


@dataclass(frozen=True)
class Shown:
    """What a cell shows by its last line: a question, as HTML, or a widget."""

    question: str = ""
    widget: bool = False


def shown_by(source: str) -> Shown:
    """Read a cell's last expression: mha.predict(…), mha.reveal(…), mha.quiz(…), mha.widgets.X(…)."""
    try:
        last = ast.parse(source).body[-1]
    except (SyntaxError, IndexError):
        return Shown()
    if not isinstance(last, ast.Expr) or not isinstance(call := last.value, ast.Call):
        return Shown()
    match call.func:
        case ast.Attribute(ast.Name("mha"), "predict" | "reveal" | "quiz" as kind):
            arguments = [ast.literal_eval(value) for value in call.args]
            named = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
            return Shown(question=QUESTIONS[kind](*arguments, **named))
    names = (node.attr for node in ast.walk(call.func) if isinstance(node, ast.Attribute))
    return Shown(widget="widgets" in names)


def _quiz(*given: str, **named: list[str]) -> str:
    asked = quiz_questions(*given, **named)
    return "".join(ask(one, at_once=f"{number} of {len(asked)}") for number, one in enumerate(asked, 1))


QUESTIONS: dict[str, Callable[..., str]] = {
    "predict": lambda name: ask(question(name)),
    "reveal": lambda name: answer(question(name)),
    "quiz": _quiz,
}
