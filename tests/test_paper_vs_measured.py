"""The page that holds the papers' numbers against ours: it says what the files say."""

import json
import re

import pytest

from skillrag_lite import data, results
from tools import claim_rules, paper_vs_measured
from tools.claim_rules import GROUPS, RULES, Runs, compare, folders

CLAIMS = data.claims()
OUTCOMES = {  # five questions: three hard cases, one of them stopped by the exit
    "no_retrieval": "1s0 0s0 0s0 0s0 0s0",
    "single_step": "0b1 0b1 0b1 0b1 0b1",
    "flare": "1s0 0s0 0s0 0s0 0s0",
    "dragin": "2s1 2s1 1s1 0s1 0s1",
    "adaptive_rag": "1b1 1b1 1b1 0b1 0b1",
    "probing_rag": "2s1 1b3 0b3 0b3 0b3",
    "skill_rag": "2s1 2s2m 0e1i 0b3qm 1b3qm",
    "skill_rag_no_exit": "2s1 2s2m 1b3qq 0b3qm 1b3qm",
}


@pytest.fixture
def runs(monkeypatch, tmp_path):
    """All five benchmarks, and the chapters' files, with the same made-up outcomes."""
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    files = {name: [{"method": m, "outcomes": o} for m, o in OUTCOMES.items()]
             for name in GROUPS["avg"]}  # fmt: skip
    files["04_skill_prompts"] = [{"method": "score", "n": 9, "llm_calls": 1.0}]
    files["02_probe_training"] = [
        {"method": m, "n": 9, "auroc": value, "auroc_low": 0.4, "auroc_high": 0.9}
        for m, value in (("probe", 0.8), ("free signal", 0.5))
    ]
    for name, rows in files.items():
        (tmp_path / name).mkdir()
        plain = {"profile": "pocket", "model": "m", "made_by": "c", "rows": rows}
        (tmp_path / name / "pocket.json").write_text(json.dumps(plain), "utf-8")
    return Runs()


def test_the_committed_page_is_what_the_results_say():
    assert paper_vs_measured.PAGE.read_text("utf-8") == paper_vs_measured.page(), (
        "run python -m tools.paper_vs_measured"
    )


def test_every_claim_has_one_rule_and_a_place():
    for claim in CLAIMS.values():
        assert sum(bool(re.fullmatch(pattern, claim["id"])) for pattern in RULES) == 1, claim["id"]
        assert folders(claim)
    assert folders(CLAIMS["v1-nq-flare"]) == ("nq",)
    assert folders(CLAIMS["v2-gain-in-domain"]) == data.IN_DOMAIN
    assert folders(CLAIMS["v2-exit-gemma2-9b"]) == GROUPS["avg"]
    assert folders(CLAIMS["router-calls"]) == ("04_skill_prompts",)


@pytest.mark.parametrize(
    "claim, mean, n, same",
    [
        ("v1-nq-no_retrieval", 0.2, 5, None),
        ("v1-nq-single_step", 0.0, 5, True),  # the paper's lies below no retrieval, too
        ("v1-hotpotqa-single_step", 0.0, 5, False),
        ("v1-avg-flare", 0.2, 25, False),  # level with no retrieval, the paper's below
        ("v1-nq-dragin", 0.6, 5, False),
        ("v1-nq-dragin-em", 0.4, 5, True),
        ("v2-rounds-nq-probing_rag", 2.6, 5, None),
        ("v2-rounds-nq-skill_rag", 2.0, 5, True),
        ("v2-share-nq-rewriting", 1 / 3, 6, True),  # labels: m i qm qm
        ("v2-share-musique-exit", 1 / 6, 6, True),
        ("v2-share-nq-focusing", 0.0, 6, False),
        ("v2-gain-musique", 0.2, 5, True),
        ("v2-gain-in-domain", 0.2, 15, False),  # above the paper's bound
        ("v2-saved-musique", 0.6, 5, True),
        ("v2-saved-in-domain", 0.6, 15, False),
        ("v2-qwen-musique", 0.2, 5, True),
        ("v2-qwen-musique-em", 0.2, 5, True),
        ("v2-exit-nq", 1 / 3, 3, None),
        ("v2-exit-gemma2-9b", 1 / 3, 15, None),
        ("v2-exit-cost-low", 1 / 3, 15, True),
        ("v2-exit-saved-high", 2.0, 5, True),
        ("v2-llama-hotpotqa-dragin-em", 0.4, 5, False),
        ("v2-llama-hotpotqa-single_step", 0.0, 5, False),
        ("router-calls", 1.0, 9, False),
        ("orgad-auroc", 0.8, 9, True),
        ("free-auroc", 0.5, 9, False),
    ],
)
def test_a_claim_beside_made_up_runs(runs, claim, mean, n, same):
    found = compare(runs, CLAIMS, CLAIMS[claim])
    assert found[0] == pytest.approx(mean) and found[3:] == (n, same)
    assert found[1] <= found[0] <= found[2]


def test_what_was_not_run_is_said_so(monkeypatch, runs, tmp_path):
    (tmp_path / "musique" / "pocket.json").unlink()
    fewer = Runs()
    for claim in ("v1-musique-flare", "v1-avg-flare", "v2-exit-cost-low"):
        assert compare(fewer, CLAIMS, CLAIMS[claim]) is None
        assert "not measured" in paper_vs_measured.ours(fewer, CLAIMS, CLAIMS[claim])
    assert compare(fewer, CLAIMS, CLAIMS["v1-nq-flare"])
    monkeypatch.setattr(claim_rules.outcomes, "unpack", lambda words: [])
    assert compare(runs, CLAIMS, CLAIMS["v2-exit-nq"]) is None  # no hard case


def test_the_page_names_profile_and_command(runs):
    text = paper_vs_measured.page()
    assert "| ACC FLARE, Gemma2-9B, NQ | 0.364 | 0.20 [0.00, 0.60] | 5 | no | nq, pocket |" in text
    assert "| 5 sets, pocket |" in text and "| nq | pocket | m | `c` |" in text
