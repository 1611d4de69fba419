// The tree of files: lists of links become a tree with keys, folders are fetched when they are opened,
// and what is chosen is shown beside it without leaving the page. Nothing here makes HTML from text.
import { call, complain, say } from "./carrel.js";

const tree = document.querySelector("[data-tree]");
const root = new URL(tree.dataset.files, location).pathname;
const pathOf = (address) => new URL(address, location).pathname.slice(root.length); // as an address writes it
const items = () => [...tree.querySelectorAll("a")].filter((each) => !each.closest("ul[hidden]"));
const groupOf = (item) => item.parentElement.querySelector(":scope > ul");
const isFolder = (item) => item.dataset.folder !== undefined && item.dataset.folder !== "closed";
const above = (item) => item.closest("ul").closest("li")?.querySelector(":scope > a");

function parsed(html) { return new DOMParser().parseFromString(html, "text/html"); }

async function fetched(address) {
  const answer = await fetch(address, { headers: { Accept: "text/html" } });
  const page = parsed(await answer.text());
  if (!answer.ok && !page.getElementById("preview")) {
    throw new Error(page.querySelector("h1")?.textContent || answer.statusText);
  }
  return page;
}

// Roles are given here and not by the server: without a script this is a list of links, and says so.
function grow(list, role) {
  list.setAttribute("role", role);
  for (const row of list.children) {
    const item = row.querySelector(":scope > a");
    row.setAttribute("role", "none");
    if (!item) continue;
    item.setAttribute("role", "treeitem");
    item.tabIndex = -1;
    if (item.getAttribute("aria-current")) item.setAttribute("aria-selected", "true");
    const group = groupOf(item);
    if (isFolder(item)) item.setAttribute("aria-expanded", String(group !== null && !group.hidden));
    if (group) own(item, group);
  }
}

let grown = 0;
function own(item, group) {
  group.id ||= `branch-${++grown}`;
  item.setAttribute("aria-owns", group.id);
  grow(group, "group");
}

function reach(item, { focus = true } = {}) {
  if (!item) return;
  for (const each of tree.querySelectorAll('a[tabindex="0"]')) each.tabIndex = -1;
  item.tabIndex = 0;
  if (focus) item.focus();
}

async function open(item) {
  if (!isFolder(item)) return;
  const group = groupOf(item);
  if (group) { group.hidden = false; item.setAttribute("aria-expanded", "true"); return; }
  if (item.getAttribute("aria-busy")) return;
  item.setAttribute("aria-busy", "true");
  try {
    const list = (await fetched(`${tree.dataset.tree}${pathOf(item.href)}${new URL(item.href).search}`)).querySelector("ul");
    item.parentElement.append(list);
    own(item, list);
    item.setAttribute("aria-expanded", "true");
  } catch (error) { complain(error); } finally { item.removeAttribute("aria-busy"); }
}

function close(item) {
  const group = groupOf(item);
  if (group) group.hidden = true;
  item.setAttribute("aria-expanded", "false");
  if (group?.querySelector('[tabindex="0"]')) reach(item, { focus: group.contains(document.activeElement) });
}

// Names are numbered, and one that came or went meanwhile moves all others: what is there is not shown twice.
function isNew(row, known) {
  const link = row.querySelector(":scope > a");
  return link && (link.dataset.more !== undefined || !known.has(link.href));
}

async function more(item) {
  if (item.getAttribute("aria-busy")) return;
  item.setAttribute("aria-busy", "true");
  const row = item.parentElement, list = row.parentElement;
  try {
    const known = new Set([...list.children].map((each) => each.querySelector(":scope > a")?.href));
    const rows = [...(await fetched(item.dataset.more)).querySelectorAll("ul > li")].filter((each) => isNew(each, known));
    const isFocused = document.activeElement === item;
    row.replaceWith(...rows);
    grow(list, list.getAttribute("role"));
    reach(rows[0]?.querySelector("a") || list.querySelector("a"), { focus: isFocused });
  } catch (error) { complain(error); } finally { item.removeAttribute("aria-busy"); }
}

// What is chosen is shown beside the tree, which stays as it is.
const leaving = () => document.dispatchEvent(new CustomEvent("leaving", { cancelable: true }));

let asked = 0; // who clicks twice wants the second
async function show(address, { push = true } = {}) {
  const hash = new URL(address, location).hash, mine = ++asked;
  try {
    const page = await fetched(address);
    if (mine !== asked) return;
    const next = page.getElementById("preview");
    if (!next) { location.assign(address); return; }
    if (push) history.pushState({}, "", address);
    here = location.href;
    document.title = page.title;
    document.querySelector(".eyes").replaceWith(page.querySelector(".eyes"));
    document.getElementById("preview").replaceWith(next);
    choose();
    prepare();
    if (hash) document.getElementById(hash.slice(1))?.scrollIntoView({ block: "center" });
  } catch (error) { if (mine === asked) complain(error); }
}

function choose() {
  const path = document.getElementById("preview").dataset.path;
  for (const each of tree.querySelectorAll("[aria-current]")) { each.removeAttribute("aria-current"); each.removeAttribute("aria-selected"); }
  const chosen = items().find((each) => pathOf(each.href) === path && each.dataset.more === undefined);
  if (!path || !chosen) return;
  chosen.setAttribute("aria-current", "page");
  chosen.setAttribute("aria-selected", "true");
  reach(chosen, { focus: false });
}

tree.addEventListener("click", (event) => {
  const item = event.target.closest("a");
  if (!item || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  if (item.dataset.more !== undefined) { more(item); return; }
  const isArrow = isFolder(item) && event.detail && event.clientX < item.getBoundingClientRect().left + 22;
  reach(item);
  if (isArrow) { item.getAttribute("aria-expanded") === "true" ? close(item) : open(item); return; }
  if (!leaving()) return;
  if (isFolder(item)) open(item);
  show(item.href);
});
document.querySelector(".tree-head > a").addEventListener("click", (event) => {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (leaving()) show(event.target.href);
});
let here = location.href;
addEventListener("popstate", () => {
  if (leaving()) show(location.href, { push: false });
  else history.pushState({}, "", here);
});

let typed = "", at = 0;
function jump(letter, now) {
  const since = Date.now();
  typed = since - at < 700 ? typed + letter : letter;
  at = since;
  const all = items(), start = all.indexOf(now) + (typed.length === 1 ? 1 : 0);
  const found = [...all.slice(start), ...all.slice(0, start)].find((each) => each.textContent.trim().toLowerCase().startsWith(typed));
  reach(found);
}

const moves = {
  ArrowDown: (item) => reach(items()[items().indexOf(item) + 1]),
  ArrowUp: (item) => reach(items()[items().indexOf(item) - 1]),
  Home: () => reach(items()[0]),
  End: () => reach(items().at(-1)),
  ArrowRight: (item) => (item.getAttribute("aria-expanded") === "true" ? reach(groupOf(item).querySelector("a")) : open(item)),
  ArrowLeft: (item) => (item.getAttribute("aria-expanded") === "true" ? close(item) : reach(above(item))),
  Enter: (item) => item.click(),
  " ": (item) => item.click(),
  "*": (item) => [...item.closest("ul").children].forEach((row) => open(row.querySelector("a"))),
};
tree.addEventListener("keydown", (event) => {
  const item = event.target.closest("a");
  if (!item || event.ctrlKey || event.metaKey || event.altKey) return;
  const move = moves[event.key];
  if (move) { typed = ""; move(item); }
  else if (event.key.length === 1 && !"/?".includes(event.key)) jump(event.key.toLowerCase(), item);
  else return;
  event.preventDefault();
  event.stopPropagation();
});

// What the shown file or folder needs a script for.
function prepare() {
  const totals = document.querySelector("[data-totals]");
  if (totals) fetched(totals.dataset.totals).then((page) => totals.replaceChildren(...page.body.childNodes)).catch(() => {});
  const fresh = document.querySelector("[data-new]");
  if (fresh) fresh.hidden = false;
  const again = document.querySelector("[data-stale-file] a");
  if (again) again.href = location.href;
  if (editing || document.querySelector("[data-editor]")) edit().catch(complain);
}

let editing = null; // fetched with the first file that is edited
async function edit() {
  editing ??= import("./editor.js");
  (await editing).find();
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.dataset.new === undefined) return;
  event.preventDefault();
  const names = form.elements.name.value.trim().split("/").filter(Boolean);
  if (names.some((each) => each === "." || each === "..")) { say("A new file stands in this folder, or in one below it.", { bad: true }); return; }
  const joined = form.dataset.keep ? `${form.dataset.keep}&` : "?";
  if (names.length) location.assign(`${form.dataset.new}${names.map(encodeURIComponent).join("/")}${joined}tab=edit`);
});

document.addEventListener("done", (event) => {
  if (event.target.dataset.then !== "moved") return;
  tell(`It is ${event.detail.target} now.`);
  const rest = document.body.dataset.keep;
  location.assign(`${document.body.dataset.base}/files/${event.detail.target.split("/").map(encodeURIComponent).join("/")}${rest}`);
});

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-discard]");
  if (!button || !confirm(`Delete ${document.getElementById("preview").dataset.plain}? It goes to the trash.`)) return;
  const headers = button.dataset.digest ? { "If-Match": `"${button.dataset.digest}"` } : {};
  try {
    const told = await call("DELETE", button.dataset.discard, { headers });
    tell(`Deleted. It is kept at ${told.kept}`);
    location.assign(button.dataset.above);
  } catch (error) { complain(error); }
});

// What is said after another page has come.
function tell(text) { try { sessionStorage.setItem("carrel-said", text); } catch { /* then it is not said */ } }
try {
  const text = sessionStorage.getItem("carrel-said");
  sessionStorage.removeItem("carrel-said");
  if (text) say(text);
} catch { /* nothing was kept */ }

// A name that comes or goes while the tree is looked at is put into its place, or taken out of it; what was
// missed meanwhile is looked for in folders that are shown whole.
const linkOf = (row) => row.querySelector(":scope > a");
const plainOf = (row) => { try { return decodeURIComponent(pathOf(linkOf(row).href)); } catch { return null; } };
const namesIn = (list) => new Map([...list.children].filter((row) => linkOf(row) && !row.matches(".more")).map((row) => [plainOf(row), row]));
const folderOf = (list) => (list === tree ? "" : plainOf(list.parentElement));
const lists = () => [tree, ...tree.querySelectorAll("ul")];

function place(path) { // the open folder that a path is seen in, and what of the path is seen there
  const open = new Map(lists().map((list) => [folderOf(list), list]));
  for (let end = path.length, cut; ; end = cut) {
    cut = path.lastIndexOf("/", end - 1);
    const list = open.get(cut < 0 ? "" : path.slice(0, cut));
    if (list || cut < 0) return [list ?? tree, path.slice(0, end)];
  }
}

async function renew(list, wanted) {
  const at = list === tree ? "" : pathOf(linkOf(list.parentElement).href);
  const fresh = (await fetched(`${tree.dataset.tree}${at}${document.querySelector(".tree-head > a").search}`)).querySelector("ul");
  const isWhole = (some) => !some.querySelector(":scope > .more > a");
  const [now, then] = [namesIn(list), namesIn(fresh)];
  if (!wanted && !(isWhole(list) && isWhole(fresh))) return false;
  const isCut = list.querySelector(":scope > .more:first-child > a") !== null;
  let changed = false, before = isCut ? null : undefined; // beside a name that is not shown nothing is put
  for (const [path, row] of then) {
    const known = now.get(path);
    if (known && (!wanted || wanted.has(path))) { linkOf(known).replaceChildren(...linkOf(row).childNodes); linkOf(known).title = linkOf(row).title; }
    else if (!known && before !== null && (!wanted || wanted.has(path))) { before ? before.after(row) : list.prepend(row); now.set(path, row); changed = true; }
    before = now.get(path) ?? null;
  }
  for (const [path, row] of now) {
    if (then.has(path) || !isWhole(fresh) || (wanted && !wanted.has(path)) || row.contains(document.activeElement)) continue;
    row.remove();
    changed = true;
  }
  if (changed) { list.querySelector(":scope > .more > span")?.parentElement.remove(); grow(list, list.getAttribute("role")); }
  if (!tree.querySelector('[tabindex="0"]')) reach(items()[0], { focus: false });
  return changed;
}

let stirred = new Set(), settling = 0;
async function settle() {
  const paths = stirred, wanted = new Map();
  stirred = new Set();
  settling = 0;
  for (const path of paths) { const [list, child] = place(path); wanted.set(list, (wanted.get(list) ?? new Set()).add(child)); }
  if (paths.has("")) for (const list of lists()) wanted.set(list, null);
  for (const [list, some] of wanted) {
    const changed = await renew(list, some).catch(() => false); // a folder that is gone goes with the one above
    const shown = document.getElementById("preview");
    const isShown = shown.querySelector("[data-totals]") && shown.dataset.plain === folderOf(list);
    if (changed && isShown && !shown.contains(document.activeElement)) await show(location.href, { push: false });
  }
}
document.addEventListener("carrel", (event) => {
  if (!["file.changed", "missed"].includes(event.detail.name)) return;
  stirred.add(event.detail.path ?? "");
  settling ||= setTimeout(settle, 200); // and not later, however often something changes
});

document.addEventListener("carrel", (event) => {
  const shown = document.getElementById("preview");
  const note = shown.querySelector("[data-meanwhile]") || shown.querySelector("[data-stale-file]");
  if (event.detail.name === "file.changed" && event.detail.path === shown.dataset.plain) {
    document.dispatchEvent(new CustomEvent("meanwhile", { detail: note }));
  }
});
document.addEventListener("meanwhile", (event) => { if (event.detail && !document.querySelector("[data-editor][data-quiet]")) event.detail.hidden = false; });

tree.setAttribute("aria-label", "Files");
grow(tree, "tree");
reach(tree.querySelector("[aria-current]") || tree.querySelector("a"), { focus: false });
const chosen = tree.querySelector("[aria-current]");
if (chosen) { const box = tree.getBoundingClientRect(), row = chosen.getBoundingClientRect(); tree.scrollTop += row.top - box.top - box.height / 2; }
prepare();
