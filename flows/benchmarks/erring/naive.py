"""The naive loop: screenshot, predict, click or type by pyautogui, sleep, compare, and try again.

    DISPLAY=:7 python flows/benchmarks/erring/naive.py --base-url URL --steps 40 < TASK

This is the loop of a published tutorial for this model family, with its settings: a confidence threshold of 0.6,
fixed sleeps, a hash of a thumbnail, up to three tries of a step that has changed nothing. Nothing guards an action. Two
things are added without which it ends no task: the action `done`, and the keys that delete a text before another one.
The last line on stdout is JSON: the status, calls and tokens.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import hashlib
import json
import sys
import time
from io import BytesIO
from typing import Any

import httpx
import pyautogui
from PIL import Image, ImageGrab

LEAST_CONFIDENCE = 0.6
RETRIES = 3
LOOK_ALIKE = 4
"""Number of equal actions in a row that make a loop."""
SYSTEM = """You are a computer use agent. Analyze the screenshot and determine
the next action to complete the given task. Respond with a JSON object matching this schema:
{
  "element_type": "button|input|dropdown|link|checkbox|other",
  "action": "click|type|scroll|right_click|wait|hover|done",
  "x": <float 0.0-1.0>,
  "y": <float 0.0-1.0>,
  "text": <string or null>,
  "confidence": <float 0.0-1.0>,
  "reasoning": <brief explanation>
}"""
History = list[dict[str, Any]]


class Loop:
    """The loop on one display."""

    def __init__(self, base_url: str, task: str) -> None:
        self.client = httpx.Client(base_url=base_url, trust_env=False, timeout=60)
        self.task = task
        self.usage = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}

    async def work(self, steps: int) -> str:
        """Take steps until the model says that it is done; return its words. Raises `TimeoutError` at the limit."""
        history: History = []
        for _ in range(steps):
            result = await self.run_agent_step(history)
            if result.get("action") == "done":
                return str(result["text"])
            history.append(result)
        raise TimeoutError(f"not done within {steps} steps")

    async def run_agent_step(self, action_history: History) -> dict[str, Any]:
        """Execute one agent step with validation."""
        screen_w, screen_h = pyautogui.size()
        action: dict[str, Any] = {}
        for attempt in range(RETRIES):
            before_shot = capture_screen()
            before_hash = screenshot_hash(before_shot)
            action = self.predict_action(before_shot, action_history)
            if action["action"] == "done":
                return action
            if not execute_action(action, screen_w, screen_h):
                await asyncio.sleep(1)
                continue
            await asyncio.sleep(0.8)  # wait for UI to settle
            state_changed = before_hash != screenshot_hash(capture_screen())
            result = {**action, "state_changed": state_changed, "attempt": attempt + 1}
            if not state_changed and action["action"] in ("click", "type") and attempt < RETRIES - 1:
                action_history.append(result)
                continue
            return result
        return {**action, "error": "Max retries exceeded"}

    def predict_action(self, screenshot: Image.Image, action_history: History) -> dict[str, Any]:
        """Send a screenshot to the model, and return its next action."""
        recent = action_history[-5:]
        lines = [f"- {a['action']} at ({a['x']:.2f}, {a['y']:.2f}): {a.get('reasoning', '')}" for a in recent]
        recently = "\n".join(lines) or "None yet"
        if detect_loop(action_history):
            recently += "\nTake stock: describe what changed since the task started."
        words = f"Task: {self.task}\n\nRecent actions:\n{recently}\n\nPredict the next action."
        url = f"data:image/jpeg;base64,{encode_screenshot(screenshot)}"
        content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": words}]
        body = {
            "model": "rehearsal",
            "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": content}],
            "temperature": 0.1,
            "max_tokens": 256,
            "response_format": {"type": "json_object"},
        }
        response = self.client.post("/chat/completions", json=body).raise_for_status().json()
        self.usage["calls"] += 1
        for name in ("prompt_tokens", "completion_tokens"):
            self.usage[name] += response["usage"][name]
        action: dict[str, Any] = json.loads(response["choices"][0]["message"]["content"])
        return action


def capture_screen() -> Image.Image:
    """Capture the full screen, as `pyautogui.screenshot` does it where its helper programs are installed."""
    return ImageGrab.grab()


def encode_screenshot(image: Image.Image, max_width: int = 1280) -> str:
    """Resize and base64-encode a screenshot."""
    if image.width > max_width:
        ratio = max_width / image.width
        image = image.resize((max_width, int(image.height * ratio)), Image.Resampling.LANCZOS)
    buffer = BytesIO()
    image.convert("RGB").save(buffer, format="JPEG", quality=85)
    return base64.b64encode(buffer.getvalue()).decode("utf-8")


def screenshot_hash(image: Image.Image) -> str:
    """Return a hash of a thumbnail, to detect changes of the screen."""
    thumb = image.resize((32, 32), Image.Resampling.LANCZOS).convert("L")
    return hashlib.md5(thumb.tobytes()).hexdigest()


def detect_loop(history: History) -> bool:
    """Say whether the last actions are all the same."""
    recent = [(one["action"], round(one["x"], 2), round(one["y"], 2)) for one in history[-LOOK_ALIKE:]]
    return len(recent) == LOOK_ALIKE and len(set(recent)) == 1


def execute_action(action: dict[str, Any], screen_width: int, screen_height: int) -> bool:
    """Convert normalized coordinates to pixels and execute an action; return false if it was not executed."""
    px, py = int(action["x"] * screen_width), int(action["y"] * screen_height)
    if action["confidence"] < LEAST_CONFIDENCE:
        return False
    match action["action"]:
        case "click":
            pyautogui.click(px, py)
        case "right_click":
            pyautogui.rightClick(px, py)
        case "type":
            pyautogui.click(px, py)
            time.sleep(0.2)
            text = action["text"] or ""
            kept = text.lstrip("\b")
            if kept != text:
                pyautogui.press("end")
                pyautogui.press("backspace", presses=len(text) - len(kept))
            if kept:
                pyautogui.typewrite(kept, interval=0.05)
        case "scroll":
            text = action["text"] or ""
            clicks = int("".join(filter(str.isdigit, text)) or 3)
            pyautogui.scroll(clicks * (1 if "down" in text else -1), x=px, y=py)
        case "hover":
            pyautogui.moveTo(px, py, duration=0.3)
        case "wait":
            time.sleep(1.5)
            return True
    time.sleep(0.5)  # let the UI settle
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    loop = Loop(options.base_url, sys.stdin.read())
    status, said = "answered", ""
    try:
        said = asyncio.run(loop.work(options.steps))
    except TimeoutError as error:
        status, said = "limit", str(error)
    except (httpx.HTTPError, pyautogui.FailSafeException, KeyError, ValueError) as error:
        status, said = "error", f"{type(error).__name__}: {error}"[:300]
    sys.stdout.write(json.dumps({"status": status, "said": said, **loop.usage}) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
