// A list that follows what comes: waits while its button is pressed, and keeps its newest rows.
"use strict";

const kept = 500;

document.addEventListener("click", (event) => {
  const button = event.target.closest("#tail-pause");
  if (!button) return;
  const pause = button.getAttribute("aria-pressed") !== "true";
  button.setAttribute("aria-pressed", String(pause));
  button.textContent = pause ? "Continue" : "Pause";
});

document.addEventListener("htmx:config:request", (event) => {
  if (document.querySelector("#tail-pause[aria-pressed=true]")) event.preventDefault();
});

document.addEventListener("htmx:before:response", (event) => {
  const { ok, redirected } = event.detail.ctx.response.raw;
  if (!ok || redirected) event.preventDefault(); // no rows: the next question gets them
  if (redirected) window.location.reload(); // the session has ended: the log-in is a page of its own
});

document.addEventListener("htmx:after:swap", () => {
  for (const row of [...document.querySelectorAll("#following > tr:not(#cursor)")].slice(kept)) row.remove();
});
