"""The directive `package-api`: what a module of the package offers, read from its source.

Nothing is imported: the page is built in a moment, and no docstring can upset a strict build.
"""

import ast
import re
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

PACKAGE = "skillrag_lite"


def public(body):
    """The documented functions and classes whose names do not start with an underscore."""
    return [
        node
        for node in body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
        and not node.name.startswith("_")
        and ast.get_docstring(node)
    ]


def signature(node):
    """How a reader calls it: `name(arguments) -> result`, without `self`."""
    if isinstance(node, ast.ClassDef):
        init = next((n for n in node.body if getattr(n, "name", "") == "__init__"), None)
        if init is not None:
            return f"{node.name}({arguments(init)})"
        fields = [field(n) for n in node.body if isinstance(n, ast.AnnAssign)]
        return f"{node.name}({', '.join(fields)})" if fields else node.name
    if any(getattr(d, "id", "") == "property" for d in node.decorator_list):
        return node.name
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{node.name}({arguments(node)}){returns}"


def arguments(function):
    return re.sub(r"^(self|cls)(, )?", "", ast.unparse(function.args))


def field(node):
    """A field of a dataclass, which is an argument of its constructor."""
    if isinstance(node.value, ast.Call):  # field(default_factory=...): say only that there is one
        return f"{ast.unparse(node.target)}: {ast.unparse(node.annotation)} = ..."
    return ast.unparse(node)


def paragraph(docstring):
    """The docstring's first paragraph, with `code` set as code."""
    text = " ".join(docstring.split("\n\n")[0].split())
    parts = re.split(r"`+([^`]+)`+", text)
    inline = [nodes.literal(p, p) if i % 2 else nodes.Text(p) for i, p in enumerate(parts)]
    return nodes.paragraph("", "", *inline)


def entries(body):
    """A definition list: the signature, then what its docstring says, then its public methods."""
    listing = nodes.definition_list(classes=["api"])
    for node in public(body):
        meaning = nodes.definition("", paragraph(ast.get_docstring(node)))
        if isinstance(node, ast.ClassDef) and public(node.body):
            meaning += entries(node.body)
        call = signature(node)
        term = nodes.term("", "", nodes.literal(call, call))
        listing += nodes.definition_list_item("", term, meaning)
    return listing


class PackageApi(SphinxDirective):
    """Document the modules named in the directive's argument, in that order."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self):
        return [self.module(name) for name in self.arguments[0].split()]

    def module(self, name):
        path = Path(self.env.srcdir, PACKAGE, f"{name}.py")
        self.env.note_dependency(str(path))
        tree = ast.parse(path.read_text(encoding="utf-8"))
        title = f"{PACKAGE}.{name}"
        section = nodes.section(ids=[f"api-{name}"], names=[title])
        section += nodes.title("", title)
        section += paragraph(ast.get_docstring(tree) or "")
        if public(tree.body):
            section += entries(tree.body)
        return section


def setup(app):
    app.add_directive("package-api", PackageApi)
    return {"version": "1", "parallel_read_safe": True}
