// A turn with the agent, as it happens: AG-UI events over fetch. Text is put in as text; when the turn is over the
// server's own rendering takes its place.
import { api, call, complain, say } from "./carrel.js";

const chat = document.querySelector("[data-chat]");
const talk = chat.querySelector("[data-talk]");
const composer = chat.querySelector("[data-composer]");
const box = composer.elements.message;
const stopper = chat.querySelector("[data-stop]");
const sender = chat.querySelector("[data-send]");
const heard = chat.querySelector("[data-heard]");
const report = chat.querySelector("[data-report]");
const keep = document.body.dataset.keep;
const base = document.body.dataset.base;
const STATES = { included: "in", truncated: "cut", excluded: "left out" };
let next = Number(chat.dataset.next);
let running = null;

const made = (name, attributes = {}, ...inside) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
};
const drawn = (name, attributes, ...inside) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...inside);
  return element;
};
const number = (value) => Number(value).toLocaleString("en");
// Whoever reads further up is left there; whoever is at the end sees what comes.
const end = chat.querySelector("[data-end]");
const isLow = () => end.getBoundingClientRect().top < window.innerHeight + 240;
const follow = (low) => { if (low) end.scrollIntoView({ block: "end" }); };

// What is being said, until the server renders it.
class Live {
  constructor(message) {
    this.nodes = [];
    this.calls = new Map();
    this.add("user", "You", made("div", { class: "prose pre" }, message));
    this.waiting = this.add("assistant", chat.dataset.name, made("p", { class: "soft waiting" }, "is looking at what it knows…"));
  }

  add(role, speaker, inside) {
    const low = isLow();
    const node = made("article", { class: `said said-${role} live-said` }, made("header", {}, made("span", { class: "speaker" }, speaker)), inside);
    this.nodes.push(node);
    talk.append(node);
    follow(low);
    return node;
  }

  settle() { this.waiting?.remove(); this.waiting = null; }

  take(event) {
    const low = isLow();
    switch (event.type) {
      case "STEP_STARTED": this.waiting?.querySelector(".waiting")?.replaceChildren("is making room: the history is being summed up…"); break;
      case "STATE_SNAPSHOT": show(event.snapshot.context); this.waiting?.querySelector(".waiting")?.replaceChildren("is thinking…"); break;
      case "TEXT_MESSAGE_START": this.settle(); this.text = made("div", { class: "prose pre" }); this.add("assistant", chat.dataset.name, this.text); break;
      case "TEXT_MESSAGE_CONTENT": this.text.textContent += event.delta; break;
      case "TOOL_CALL_START": {
        this.settle();
        const body = made("pre", { class: "text", tabindex: "0" });
        const node = made("details", { class: "call" }, made("summary", {}, "calls ", made("code", {}, event.toolCallName)), body);
        this.calls.set(event.toolCallId, body);
        this.add("tool", chat.dataset.name, node);
        break;
      }
      case "TOOL_CALL_ARGS": this.calls.get(event.toolCallId)?.append(event.delta); break;
      case "TOOL_CALL_RESULT": this.calls.get(event.toolCallId)?.append("\n\n", event.content); break;
      case "RUN_ERROR": complain(event); this.failed = true; break;
      case "RUN_FINISHED": for (const finding of event.result.findings || []) say(finding.message, { hint: finding.hint }); break;
    }
    follow(low);
  }

  remove() { for (const node of this.nodes) node.remove(); }
}

async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const frames = rest.split("\n\n");
    rest = frames.pop();
    for (const frame of frames) if (frame.startsWith("data: ")) yield JSON.parse(frame.slice(6));
  }
}

async function speak(message) {
  chat.querySelector("[data-nothing]")?.remove();
  const live = new Live(message);
  running = new AbortController();
  stopper.hidden = false;
  sender.disabled = true;
  heard.textContent = "The answer is coming.";
  try {
    const answer = await fetch(`${api}/sessions/${chat.dataset.path}/chat${keep}`, {
      method: "POST", body: JSON.stringify({ message }), signal: running.signal,
      headers: { "Content-Type": "application/json", "X-CSRF-Token": document.body.dataset.csrf },
    });
    if (!answer.ok) throw await answer.json();
    for await (const event of events(answer)) live.take(event);
  } catch (error) {
    if (error.name !== "AbortError") complain(error);
    else { say("Stopped. What had arrived is kept."); await new Promise((go) => setTimeout(go, 400)); }
  }
  running = null;
  stopper.hidden = true;
  sender.disabled = false;
  await render(live);
  heard.textContent = "The answer is complete.";
  box.focus();
}

// What the server wrote down takes the place of what was streamed.
async function render(live) {
  const joint = keep ? "&" : "?";
  try {
    const answer = await fetch(`${base}/chat/said${keep}${joint}${new URLSearchParams({ session: chat.dataset.session, from: next })}`);
    if (!answer.ok) return;
    const part = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-part]");
    if (!part || !part.children.length) return;
    const low = isLow();
    next = Number(part.dataset.last) + 1;
    live.remove();
    const added = [...part.children];
    talk.append(...added);
    added.forEach(equip);
    follow(low);
    const transcript = document.querySelector("[data-transcript]"); // there is one, from now on
    if (transcript) { transcript.href = transcript.dataset.transcript; transcript.hidden = false; }
    const address = new URL(location.href);
    if (!address.searchParams.has("session")) { address.searchParams.set("session", chat.dataset.session); history.replaceState(null, "", address); }
  } catch (error) { complain(error); }
}

// What the agent knew: the report of the call, beside the conversation.
function show(context) {
  const { tokens, prefix, sections, recall, warnings, forecast } = context;
  const about = tokens.method === "exact" ? "" : "≈ ";
  const parts = [
    made("p", { class: "knew-figure" }, made("strong", { class: "big" }, `${about}${number(tokens.used)}`), ` of ${number(tokens.window)} tokens`, made("span", { class: "soft small" }, tokens.method === "exact" ? ", counted" : ", estimated")),
    bar(tokens, prefix),
    made("p", { class: "soft small" }, `${number(prefix.tokens)} stay cached between calls${prefix.changed_by ? `; the cache broke at ${prefix.changed_by.section}` : ""}.${forecast.turns_to_compact === null ? "" : ` About ${number(forecast.turns_to_compact)} turns until history is compacted.`}`),
  ];
  parts.push(made("h3", {}, `Recalled (${number(recall.filter((hit) => hit.kept).length)})`));
  const hits = recall.filter((hit) => hit.kept).slice(0, 12);
  parts.push(hits.length
    ? made("ul", { class: "knew" }, ...hits.map((hit) => made("li", {}, made("a", { class: "knew-name", href: place(hit) }, named(hit)), " ", made("span", { class: "chip" }, hit.tier))))
    : made("p", { class: "soft small" }, "Nothing in files, memory or earlier sessions answered this message."));
  const rows = sections.filter((row) => row.kind !== "history" && row.state !== "missing");
  const said = sections.filter((row) => row.kind === "history");
  parts.push(made("h3", {}, "Sections, in order"));
  parts.push(made("ul", { class: "knew" }, ...rows.slice(0, 60).map(section), ...(said.length ? [section({ name: `${said.length} messages of this session`, state: "included", tokens: said.reduce((sum, row) => sum + row.tokens, 0) })] : [])));
  for (const warning of (warnings || []).slice(0, 6)) parts.push(made("p", { class: "small" }, made("span", { class: "chip", "data-state": "warning" }, "warning"), " ", warning.message));
  const joint = keep ? "&" : "?";
  parts.push(made("p", { class: "small" }, made("a", { href: `${base}/context${keep}${joint}${new URLSearchParams({ session: chat.dataset.session })}` }, "Every word of it")));
  report.replaceChildren(...parts);
}

function section(row) {
  const item = made("li", {}, made("span", { class: "knew-name" }, row.name), " ", made("span", { class: "chip", "data-state": row.state }, STATES[row.state] ?? row.state), " ", made("span", { class: "count" }, number(row.tokens)));
  if (row.reason) item.title = row.reason;
  return item;
}

// What was said is called by its session, all else by its file.
const LOG = /([^/]+?)(?:\.log)?\.jsonl$/;
const sessionOf = (hit) => (hit.tier === "session" ? hit.path.match(LOG)?.[1] : undefined);
const named = (hit) => (sessionOf(hit) ? `${sessionOf(hit)}, message ${number(hit.line)}` : `${hit.path}:${hit.line}`);

function place(hit) {
  const joint = keep ? "&" : "?";
  if (sessionOf(hit)) return `${base}/sessions/${encodeURIComponent(sessionOf(hit))}${keep}${joint}from=${hit.line}`;
  const path = hit.path.split("/").map(encodeURIComponent).join("/");
  return `${base}/files/${path}${keep}#L${hit.line}`;
}

function bar(tokens, prefix) {
  const whole = Math.max(tokens.window, tokens.used, 1);
  const wide = (part) => (part ? Math.max(3, (600 * part) / whole) : 0);
  const hatch = drawn("pattern", { id: "knew-hatch", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
    drawn("rect", { class: "k1", width: 6, height: 6 }), drawn("rect", { class: "on", width: 2, height: 6, "fill-opacity": ".45" }));
  return drawn("svg", { class: "picture gauge", viewBox: "0 0 600 22", preserveAspectRatio: "none", role: "img", "aria-label": `${number(tokens.used)} of ${number(tokens.window)} tokens are taken, ${number(prefix.tokens)} of them in the part that stays cached` },
    drawn("defs", {}, hatch), drawn("rect", { class: "blank", width: 600, height: 22, rx: 4 }), drawn("rect", { class: "k2", width: wide(tokens.used), height: 22, rx: 4 }), drawn("rect", { fill: "url(#knew-hatch)", width: wide(prefix.tokens), height: 22, rx: 4 }));
}

// Remember this, forget that.
const remember = document.getElementById("remember");
const forget = document.getElementById("forget");

function equip(node) {
  if (!node.matches(".said-user, .said-assistant") || !node.id || node.querySelector(".said-acts")) return;
  const keepIt = made("button", { type: "button", class: "quiet" }, "Remember this");
  const drop = made("button", { type: "button", class: "quiet" }, "Forget that");
  keepIt.addEventListener("click", () => {
    const chosen = getSelection();
    const words = chosen && !chosen.isCollapsed && node.contains(chosen.anchorNode) ? chosen.toString() : node.querySelector(".prose")?.innerText || "";
    remember.querySelector("textarea").value = words.trim().slice(0, 4000);
    remember.showModal();
  });
  drop.addEventListener("click", () => letGo(node.id.slice(2)).catch(complain));
  node.append(made("div", { class: "said-acts" }, keepIt, drop));
}

remember.addEventListener("close", async () => {
  if (remember.returnValue !== "keep") return;
  const { text, layer } = remember.querySelector("form").elements;
  try {
    const kept = await call("POST", `/facts?agent=${encodeURIComponent(chat.dataset.whose)}`, { json: { text: text.value, layer: layer.value } });
    if (kept.written.length) say("Remembered.", { hint: "Memory shows it, and Activity takes it back." });
    else if (kept.waiting.length) say("It waits for your word, under Review.");
    else if (kept.known) say("That was known already.");
    else say("It was not kept.", { hint: kept.refused[0]?.reason || "", bad: true });
  } catch (error) { complain(error); }
});

async function letGo(message) {
  const agent = encodeURIComponent(chat.dataset.whose);
  const found = await call("GET", `/facts?${new URLSearchParams({ agent: chat.dataset.whose, session: chat.dataset.session, limit: 500 })}`);
  const facts = found.items.filter((fact) => fact.evidence.includes(message) && ["written", "waiting", "planned"].includes(fact.state));
  if (!facts.length) { say("Nothing was remembered from this message.", { hint: "Facts are taken after a few turns; what you told is in the transcript only." }); return; }
  forget.querySelector("[data-facts]").replaceChildren(...facts.map((fact) => made("li", {}, fact.text)));
  forget.returnValue = "";
  forget.showModal();
  forget.addEventListener("close", async () => {
    if (forget.returnValue !== "forget") return;
    try {
      const done = await call("POST", `/memory:forget?agent=${agent}`, { json: { facts: facts.map((fact) => fact.id), dry_run: false } });
      say(`Forgotten: ${number(done.facts.length)}.`, { hint: done.remains?.length ? `${number(done.remains.length)} copies remain, in what was said.` : "" });
      for (const fact of facts) for (const mark of talk.querySelectorAll(`[data-fact="${CSS.escape(fact.id)}"]`)) mark.remove();
    } catch (error) { complain(error); }
  }, { once: true });
}

// The composer.
composer.hidden = false;
composer.addEventListener("submit", (event) => {
  event.preventDefault();
  const message = box.value.trim();
  if (!message || running) return;
  box.value = "";
  speak(message);
});
box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); composer.requestSubmit(); }
});
stopper.addEventListener("click", () => running?.abort());
document.addEventListener("keydown", (event) => { if (event.key === "Escape" && running && !document.querySelector("dialog[open]")) running.abort(); });
for (const button of chat.querySelectorAll("[data-suggest]")) button.addEventListener("click", () => { box.value = button.textContent; composer.requestSubmit(); });
talk.querySelectorAll(".said").forEach(equip);
if (talk.children.length) end.scrollIntoView({ block: "end" });
box.focus({ preventScroll: true });
