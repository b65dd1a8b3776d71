"""A map of the Atlas: every entity a dot, near those whose pages use the same words."""

from collections import defaultdict

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.manifold import TSNE

from .facts import SEED

TIERS = {1: ("#d1762b", 26), 2: ("#4878a8", 13), 3: ("#999999", 6)}  # colour, area in points²
plt.rcParams |= {"svg.hashsalt": "atlas", "svg.fonttype": "none", "font.family": "sans-serif"}


def layout(world, passages):
    """A place on the page for every entity, shape (n_entities, 2)."""
    pages = defaultdict(list)
    for p in passages:
        pages[p["title"].rsplit(" (", 1)[0]].append(p["text"])
    texts = [" ".join(pages[e.title]) for e in world.entities]
    words = TfidfVectorizer(sublinear_tf=True, stop_words="english").fit_transform(texts)
    topics = TruncatedSVD(50, random_state=SEED).fit_transform(words)  # (n_entities, 50)
    return TSNE(random_state=SEED, init="pca", perplexity=25).fit_transform(topics)


def draw(world, passages, path):
    """Write the map as an SVG file: colour and size show fame, words name the domains."""
    places = layout(world, passages)
    figure, axes = plt.subplots(figsize=(7, 5))
    for tier, (colour, size) in sorted(TIERS.items(), reverse=True):
        rows = [i for i, e in enumerate(world.entities) if e.tier == tier]
        axes.scatter(
            *places[rows].T, s=size, c=colour, alpha=0.8, lw=0, label=f"tier {tier} ({len(rows)})"
        )
    for domain in sorted({e.domain for e in world.entities}):
        rows = [i for i, e in enumerate(world.entities) if e.domain == domain]
        axes.annotate(
            domain, np.median(places[rows], axis=0), (0, 9), textcoords="offset points",
            ha="center", bbox={"boxstyle": "round,pad=0.1", "fc": "w", "ec": "none", "alpha": 0.7},
        )  # fmt: skip
    axes.set(xticks=[], yticks=[], title="Pages of one domain lie together")
    axes.legend(title="fame", frameon=False, loc="lower left", bbox_to_anchor=(0.92, 0))
    axes.spines[:].set_visible(False)
    figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
