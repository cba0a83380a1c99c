"""A notebook open in JupyterLab, as a reader sees and moves it.

The interactive part of a notebook shows a label (class ``iac-label``) and an image (``iac-image``)
that follow its sliders (``iac-slider``).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Locator, Page

_STATE = """() => [
    [...document.querySelectorAll('.iac-label')].map(label => label.innerText).join(),
    [...document.querySelectorAll('img.iac-image, .iac-image img')].map(image => image.src).join(),
]"""
_CONNECTED = """() => {
    const context = window.jupyterapp?.shell.currentWidget?.sessionContext;
    return context?.isReady && context.session?.kernel?.connectionStatus === 'connected'
        && context.session.kernel.status === 'idle';
}"""


class NotebookPage:
    """A page of the browser with one notebook in it."""

    def __init__(self, page: Page, address: str, path: str) -> None:
        self.page = page
        page.goto(f"{address}/lab/tree/{path}?reset", wait_until="domcontentloaded")
        page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=60_000)
        # The page says "idle" before it has a kernel, and asks for one if told to run too early.
        page.wait_for_function(_CONNECTED, timeout=60_000)

    def run_all(self, timeout_s: float = 60) -> None:
        """Run every cell and wait until the label, the image and a slider are there."""
        self.page.get_by_role("menuitem", name="Run", exact=True).click()
        self.page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
        for selector in (".iac-slider .noUi-handle", ".iac-label", ".iac-image"):
            self.page.locator(selector).first.wait_for(timeout=timeout_s * 1000)

    def sliders(self) -> list[Locator]:
        """Return the handles of the sliders."""
        return self.page.locator(".iac-slider .noUi-handle").all()

    @contextmanager
    def changing(self, timeout_s: float = 30) -> Iterator[None]:
        """Wait after the block until both label and image differ from what they were before it.

        Raises
        ------
        playwright.sync_api.TimeoutError
            If one of them stays as it was.
        """
        label, image = self.page.evaluate(_STATE)
        yield
        self.page.wait_for_function(
            f"([label, image]) => {{ const now = ({_STATE})();"
            " return now[0] !== label && now[1] !== image }",
            arg=[label, image],
            timeout=timeout_s * 1000,
        )

    def settle(self) -> None:
        """Wait until label and image have stopped changing."""
        before = None
        while before != (before := self.page.evaluate(_STATE)):
            self.page.wait_for_timeout(1000)

    def step(self, handle: Locator) -> None:
        """Move a slider one step by keyboard, away from its end if it stands there."""
        handle.scroll_into_view_if_needed()
        handle.focus()
        before = handle.get_attribute("aria-valuenow")
        self.page.keyboard.press("ArrowRight")
        if handle.get_attribute("aria-valuenow") == before:
            self.page.keyboard.press("ArrowLeft")

    def drag(self, handle: Locator) -> None:
        """Drag a slider with the mouse to the farther end of its track."""
        handle.scroll_into_view_if_needed()
        grip, track = handle.bounding_box(), handle.locator("xpath=../..").bounding_box()
        assert grip and track, "the slider is not in sight"
        x, y = grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2
        on_the_left = x < track["x"] + track["width"] / 2
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        self.page.mouse.move(
            track["x"] + track["width"] * (0.95 if on_the_left else 0.05), y, steps=8
        )
        self.page.mouse.up()
