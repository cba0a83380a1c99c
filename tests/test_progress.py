from iac_lib.progress import progress


def test_passes_everything_on_under_a_bar(monkeypatch, capsys):
    monkeypatch.delenv("IAC_PROGRESS", raising=False)
    assert list(progress(iter(range(3)), "replaying", total=3)) == [0, 1, 2]
    assert "replaying" in capsys.readouterr().err


def test_can_be_switched_off(monkeypatch, capsys):
    monkeypatch.setenv("IAC_PROGRESS", "0")
    items = [1, 2]
    assert progress(items, "replaying") is items
    assert capsys.readouterr().err == ""
