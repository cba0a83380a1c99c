import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from iac_lib.figures.style import policy_style, save, use_style
from iac_lib.figures.tables import save_table

SUFFIXES = (".svg", ".png", ".csv")


@pytest.fixture
def data():
    return pd.DataFrame({"capacity_tokens": [80_000, 110_000], "hit_rate": [1 / 3, 0.1 + 0.2]})


@pytest.fixture
def draw(data):
    def drawing():
        use_style()
        figure, axes = plt.subplots()
        for policy in ("lru", "iac"):
            axes.plot(
                data.capacity_tokens, data.hit_rate, label="LRU & co.", **policy_style(policy)
            )
        axes.legend()
        return figure

    with plt.rc_context():
        yield drawing
    plt.close("all")


def written(folder):
    return {suffix: (folder / f"hit_rate{suffix}").read_bytes() for suffix in SUFFIXES}


def test_saving_again_gives_the_same_bytes(tmp_path, draw, data):
    figure = draw()
    save(figure, "hit_rate", data, "synthetic", tmp_path)
    first = written(tmp_path)
    save(figure, "hit_rate", data, "synthetic", tmp_path)
    assert written(tmp_path) == first
    save(draw(), "hit_rate", data, "synthetic", tmp_path)
    assert written(tmp_path) == first
    assert len(list(tmp_path.iterdir())) == 3


def test_the_same_bytes_without_the_style_too(tmp_path, data):
    results = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        figure, axes = plt.subplots()
        axes.plot(data.capacity_tokens, data.hit_rate, marker="o")
        save(figure, "hit_rate", data, "synthetic", folder)
        plt.close(figure)
        results.append(written(folder))
    assert results[0] == results[1]


def test_the_csv_gives_the_numbers_back(tmp_path, draw, data):
    save(draw(), "hit_rate", data, "synthetic wildchat-shaped", tmp_path)
    again = pd.read_csv(tmp_path / "hit_rate.csv", dtype={"hit_rate": str})
    again["hit_rate"] = again["hit_rate"].map(float)  # pandas 2's own reading is not exact
    assert (again.pop("data") == "synthetic wildchat-shaped").all()
    pd.testing.assert_frame_equal(again, data, check_exact=True)


def test_the_source_stands_under_the_figure_and_not_in_it_afterwards(tmp_path, draw, data):
    figure = draw()
    save(figure, "hit_rate", data, "synthetic wildchat-shaped", tmp_path)
    assert "data: synthetic wildchat-shaped" in (tmp_path / "hit_rate.svg").read_text()
    assert not figure.texts


def test_a_named_index_becomes_a_column(tmp_path, draw, data):
    save(draw(), "hit_rate", data.set_index("capacity_tokens"), "synthetic", tmp_path)
    columns = list(pd.read_csv(tmp_path / "hit_rate.csv"))
    assert columns == ["capacity_tokens", "hit_rate", "data"]


@pytest.mark.parametrize("source", ["", "  "])
def test_refuses_a_figure_without_a_source(tmp_path, draw, data, source):
    with pytest.raises(ValueError, match="no source"):
        save(draw(), "hit_rate", data, source, tmp_path)
    assert not list(tmp_path.iterdir())


def test_refuses_a_figure_without_data(tmp_path, draw, data):
    with pytest.raises(ValueError, match="no data"):
        save(draw(), "hit_rate", data.iloc[:0], "synthetic", tmp_path)


def test_refuses_a_data_column_that_says_otherwise(tmp_path, draw, data):
    with pytest.raises(ValueError, match="rename that column"):
        save(draw(), "hit_rate", data.assign(data=np.arange(2)), "synthetic", tmp_path)


def test_refuses_a_path_as_name(tmp_path, draw, data):
    with pytest.raises(ValueError, match="plain file name"):
        save(draw(), "../hit_rate", data, "synthetic", tmp_path)


def test_goes_to_the_kits_figures_by_default(tmp_path, draw, data, monkeypatch):
    monkeypatch.delenv("IAC_FIGURES", raising=False)
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "notebooks").mkdir()
    monkeypatch.chdir(tmp_path / "notebooks")
    save(draw(), "hit_rate", data, "s")
    assert (tmp_path / "figures" / "hit_rate.svg").exists()
    monkeypatch.setenv("IAC_FIGURES", str(tmp_path / "elsewhere"))
    save(draw(), "hit_rate", data, "s")
    assert (tmp_path / "elsewhere" / "hit_rate.svg").exists()


def test_a_table_by_itself_is_a_csv_that_names_its_data(tmp_path, data):
    save_table("datasets", data, "sharegpt-prefix", tmp_path)
    (path,) = tmp_path.iterdir()
    assert path.name == "datasets.csv"
    assert (pd.read_csv(path)["data"] == "sharegpt-prefix").all()
