// Connects noVNC to the desktop, over a websocket in this page's folder.
import RFB from "./core/rfb.js";

const said = document.getElementById("said");
const watches = document.body.dataset.may === "watch";
const records = document.body.dataset.may === "record";
const url = new URL("socket", location.href);
url.protocol = url.protocol === "https:" ? "wss:" : "ws:";

const screen = new RFB(document.getElementById("screen"), url.href, { shared: true });
screen.viewOnly = watches;
screen.scaleViewport = true;
screen.background = "#2b3440";
screen.addEventListener("connect", () => {
  said.textContent = watches
    ? "You are watching the agent's desktop."
    : records
    ? "This is the desktop."
    : "The agent is paused. It neither sees nor records your input."
      + (document.getElementById("asked") ? "" : " Give the screen back where you were asked: in Prefect, or with holo-tasks handoff.");
  document.body.dataset.state = "connected";
});
screen.addEventListener("disconnect", () => {
  said.textContent = "The connection has ended: the screen was given back, or the run is over. You may close this page.";
  document.body.dataset.state = "ended";
});
