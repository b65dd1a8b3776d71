"""The pages: built strictly from what is committed, read without a network, no link to nothing."""

import ast
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from checkout import ROOT, copy_checkout

BUILD = ["jupyter-book", "build", ".", "-W", "-n", "--keep-going", "--all"]
# What a reader's virtual environment may hold: files that only look like pages.
DECOYS = {
    ".venv/lib/broken.ipynb": "{ not json",
    ".venv/lib/broken.md": "# No\n\n```{no-such-directive}\n```\n\n[nowhere](nowhere.md)\n",
    ".venv/share/broken.rst": ".. no-such-directive::\n",
    "notebooks/.ipynb_checkpoints/00_one_question-checkpoint.ipynb": "{ not json",
}


class Page(HTMLParser):
    """What a page asks for (`assets`), links to (`links`), offers (`ids`), and runs (`scripts`)."""

    def __init__(self, path):
        super().__init__()
        self.path, self.assets, self.links, self.ids, self.scripts = path, [], [], set(), []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.ids |= {attributes.get("id"), attributes.get("name")}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        elif tag == "link":
            self.assets.append(attributes["href"])
        if attributes.get("src"):
            self.assets.append(attributes["src"])

    def handle_data(self, data):
        if self.cdata_elem == "script":
            self.scripts.append(data)

    def target(self, link):
        """The local file that a link or an asset names, and the place in it."""
        parts = urlsplit(link)
        file = self.path.parent / unquote(parts.path) if parts.path else self.path
        return file.resolve(), unquote(parts.fragment)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The built pages, as a dictionary from a page's name to the page."""
    root = copy_checkout(tmp_path_factory.mktemp("book"))
    for name, text in DECOYS.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    program = Path(sys.executable).with_name(BUILD[0])
    built = subprocess.run([program, *BUILD[1:]], cwd=root, capture_output=True, encoding="utf-8")
    assert built.returncode == 0, built.stdout + built.stderr
    html = root / "_build" / "html"
    pages = [path for path in html.rglob("*.html") if "_static" not in path.parts]
    return {path.relative_to(html).as_posix(): Page(path) for path in pages}


def listed(node):
    """The pages that the table of contents names, wherever in it."""
    if isinstance(node, dict):
        own = [node[key] for key in ("root", "file") if key in node]
        return own + [name for value in node.values() for name in listed(value)]
    return [name for value in node for name in listed(value)] if isinstance(node, list) else []


def test_every_page_of_the_contents_is_built_and_can_be_searched(site):
    names = listed(yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8")))
    assert len(names) > 10
    assert {f"{name}.html" for name in names} <= site.keys()
    index = site["search.html"].path.with_name("searchindex.js").read_text(encoding="utf-8")
    assert all(f'"{name}"' in index for name in names)


def test_no_page_shows_a_traceback(site):
    assert not [name for name, page in site.items() if "highlight-ipythontb" in page.text]


def test_pages_need_nothing_from_elsewhere(site):
    for name, page in site.items():
        local = [asset for asset in page.assets if not asset.startswith("data:")]
        assert not [asset for asset in local if urlsplit(asset).netloc], name
        assert not [asset for asset in local if not page.target(asset)[0].exists()], name
        assert not [script for script in page.scripts if "://" in script], name
    for sheet in site["search.html"].path.parent.rglob("*.css"):
        calls = r"(?:url\(|@import)\s*['\"]?(?:https?:)?//"
        assert not re.search(calls, sheet.read_text(encoding="utf-8")), sheet


def test_formulas_are_drawn_by_a_script_of_our_own(site):
    page = site["book/notation.html"]
    script = next(asset for asset in page.assets if "tex-svg-full.js" in asset)
    assert page.target(script)[0].stat().st_size > 1_000_000


def test_no_link_leads_to_nothing(site):
    pages = {page.path.resolve(): page for page in site.values()}
    for name, page in site.items():
        for link in page.links:
            if urlsplit(link).scheme:
                continue
            file, place = page.target(link)
            assert file.exists(), f"{name}: {link}"
            assert not place or place in pages[file].ids, f"{name}: {link}"


def test_every_module_has_its_entry_on_the_page_of_the_package(site):
    modules = {path.stem for path in ROOT.glob("skillrag_lite/*.py") if path.stem[0] != "_"}
    entries = {name[4:] for name in site["book/api.html"].ids if name and name.startswith("api-")}
    assert entries == modules


def test_a_module_imports_only_from_those_above_it_on_that_page():
    page = (ROOT / "book/api.md").read_text(encoding="utf-8")
    order = " ".join(re.findall(r"\{package-api\} (.*)", page)).split()
    for place, module in enumerate(order):
        source = (ROOT / "skillrag_lite" / f"{module}.py").read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.level:
                named = [node.module] if node.module else [alias.name for alias in node.names]
                assert set(named) <= set(order[:place]), f"{module} imports {named}"


def test_the_readme_shows_and_links_only_what_is_there():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"\]\(([^)#]+)\)|src=\"([^\"]+)\"", text)
    local = [a or b for a, b in named if "://" not in (a or b)]
    assert local and not [name for name in local if not (ROOT / name).exists()]
