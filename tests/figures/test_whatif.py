"""The panel without a browser: it shows what was computed, and drags do not queue up."""

import io
import threading
from dataclasses import fields

import matplotlib.image
import matplotlib.pyplot as plt
import numpy as np
import pytest

from iac_lib.cache.whatif import Bench, Settings, measure_hit_rates
from iac_lib.figures.whatif import Newest, WhatIf, describe_rates, describe_settings
from iac_lib.traces.arrivals import OriginalDelays
from iac_lib.traces.experiment import Experiment
from iac_lib.traces.synthetic import generate

START = Settings(capacity_tokens=40_000)


@pytest.fixture(scope="module")
def benches():
    made = generate("sharechat-shaped", 600, seed=1)
    return [Bench(Experiment(made, 300, 300, delays=OriginalDelays()))]


@pytest.fixture
def panel(benches):
    return WhatIf(benches, START)


def test_one_slider_per_setting_all_of_them_live(panel):
    assert list(panel.sliders) == [field.name for field in fields(Settings)]
    assert panel.settings == START
    for slider in panel.sliders.values():
        assert slider.continuous_update
        assert "iac-slider" in slider._dom_classes
    assert "iac-label" in panel.label._dom_classes
    assert "iac-image" in panel.image._dom_classes


def test_it_opens_no_pyplot_figure_and_shows_a_picture(panel):
    assert not plt.get_fignums()
    picture = matplotlib.image.imread(io.BytesIO(panel.image.value))
    assert picture.ndim == 3 and picture.std() > 0


@pytest.mark.parametrize("name", [field.name for field in fields(Settings)])
def test_moving_a_slider_changes_label_and_image(panel, benches, name):
    slider = panel.sliders[name]
    label, image = panel.label.value, panel.image.value
    if hasattr(slider, "options"):
        slider.index = (slider.index + 1) % len(slider.options)
    else:
        slider.value = slider.value + slider.step
    panel.newest.wait()
    assert panel.label.value != label
    assert panel.image.value != image
    rates = measure_hit_rates(benches, panel.settings)
    assert describe_rates(rates) in panel.label.value
    assert describe_settings(panel.settings) in panel.label.value


def test_a_drag_ends_at_the_last_position(panel, benches):
    for capacity in range(50_000, 250_000, 10_000):
        panel.sliders["capacity_tokens"].value = capacity
    panel.newest.wait()
    assert panel.settings.capacity_tokens == capacity
    assert describe_settings(panel.settings) in panel.label.value


def test_synthetic_data_are_called_so_on_the_image(benches):
    assert np.all(measure_hit_rates(benches, START)["data"] == "synthetic sharechat-shaped")


def test_a_failing_replay_says_so_and_the_panel_lives_on(panel, monkeypatch):
    def fail(benches, settings):
        raise ValueError("no such thing")

    with monkeypatch.context() as patched:
        patched.setattr("iac_lib.figures.whatif.measure_hit_rates", fail)
        panel.sliders["noise"].value = 0.5
        panel.newest.wait()
    assert "no such thing" in panel.label.value
    panel.sliders["noise"].value = 0.2
    panel.newest.wait()
    assert describe_settings(panel.settings) in panel.label.value


def test_only_the_newest_of_what_waits_is_done():
    done, started, go_on = [], threading.Event(), threading.Event()

    def work(value):
        started.set()
        go_on.wait(10)
        done.append(value)

    newest = Newest(work)
    newest.put(0)
    assert started.wait(10)
    for value in range(1, 50):
        newest.put(value)
    go_on.set()
    newest.wait()
    assert done == [0, 49]
