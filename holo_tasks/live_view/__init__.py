"""Shows an agent's desktop to a person, in a browser, and lets them use it while they have the screen."""

from holo_tasks.live_view.programs import missing_packages
from holo_tasks.live_view.view import LiveView, open_live_view

__all__ = ["LiveView", "missing_packages", "open_live_view"]
