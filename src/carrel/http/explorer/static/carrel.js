// What every page does: theme, keys, forms that go to the API, and news of what happens meanwhile.
// A page is complete without it; nothing here makes HTML from text.

const body = document.body;
export const api = body.dataset.api;
const csrf = body.dataset.csrf;

export async function call(method, path, { json, body: raw, headers = {} } = {}) {
  const sent = { method, headers: { "X-CSRF-Token": csrf, ...headers } };
  if (json !== undefined) { sent.body = JSON.stringify(json); sent.headers["Content-Type"] = "application/json"; }
  if (raw !== undefined) sent.body = raw;
  const answer = await fetch(path.startsWith("/") && !path.startsWith("/api") ? api + path : path, sent);
  const told = (answer.headers.get("content-type") || "").includes("json") ? await answer.json() : await answer.text();
  if (!answer.ok) throw Object.assign(new Error(told.message || answer.statusText), { status: answer.status, ...told });
  return told;
}

export function say(text, { hint = "", bad = false } = {}) {
  const toast = document.createElement("div");
  toast.className = bad ? "toast bad" : "toast";
  toast.textContent = text;
  if (hint) { const more = document.createElement("small"); more.textContent = hint; toast.append(more); }
  document.getElementById("live").append(toast);
  setTimeout(() => toast.remove(), bad ? 12000 : 5000);
}

export const complain = (error) => say(error.message, { hint: error.hint || "", bad: true });

// What was done is told on the page that comes after it.
const KEPT = "carrel-said";
function keep(text) { try { sessionStorage.setItem(KEPT, text); } catch { /* the page shows it, too */ } }
try {
  const kept = sessionStorage.getItem(KEPT);
  sessionStorage.removeItem(KEPT);
  if (kept) say(kept);
} catch { /* there is nothing to tell */ }

// Forms with data-call="POST /facts/{id}:pin": their fields become the JSON that is sent.
function valuesOf(form) {
  const values = {};
  for (const field of form.elements) {
    if (!field.name || field.disabled) continue;
    const kind = field.dataset.kind || field.type;
    if (field.type === "radio" && !field.checked) continue;
    if (kind === "checkbox") values[field.name] = field.checked;
    else if (kind === "number" || kind === "range") { if (field.value !== "") values[field.name] = Number(field.value); }
    else if (kind === "bool") values[field.name] = field.value === "true";
    else if (kind === "list") values[field.name] = field.value.split(",").map((each) => each.trim()).filter(Boolean);
    else if (kind === "numbers") values[field.name] = field.value.split(",").filter(Boolean).map(Number);
    else if (field.value !== "" || field.dataset.always !== undefined) values[field.name] = field.value;
  }
  return values;
}

async function send(form) {
  const [method, ...rest] = form.dataset.call.split(" ");
  const path = rest.join(" ");
  form.setAttribute("aria-busy", "true");
  try {
    const values = valuesOf(form);
    const headers = form.dataset.match ? { "If-Match": `"${form.dataset.match}"` } : {};
    const told = await call(method, path, Object.keys(values).length || method !== "DELETE" ? { json: values, headers } : { headers });
    form.dispatchEvent(new CustomEvent("done", { bubbles: true, detail: told }));
    const then = form.dataset.then || "reload";
    if (then === "reload" || then.startsWith("/")) keep(form.dataset.said || `Done: ${form.querySelector("button")?.textContent.trim() || "it is written"}`);
    if (then === "reload") location.reload();
    else if (then.startsWith("/")) location.assign(then);
    else if (then === "say") say(form.dataset.said || "Done.");
  } catch (error) { complain(error); } finally { form.removeAttribute("aria-busy"); }
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.dataset.call) return;
  event.preventDefault();
  if (form.getAttribute("aria-busy")) return; // once is enough
  if (form.dataset.confirm && !confirm(form.dataset.confirm)) return;
  send(form);
});

document.addEventListener("change", (event) => {
  const form = event.target.form;
  if (form && "autosubmit" in form.dataset) form.requestSubmit();
});

// Light or dark: as the system says, until somebody says otherwise; theme.js sees to it before anything is drawn.
document.querySelector("[data-theme-switch]")?.addEventListener("click", () => {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const next = dark ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("carrel-theme", next); } catch { /* it lasts as long as the page, then */ }
});

// On a phone pages and tabs stand in one row each, of which the one that is looked at must be seen.
for (const row of document.querySelectorAll(".pages, .tabs")) {
  const current = row.querySelector("[aria-current]");
  if (current && row.scrollWidth > row.clientWidth) row.scrollLeft += current.getBoundingClientRect().left - row.getBoundingClientRect().left - (row.clientWidth - current.offsetWidth) / 2;
}

// Keys: / searches, g and a letter goes to a page, ? tells all of them.
let going = 0;
const writing = (element) => element.closest("input, textarea, select, [contenteditable]") !== null;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || writing(event.target)) return;
  const press = document.querySelector(`[data-press="${CSS.escape(event.key)}"]`);
  if (event.key === "/") { event.preventDefault(); (document.querySelector("[data-find]") ?? document.getElementById("find"))?.focus(); return; }
  if (event.key === "?") { const keys = document.getElementById("keys"); if (keys && !keys.open) keys.showModal(); return; }
  if (event.key === "g") { going = Date.now(); return; }
  if (Date.now() - going < 1500) {
    going = 0;
    const there = document.querySelector(`.pages [data-key="${CSS.escape(event.key)}"]`);
    if (there) location.assign(there.href);
    return;
  }
  if (!press) return;
  event.preventDefault();
  if (!press.dataset.ask || confirm(press.dataset.ask)) press.click(); // what a key decides may be out of sight
});

// What happens meanwhile. Pages that want to know listen to "carrel" on the document. A browser keeps only a few
// connections to one server: a page that nobody looks at lets go of its own, and is told "missed" when it is back.
const tell = (detail) => document.dispatchEvent(new CustomEvent("carrel", { detail }));
if (api && "EventSource" in window && !("quiet" in body.dataset)) {
  const more = (document.querySelector("[data-follow]")?.dataset.follow || "").split(" ").filter(Boolean);
  let events = null;
  const follow = () => {
    if (events || document.hidden) return;
    events = new EventSource(`${api}/events`);
    const pass = (event) => tell({ ...JSON.parse(event.data), name: event.type });
    for (const name of new Set(["file.changed", "missed", ...more])) events.addEventListener(name, pass);
  };
  const leave = () => { events?.close(); events = null; };
  const back = () => { if (!events && !document.hidden) { follow(); tell({ name: "missed" }); } };
  document.addEventListener("visibilitychange", () => (document.hidden ? leave() : back()));
  addEventListener("pagehide", leave);
  addEventListener("pageshow", (event) => { if (event.persisted) back(); });
  follow();
}
// What takes long to find out is asked for once the page stands, and takes its places in it.
async function lookAgain(link) {
  const places = [...document.querySelectorAll("[data-fresh]")];
  for (const place of places) place.setAttribute("aria-busy", "true");
  const answer = await fetch(link.href);
  const read = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const place of places) {
    const fresh = answer.ok && !place.contains(document.activeElement) && read.getElementById(place.id);
    if (fresh) place.replaceWith(fresh); else place.removeAttribute("aria-busy");
  }
}
const due = document.querySelector("a[data-look]");
if (due) lookAgain(due).catch(complain);

document.addEventListener("carrel", (event) => {
  const note = document.querySelector("[data-stale]");
  if (note && event.detail.name === "file.changed") note.hidden = false;
});
