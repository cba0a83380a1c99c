"""The report judges from tables, says what was not run, and never takes a verdict on trust."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
import yaml

from iac_lib import claims
from iac_lib.report import (
    BEGIN,
    END,
    FAILS,
    HOLDS,
    WITHIN,
    main,
    make_report,
    put_between_marks,
)

ROOT = Path(__file__).parents[1]
REPORTED = ROOT / "data" / "paper" / "reported.yaml"
FIGURES = ROOT / "figures"


def write(folder: Path, name: str, rows: list[dict]) -> None:
    pd.DataFrame(rows).assign(data="synthetic test").to_csv(folder / f"{name}.csv", index=False)


def windows(median: float, mean: float, mode: float) -> list[dict]:
    values = {"iac": median, "iac mean": mean, "iac mode": mode}
    return [{"policy": p, "capacity_tokens": 80_000, "mean": v} for p, v in values.items()]


def verdict(folder: Path, claim: str) -> str:
    return make_report(folder, REPORTED).set_index("claim").loc[claim, "verdict"]


def test_every_claim_of_every_paper_has_a_row():
    report = make_report(FIGURES, REPORTED)
    papers = yaml.safe_load(REPORTED.read_text(encoding="utf-8"))
    assert list(report["claim"]) == [c["id"] for p in papers.values() for c in p["claims"]]
    assert report["verdict"].str.fullmatch(f"{HOLDS}|{WITHIN}|{FAILS}|not run: .+").all()


def test_a_verdict_follows_the_numbers(tmp_path):
    write(tmp_path, "fig09_window", windows(0.3, 0.2, 0.1))
    assert verdict(tmp_path, "iac-median") == HOLDS
    write(tmp_path, "fig09_window", windows(0.3, 0.31, 0.1))
    assert verdict(tmp_path, "iac-median") == FAILS


def test_without_its_table_a_claim_was_not_run(tmp_path):
    assert verdict(tmp_path, "iac-median") == "not run: fig09_window.csv is missing"


def test_an_ambiguous_table_is_refused(tmp_path):
    table = pd.DataFrame({"policy": ["iac", "iac"], "mean": [0.1, 0.2]})
    with pytest.raises(ValueError, match="2 rows match"):
        claims.pick(table, policy="iac")


def test_checks_are_for_claims_that_exist():
    papers = yaml.safe_load(REPORTED.read_text(encoding="utf-8"))
    assert set(claims.CHECKS) <= {c["id"] for p in papers.values() for c in p["claims"]}


@pytest.mark.parametrize("claim", sorted(claims.CHECKS))
def test_every_check_can_say_no(claim, tmp_path):
    """Turned upside down, tables for which a claim holds must make it fail."""
    check = claims.CHECKS[claim]
    for name in check.tables:
        table = pd.read_csv(FIGURES / f"{name}.csv")
        table["mean"] = 1 - table["mean"]
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    verdicts = {verdict(FIGURES, claim), verdict(tmp_path, claim)}
    assert FAILS in verdicts


def test_orderings_are_named_with_their_numbers():
    table = pd.read_csv(FIGURES / "table_sharegpt.csv")
    sentences = claims.name_orderings(table)
    rows = table.set_index("policy")["mean"]
    said = "holds" if rows["iac"] > rows["lpc"] else "does not hold"
    assert any(s.startswith(f"iac above lpc: {said}") for s in sentences)
    assert any(s.startswith("iac above iac-no-intent: ") for s in sentences)
    unlabelled = claims.name_orderings(table[~table["policy"].isin(["iac", "lpc"])])
    assert any(s.startswith("iac-no-intent above lpc-by-turn: holds") for s in unlabelled)
    assert f"{100 * rows['lru']:.1f} against {100 * rows['lfu']:.1f} %" in " ".join(sentences)


def test_the_readme_gets_the_table_and_keeps_the_rest():
    text = put_between_marks(f"before {BEGIN} old {END} after", "| new |\n")
    assert text.startswith("before ") and text.endswith(" after")
    assert "| new |" in text and "old" not in text
    with pytest.raises(ValueError, match="marks"):
        put_between_marks("no marks", "")


def test_the_committed_report_is_what_the_figures_say(tmp_path):
    copy = tmp_path / "figures"
    shutil.copytree(FIGURES, copy)
    main(["--root", str(ROOT), "--figures", str(copy)])
    for name in ("report.csv", "report.md"):
        assert (copy / name).read_bytes() == (FIGURES / name).read_bytes(), "run `make figures`"
    assert (FIGURES / "report.md").read_text(encoding="utf-8") in (ROOT / "README.md").read_text(
        encoding="utf-8"
    )
