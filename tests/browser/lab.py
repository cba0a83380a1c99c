"""A JupyterLab of its own: no settings of the user's, no news, nothing saved by itself."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
    },
    # Without windowing, cells that are scrolled out of sight stay in the page.
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
    # The notebook that is opened is the committed one.
    "@jupyterlab/docmanager-extension/plugin": {"autosave": False},
}


@contextmanager
def jupyter_lab(root: Path, home: Path) -> Iterator[str]:
    """Serve `root` on a free port of 127.0.0.1 with settings kept in `home`; yield the address."""
    for plugin, settings in SETTINGS.items():
        path = home / "settings" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings))
    environment = os.environ | {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(home / "workspaces"),
        "IAC_FIGURES": str(home / "figures"),
        "IAC_PROGRESS": "0",
    }
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"]
    command += ["--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    command += [f"--ServerApp.root_dir={root}", "--IdentityProvider.token="]
    # The tests ask the page itself whether its kernel is ready.
    command += ["--LabApp.expose_app_in_browser=True"]
    log = home / "jupyterlab.log"
    with log.open("w") as output:
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            _wait_for(f"{address}/api", server, log)
            yield address
        finally:
            server.terminate()
            server.wait(timeout=30)


def _wait_for(address: str, server: subprocess.Popen, log: Path, timeout_s: float = 90) -> None:
    deadline = time.monotonic() + timeout_s
    while time.monotonic() < deadline and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=2).close()
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.3)
    raise RuntimeError(f"JupyterLab did not start:\n{log.read_text()[-3000:]}")
