// What the pages can't do without a script: keys, and renewal, but not while somebody reads, types or looks elsewhere.
"use strict";

const leads = { g: "/console/", w: "/console/workers", l: "/console/lineage" };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
  if (event.key === "/") {
    const search = document.getElementById("search");
    if (search) { event.preventDefault(); search.focus(); }
  } else if (event.key === "?") {
    document.getElementById("keys").showModal();
  } else if (event.key in leads) {
    window.location.href = leads[event.key];
  }
});

const asking = document.querySelector("form[data-again-ms]"); // servers that had no answer yet
if (asking) setTimeout(() => asking.requestSubmit(), Number(asking.dataset.againMs));

let timer;

function renewIn(ms) { // and from then on at the page's own pace, until an answer says a better moment
  clearTimeout(timer);
  timer = setTimeout(() => {
    const main = document.getElementById("main");
    if (!main.dataset.everyMs) return;
    renewIn(Number(main.dataset.everyMs));
    htmx.trigger(main, "renew");
  }, ms);
}

renewIn(1000);
document.addEventListener("htmx:before:response", (event) => {
  const ms = event.detail.ctx.response.headers.get("wrackline-ask-ms");
  if (ms) renewIn(Number(ms));
  else if (event.target.id === "main") event.preventDefault(); // a proxy's, or an error: no page, so this one stays
});

document.addEventListener("htmx:config:request", (event) => {
  const open = document.querySelector("main details[open]");
  const typing = document.activeElement && /^(INPUT|TEXTAREA)$/.test(document.activeElement.tagName);
  if (document.hidden || open || typing) event.preventDefault();
  const mark = document.getElementById("mark"); // of what the page says, so that only what is another is sent
  if (mark) event.detail.ctx.request.headers["wrackline-mark"] = mark.dataset.mark;
});
