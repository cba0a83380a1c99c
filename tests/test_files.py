import pytest

from iac_lib.files import write_atomically


def test_writes_the_file_and_makes_its_folder(tmp_path):
    path = tmp_path / "new" / "a.csv"
    with write_atomically(path) as temporary:
        assert temporary.parent == path.parent
        assert temporary.suffix == path.suffix
        temporary.write_text("a")
        assert not path.exists()
    assert path.read_text() == "a"
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_an_interrupted_write_leaves_the_old_file_alone(tmp_path, error):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(error), write_atomically(path) as temporary:
        temporary.write_text("half")
        raise error
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_block_that_writes_nothing_fails(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(FileNotFoundError, match="nothing was written"), write_atomically(path):
        pass
    assert path.read_text() == "old"


def test_readers_may_read_it(tmp_path):
    with write_atomically(tmp_path / "a") as temporary:
        temporary.write_text("a")
    (tmp_path / "b").write_text("b")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode
