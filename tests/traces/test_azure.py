from __future__ import annotations

import pytest

from iac_lib.traces.azure import load_azure
from iac_lib.traces.errors import TraceError

HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens\n"


def test_times_count_from_the_first_request(tmp_path):
    path = tmp_path / "conv.csv"
    path.write_text(HEADER + "2023-11-16 23:59:59.5000000,374,44\n2023-11-17 00:00:01.7500000,39,0")
    trace = load_azure(path)
    assert trace.column("arrival_s").tolist() == [0.0, 2.25]
    assert trace.column("input_tokens").tolist() == [374, 39]
    assert trace.column("turn").tolist() == [1, 1]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("yesterday,1,1", r"conv\.csv: row 3: TIMESTAMP = 'yesterday': must be a time"),
        ("2023-11-16 18:00:00.0000000,1,1", r"row 3: TIMESTAMP = .*: is earlier than the row"),
        ("2023-11-16 19:00:00.0000000,0,1", r"row 3: ContextTokens = 0: must be at least 1"),
        ("2023-11-16 19:00:00.0000000,1,", r"row 3: GeneratedTokens = '': must be a number"),
        ("2023-11-16 19:00:00.0000000,1.5,1", r"row 3: ContextTokens = '1.5': must be a number"),
    ],
)
def test_bad_rows(tmp_path, line, says):
    path = tmp_path / "conv.csv"
    path.write_text(f"{HEADER}2023-11-16 18:15:46.6805900,374,44\n{line}\n")
    with pytest.raises(TraceError, match=says):
        load_azure(path)


def test_published_trace(real):
    trace = load_azure(real("azure-llm-2023/conv.csv"))
    assert len(trace) == 19_366
    assert trace.column("arrival_s")[-1] == pytest.approx(3501.7, abs=0.1)
    assert trace.column("input_tokens").mean() == pytest.approx(1154.7, abs=0.1)
