// The editor of one file: what was read is named when it is saved, so nobody's change is overwritten unseen.
// The bytes stay as they were where nobody touched them: byte order mark, newlines, all of it.
import { api, call, complain, say } from "./carrel.js";

let now = null; // the file that is being edited; none where no editor is on the page

const etagged = (digest) => `"${digest}"`;

async function read(address) {
  const answer = await fetch(api + address, { cache: "no-store" });
  if (answer.status === 404) return { text: "", tag: null };
  if (!answer.ok) throw Object.assign(new Error("The file cannot be read."), await answer.json().catch(() => ({})));
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(await answer.arrayBuffer());
  return { text, tag: answer.headers.get("ETag") };
}

// A text field knows one kind of newline; what the file had is put back.
function newlineOf(text) {
  const crlf = text.split("\r\n").length - 1, feeds = text.split("\n").length - 1, returns = text.split("\r").length - 1;
  if (crlf && crlf === feeds && crlf === returns) return "\r\n";
  return returns ? "mixed" : "\n";
}
const fieldText = (text) => text.replace(/\r\n?/g, "\n");
const fileText = (text, newline) => (newline === "\r\n" ? text.replace(/\n/g, "\r\n") : text);

const part = (name) => now.box.querySelector(`[data-${name}]`);
const isDirty = () => now !== null && now.field.value !== now.saved;

function status(text) { part("status").textContent = text; }

async function begin(box) {
  const own = { box, address: box.dataset.editor, field: box.querySelector("textarea"), tag: null, newline: "\n", saved: "" };
  now = own;
  box.hidden = false;
  try {
    const found = box.dataset.absent === undefined ? await read(own.address) : { text: "", tag: null };
    if (now !== own) return; // another file is shown by now
    take(found);
    now.field.disabled = false;
    now.field.focus({ preventScroll: true });
    now.field.setSelectionRange(0, 0);
    status(now.tag ? "" : "A new file: it is made when you save.");
  } catch (error) { if (now === own) { complain(error); status("It cannot be edited here."); } }
}

function take({ text, tag }) {
  now.tag = tag;
  now.newline = newlineOf(text);
  now.saved = now.field.value = fieldText(text);
  if (now.newline === "mixed") say("Its lines end in different ways; saving makes them all alike.");
}

async function save() {
  if (!now || now.field.disabled || part("save").disabled) return;
  const own = now, sent = own.field.value, button = part("save");
  button.disabled = true;
  own.box.dataset.quiet = "";
  status("Saving …");
  try {
    const headers = { "Content-Type": "text/plain; charset=utf-8", ...(own.tag ? { "If-Match": own.tag } : { "If-None-Match": "*" }) };
    const written = await call("PUT", own.address, { body: fileText(sent, own.newline), headers });
    own.tag = etagged(written.digest);
    own.saved = sent;
    setTimeout(() => delete own.box.dataset.quiet, 2500);
    if (now !== own) { say("Saved."); return; } // another file is shown by now
    settle();
    status(isDirty() ? "Saved, but for what you wrote since." : "Saved.");
    part("meanwhile").hidden = true;
    part("close").href = own.box.dataset.home;
    part("back").hidden = true;
  } catch (error) {
    delete own.box.dataset.quiet;
    if (now !== own) { complain(error); return; }
    status("Not saved.");
    if (error.status === 412) await differ(); else complain(error);
  } finally { button.disabled = false; }
}

// Somebody else was faster: both are shown, and nothing is decided for anybody.
async function differ() {
  const own = now;
  try {
    own.theirs = await read(own.address);
  } catch (error) { complain(error); return; }
  if (now !== own) return;
  const mine = now.field.value.split("\n"), theirs = fieldText(now.theirs.text).split("\n");
  const box = part("their-text");
  box.replaceChildren(...compared(theirs, mine));
  part("why").textContent = now.theirs.tag ? "Both versions are shown. Nothing was overwritten." : "It was deleted meanwhile. Nothing was overwritten.";
  for (const name of ["theirs", "mine-title", "conflict"]) part(name).hidden = false;
  part("both").classList.add("two");
  part("meanwhile").hidden = true;
  now.box.dataset.quiet = "";
  part("conflict").querySelector("[data-take=both]").focus(); // which loses nothing
}

// Marks the lines that only they have: what is the same at both ends is not marked, nor what stands in both.
function compared(theirs, mine) {
  let start = 0;
  while (start < theirs.length && theirs[start] === mine[start]) start += 1;
  let end = 0;
  while (end < theirs.length - start && end < mine.length - start && theirs.at(-1 - end) === mine.at(-1 - end)) end += 1;
  const known = new Set(mine.slice(start, mine.length - end));
  return theirs.map((line, number) => {
    const row = document.createElement("span");
    const isTheirs = number >= start && number < theirs.length - end && !known.has(line);
    row.className = isTheirs ? "line add" : "line";
    row.textContent = `${isTheirs ? "+ " : "  "}${line}\n`;
    return row;
  });
}

function settle() {
  for (const name of ["theirs", "mine-title", "conflict"]) part(name).hidden = true;
  part("both").classList.remove("two");
}

const takes = {
  theirs() {
    delete now.box.dataset.quiet;
    now.mine = now.field.value;
    take(now.theirs);
    settle();
    part("back").hidden = false;
    status("This is their version.");
    now.field.focus();
  },
  back() { part("back").hidden = true; now.field.value = now.mine; status("This is yours again, not saved yet."); now.field.focus(); },
  async mine() { now.tag = now.theirs.tag; await save(); },
  both() {
    delete now.box.dataset.quiet;
    now.tag = now.theirs.tag; // they have been seen: saving replaces them
    part("conflict").hidden = true;
    status("Saving replaces what is at the left.");
    now.field.focus();
  },
};

document.addEventListener("click", (event) => {
  if (!now || !now.box.isConnected) return;
  if (event.target.closest("[data-save]")) save();
  const choice = event.target.closest("[data-take]");
  if (choice) takes[choice.dataset.take]();
});
document.addEventListener("keydown", (event) => {
  if (now?.box.isConnected && (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "s") { event.preventDefault(); save(); }
});
document.addEventListener("input", (event) => { if (now && event.target === now.field) status(isDirty() ? "Not saved yet." : ""); });
addEventListener("beforeunload", (event) => { if (now?.box.isConnected && isDirty()) event.preventDefault(); });
document.addEventListener("leaving", (event) => {
  if (now?.box.isConnected && isDirty() && !confirm("What you wrote is not saved. Leave it?")) event.preventDefault();
});

// Told by files.js when another file is shown.
export function find() {
  const box = document.querySelector("[data-editor]");
  if (box && now?.box !== box) begin(box);
  if (!box) now = null;
}
