"""Formulas without a network: MathJax's one-file build, taken from an installed package.

SVG output, since the script itself draws the glyphs: some browsers refuse to load fonts for a page
that was opened from a folder.
"""

from importlib.resources import files

SCRIPT = files("sphinx-mathjax-offline") / "static" / "mathjax" / "tex-svg-full.js"


def serve_script(app, config):
    config.html_static_path.append(str(SCRIPT))
    config.mathjax_path = SCRIPT.name


def setup(app):
    app.connect("config-inited", serve_script)
    return {"version": "1", "parallel_read_safe": True}
