"""Sliders over a live replay: move one, see the hit rates change.

Drawing happens off-screen and in the background. While a replay runs, the newest position
of the sliders waits and older ones are forgotten, so that a drag never lags behind.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import fields
from threading import Lock, Thread
from typing import Any

import ipywidgets as widgets
import numpy as np
import pandas as pd
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from iac_lib.cache.whatif import Bench, Settings, measure_hit_rates
from iac_lib.figures.style import label, policy_style

SHORT = {"recency": "RY", "reuse": "RE", "size": "S"}
ORDERS = (
    ("recency",),
    ("reuse",),
    ("size",),
    ("recency", "reuse"),
    ("reuse", "recency"),
    ("recency", "reuse", "size"),
    ("reuse", "recency", "size"),
    ("size", "reuse", "recency"),
)


def name_order(signals: Sequence[str]) -> str:
    """Return the paper's abbreviation, such as ``RY,RE,S``."""
    return ",".join(SHORT[signal] for signal in signals)


def describe_settings(settings: Settings) -> str:
    """Return the settings as one line."""
    return (
        f"{settings.capacity_tokens:,} tokens, {settings.rate_per_s:g} new conversations/s, "
        f"IAC ({name_order(settings.signals)}), window: {settings.window}, "
        f"wrong labels: {settings.noise:.0%}"
    )


def describe_rates(rates: pd.DataFrame) -> str:
    """Return the hit rates as one line per trace."""
    lines = []
    for data, rows in rates.groupby("data", sort=False):
        values = (f"{label(r.policy)} {100 * r.hit_rate:.1f} %" for r in rows.itertuples())
        lines.append(f"{data}: " + ", ".join(values))
    return "; ".join(lines)


def draw_hit_rates(
    rates: pd.DataFrame, settings: Settings, before: pd.DataFrame, top: float
) -> Figure:
    """Draw hit rates as bars, by trace, on a figure that pyplot knows nothing of.

    Parameters
    ----------
    rates : DataFrame
        From `measure_hit_rates`.
    settings : Settings
        Printed above.
    before : DataFrame
        The same at the first settings; drawn as short lines to compare with.
    top : float
        Upper end of the axis (percent).
    """
    data = list(dict.fromkeys(rates["data"]))
    fig = Figure(figsize=(8.4, 3.4), layout="none")
    ax = fig.add_axes((0.08, 0.12, 0.9, 0.72))
    group = rates["data"].map(data.index).to_numpy()
    x = 4.0 * group + rates.groupby("data").cumcount().to_numpy()
    colors = [policy_style(policy)["color"] for policy in rates["policy"]]
    bars = ax.bar(x, 100 * rates["hit_rate"], 0.8, color=colors, alpha=0.85)
    for bar, policy in zip(bars, rates["policy"], strict=True):
        if policy == "optimum":
            bar.set(facecolor="white", edgecolor="0.4", hatch="///")
    first = 100 * before["hit_rate"].to_numpy()
    ax.hlines(first, x - 0.47, x + 0.47, color="0.35", ls=(0, (2, 1.5)), lw=1.2)
    for at, value, policy in zip(x, 100 * rates["hit_rate"], rates["policy"], strict=True):
        ax.annotate(
            f"{label(policy)}\n{value:.1f} %", (at, value), (0, 4), textcoords="offset points",
            ha="center", va="bottom", size=8,
        )  # fmt: skip
    ax.set_xticks(4.0 * np.arange(len(data)) + 1, data)
    ax.tick_params(axis="x", length=0)
    ax.set_ylim(0, top)
    ax.set_ylabel("cache hit rate (%)")
    ax.grid(axis="x", visible=False)
    ax.set_title(f"{describe_settings(settings)}\n(dashed: at the first settings)", size=8.5)
    return fig


def to_png(fig: Figure) -> bytes:
    """Return the figure as PNG."""
    file = io.BytesIO()
    FigureCanvasAgg(fig).print_png(file, pil_kwargs={"compress_level": 1})
    return file.getvalue()


class Newest:
    """Calls `work` in the background with the newest value given; older ones are dropped."""

    def __init__(self, work: Callable[[Any], None]) -> None:
        self.work, self.lock = work, Lock()
        self.waiting: list[Any] = []
        self.thread: Thread | None = None

    def put(self, value: Any) -> None:
        """Ask for `value`; return at once."""
        with self.lock:
            self.waiting = [value]
            if self.thread is None:
                self.thread = Thread(target=self.run, daemon=True)
                self.thread.start()

    def run(self) -> None:
        """Work until nothing waits."""
        while True:
            with self.lock:
                if not self.waiting:
                    self.thread = None
                    return
                value = self.waiting.pop()
            self.work(value)

    def wait(self) -> None:
        """Return when nothing is left to do."""
        while (thread := self.thread) is not None:
            thread.join()


class WhatIf(widgets.VBox):
    """The panel: five sliders, a line of text, an image.

    Parameters
    ----------
    benches : sequence of Bench
        One group of bars each. On one without labels the slider of wrong labels moves
        nothing; put a labelled one beside it.
    settings : Settings
        Where the sliders start.
    """

    def __init__(self, benches: Sequence[Bench], settings: Settings | None = None) -> None:
        self.benches = list(benches)
        start = settings or Settings()
        self.sliders = make_sliders(start)
        self.label = widgets.HTML().add_class("iac-label")
        self.image = widgets.Image(format="png").add_class("iac-image")
        self.before = measure_hit_rates(self.benches, start)
        largest = self.sliders["capacity_tokens"].max
        best = max(bench.optimum(start.rate_per_s, largest) for bench in self.benches)
        self.top = min(100.0, 120 * best)
        self.show(start)
        self.newest = Newest(self.redraw)
        for slider in self.sliders.values():
            slider.observe(lambda _: self.newest.put(self.settings), names="value")
        super().__init__([*self.sliders.values(), self.label, self.image])

    @property
    def settings(self) -> Settings:
        """Where the sliders stand."""
        return Settings(**{name: slider.value for name, slider in self.sliders.items()})

    def redraw(self, settings: Settings) -> None:
        """Replay and show; what goes wrong is said in the line of text."""
        try:
            self.show(settings)
        except Exception as error:  # in the background nobody else would see it
            self.label.value = f"{type(error).__name__}: {error}"

    def show(self, settings: Settings) -> None:
        """Replay and show."""
        rates = measure_hit_rates(self.benches, settings)
        self.image.value = to_png(draw_hit_rates(rates, settings, self.before, self.top))
        self.label.value = f"{describe_rates(rates)} ({describe_settings(settings)})"


def make_sliders(start: Settings) -> dict[str, widgets.Widget]:
    """Return one slider per field of `Settings`."""
    look = {"style": {"description_width": "11em"}, "layout": {"width": "42em"}}
    look["continuous_update"] = True
    orders = [(name_order(order), order) for order in ORDERS]
    windows = ["mode", "median", "mean"]
    sliders = (
        widgets.IntSlider(
            start.capacity_tokens, 20_000, 500_000, 10_000,
            description="capacity (tokens)", readout_format=",d", **look,
        ),
        widgets.FloatSlider(
            start.rate_per_s, min=1.0, max=20.0, step=0.5,
            description="new conversations/s", readout_format=".1f", **look,
        ),
        widgets.SelectionSlider(
            options=windows, value=start.window, description="IAC window", **look
        ),
        widgets.SelectionSlider(
            options=orders, value=start.signals, description="IAC signals", **look
        ),
        widgets.FloatSlider(
            start.noise, min=0.0, max=1.0, step=0.1,
            description="wrong labels", readout_format=".0%", **look,
        ),
    )  # fmt: skip
    names = [field.name for field in fields(Settings)]
    return {n: s.add_class("iac-slider") for n, s in zip(names, sliders, strict=True)}
