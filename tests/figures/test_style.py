import itertools
import subprocess
import sys

import matplotlib.pyplot as plt
import pytest

from iac_lib.figures.style import POLICY_STYLE, VARIANT_STYLE, label, policy_style, use_style
from iac_lib.policies.lineup import ablations, granularities, window_estimators


def luminance(color):
    red, green, blue = (int(color[i : i + 2], 16) for i in (1, 3, 5))
    return (0.299 * red + 0.587 * green + 0.114 * blue) / 255


def test_every_policy_has_its_own_marker_and_own_colour_with_dash():
    styles = [policy_style(policy) for policy in POLICY_STYLE]
    assert len({style["marker"] for style in styles}) == len(styles)
    assert len({(style["color"], str(style["linestyle"])) for style in styles}) == len(styles)


def test_policies_of_one_grey_differ_in_dash():
    for one, other in itertools.combinations(POLICY_STYLE.values(), 2):
        if abs(luminance(one["color"]) - luminance(other["color"])) < 0.02:
            assert one["linestyle"] != other["linestyle"]


@pytest.mark.parametrize("lineup", [ablations, granularities, window_estimators])
def test_variants_in_one_figure_differ(lineup):
    names = [policy.name for policy in lineup()]
    assert all(name in POLICY_STYLE or name in VARIANT_STYLE for name in names)
    styles = [policy_style(name) for name in names]
    assert len({style["marker"] for style in styles}) == len(styles)
    assert len({(style["color"], str(style["linestyle"])) for style in styles}) == len(styles)


def test_colours_show_on_white():
    assert all(luminance(style["color"]) < 0.75 for style in POLICY_STYLE.values())


def test_styles_and_labels_can_be_drawn():
    figure, axes = plt.subplots()
    for policy in (*POLICY_STYLE, "arc"):
        axes.plot([1, 2], [1, 2], label=label(policy), **policy_style(policy))
    axes.legend()
    figure.canvas.draw()
    plt.close(figure)


@pytest.mark.parametrize(
    ("policy", "shown"), [("iac", "IAC"), ("t-lru", "T-LRU"), ("tb+s", "TB+S"), ("arc", "arc")]
)
def test_labels(policy, shown):
    assert label(policy) == shown


def test_an_unknown_policy_looks_the_same_in_every_process():
    code = "from iac_lib.figures.style import policy_style; print(policy_style('arc'))"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == str(policy_style("arc"))
    assert policy_style("arc")["marker"] not in {s["marker"] for s in POLICY_STYLE.values()}


def test_use_style_keeps_text_as_text():
    with plt.rc_context():
        use_style()
        assert plt.rcParams["svg.fonttype"] == "none"
        assert plt.rcParams["pdf.fonttype"] == 42
        assert plt.rcParams["svg.hashsalt"]
