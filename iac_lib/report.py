"""The report: every claim of the papers beside what this kit measured.

Reads ``data/paper/reported.yaml`` and the CSVs behind the figures, and nothing else; a
verdict is computed from them, never typed. A claim whose data are not there is ``not run``
with the reason. Run as ``python -m iac_lib.report``.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import yaml

from iac_lib import claims
from iac_lib.files import write_atomically

HOLDS, FAILS, NOT_RUN = "holds", "does not hold", "not run"
WITHIN = f"{HOLDS}, but intervals overlap"
BEGIN, END = "<!-- report: begin -->", "<!-- report: end -->"


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    claim: str
    text: str
    where: str
    paper: str
    ours: str
    data: str
    verdict: str


def make_report(figures: Path, reported: Path) -> pd.DataFrame:
    """Return one row per claim of `reported`, judged on the CSVs in `figures`.

    Parameters
    ----------
    figures : Path
        Folder of the CSVs that the notebooks wrote.
    reported : Path
        ``reported.yaml``, the papers' numbers.
    """
    papers = yaml.safe_load(reported.read_text(encoding="utf-8"))
    rows = []
    for numbers in papers.values():
        for claim in numbers["claims"]:
            rows.append(judge(claim, numbers, figures))
    return pd.DataFrame([vars(row) for row in rows])


def judge(claim: dict, numbers: dict, figures: Path) -> Row:
    """Return the row of one claim."""
    head = (claim["id"], claim["text"], claim["where"])
    check = claims.CHECKS.get(claim["id"])
    if check is None:
        return Row(*head, "", "", "", f"{NOT_RUN}: its notebook is not part of the kit yet")
    try:
        tables = [pd.read_csv(figures / f"{name}.csv") for name in check.tables]
    except FileNotFoundError as error:
        return Row(*head, "", "", "", f"{NOT_RUN}: {Path(error.filename).name} is missing")
    finding = check.find(numbers, *tables)
    data = ", ".join(dict.fromkeys(d for table in tables for d in table["data"].unique()))
    verdict = HOLDS if finding.holds else FAILS
    if finding.holds and not finding.clear:
        verdict = WITHIN
    return Row(*head, finding.paper, finding.ours, data, verdict)


def to_markdown(report: pd.DataFrame) -> str:
    """Return the report as a Markdown table."""
    head = ["claim", "where", "paper", "ours", "data", "verdict"]
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    for row in report.itertuples():
        verdict = f"**{row.verdict}**" if row.verdict == FAILS else row.verdict
        cells = [row.text, row.where, row.paper, row.ours, row.data, verdict]
        lines.append("| " + " | ".join(str(c).replace("|", "\\|") for c in cells) + " |")
    return "\n".join(lines) + "\n"


def put_between_marks(readme: str, table: str) -> str:
    """Return `readme` with what stands between the report marks replaced by `table`."""
    if readme.count(BEGIN) != 1 or readme.count(END) != 1:
        raise ValueError(f"the README needs the marks {BEGIN} and {END}, once each")
    before, rest = readme.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n\n{table}\n{END}{after}"


def main(arguments: list[str] | None = None) -> int:
    """Write ``report.csv`` and ``report.md`` beside the figures, and the README's table."""
    parser = argparse.ArgumentParser(prog="python -m iac_lib.report", description=main.__doc__)
    parser.add_argument("--root", type=Path, default=Path(), help="the kit's folder (default: .)")
    parser.add_argument("--figures", type=Path, help="folder of the CSVs (default: figures/)")
    options = parser.parse_args(arguments)
    figures = options.figures or options.root / "figures"
    if not (options.root / "data" / "paper").is_dir():
        print(f"{options.root.resolve()} is not the kit's folder: run it there or pass --root")
        return 1
    report = make_report(figures, options.root / "data" / "paper" / "reported.yaml")
    table = to_markdown(report)
    with write_atomically(figures / "report.csv") as path:
        report.to_csv(path, index=False, lineterminator="\n")
    with write_atomically(figures / "report.md") as path:
        path.write_text(table, encoding="utf-8")
    if options.figures is None:
        readme = options.root / "README.md"
        text = put_between_marks(readme.read_text(encoding="utf-8"), table)
        with write_atomically(readme) as path:
            path.write_text(text, encoding="utf-8")
    print(report["verdict"].str.split(":").str[0].value_counts().to_string())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
