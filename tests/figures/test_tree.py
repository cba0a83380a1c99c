import matplotlib.pyplot as plt
import numpy as np
import pytest

from iac_lib.cache.compare import rank_leaves, unlimited
from iac_lib.cache.snapshot import take_snapshot
from iac_lib.figures.overview import draw_overview
from iac_lib.figures.tree import draw_queues, draw_tree, format_priority, place_nodes
from iac_lib.policies import IAC, LRU
from iac_lib.traces.handmade import NOW_S, make_example, make_history

EXAMPLE = make_example()
IAC_FITTED = IAC().fit(make_history())


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture
def nodes():
    return take_snapshot(EXAMPLE, IAC_FITTED, unlimited(EXAMPLE), 9, NOW_S)


def texts(fig):
    return [text.get_text() for ax in fig.axes for text in ax.texts]


def test_no_box_covers_another(nodes):
    place = place_nodes(nodes)
    left, right = place["x"].to_numpy(), (place["x"] + place["width"]).to_numpy()
    y = place["y"].to_numpy()
    for a in range(len(place)):
        for b in range(a):
            apart = right[a] < left[b] or right[b] < left[a] or abs(y[a] - y[b]) >= 1
            assert apart, (place.index[a], place.index[b])


def test_children_stand_right_of_their_parents_and_larger_nodes_are_wider(nodes):
    place = place_nodes(nodes)
    inner = nodes[nodes["parent"] > 0]
    above = place.loc[inner["parent"]]
    assert (place.loc[inner.index, "x"].to_numpy() > (above["x"] + above["width"]).to_numpy()).all()
    order = np.argsort(nodes["tokens"].to_numpy(), kind="stable")
    assert (np.diff(place["width"].to_numpy()[order]) >= 0).all()


def test_the_text_of_every_box_fits_into_it(nodes):
    fig = draw_tree(nodes, EXAMPLE.intents, NOW_S)
    fig.draw_without_rendering()
    (ax,) = fig.axes
    place = place_nodes(nodes)
    boxes = [text for text in ax.texts if "\n" in text.get_text()]
    assert len(boxes) == len(nodes)
    for text in boxes:
        extent = text.get_window_extent().transformed(ax.transData.inverted())
        spot = place[(place["x"] < extent.x0) & (place["y"] > extent.y1) & (place["y"] < extent.y0)]
        spot = spot.iloc[spot["x"].argmax()]
        assert extent.x1 < spot["x"] + spot["width"], text.get_text()


def test_the_victim_is_named_and_its_priority_printed(nodes):
    drawn = texts(draw_tree(nodes, EXAMPLE.intents, NOW_S))
    victim = nodes[nodes["rank"] == 0].iloc[0]
    assert drawn.count("first") == 1
    assert format_priority(victim["priority"]) in drawn
    assert any(text.startswith(f"{victim['conversation']}, turn") for text in drawn)


def test_one_column_per_policy_each_with_one_victim(nodes):
    policies = {"LRU": LRU(), "IAC": IAC_FITTED}
    ranks = rank_leaves(EXAMPLE, policies, 9, NOW_S)
    drawn = texts(draw_queues(nodes, ranks, EXAMPLE.intents, NOW_S))
    for policy in policies:
        assert policy in drawn
    for place in range(1, len(ranks.columns) + 1):
        assert drawn.count(str(place)) == len(policies)


def test_a_priority_reads_as_on_paper():
    assert format_priority((1.0, 0.25, 1800.0)) == "(1, 0.25, 1800)"


def test_the_overview_shows_what_the_policy_said(nodes):
    pair = EXAMPLE.requests["conversation_id"].isin(["ada", "eva"]).to_numpy()
    small = EXAMPLE.select(pair & (EXAMPLE.column("arrival_s") < NOW_S))
    four = take_snapshot(small, IAC_FITTED, unlimited(small), len(small), NOW_S)
    drawn = texts(draw_overview(four, small.intents, NOW_S))
    assert {"A", "B", "C", "D"} <= set(drawn)
    victim = four[four["rank"] == 0].iloc[0]
    assert f"{format_priority(victim['priority'])}\nlowest: evicted first" in drawn
    with pytest.raises(ValueError, match="four nodes"):
        draw_overview(nodes, EXAMPLE.intents, NOW_S)
