// A transcript: more of it is appended as one scrolls, and a fork is opened when it is made.
import { complain } from "./carrel.js";

const talk = document.querySelector("[data-talk]");
const more = document.querySelector("[data-more]");
const place = document.querySelector("[data-place]");
const MOST = 3000; // messages that one page holds; then one goes on by the link

async function append() {
  const address = new URL(more.href);
  address.searchParams.set("part", "true");
  const answer = await fetch(address);
  if (!answer.ok) throw new Error("The rest could not be loaded.");
  const part = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-part]");
  talk.classList.add("long"); // from here on a browser draws only what is in sight
  talk.append(...part.children);
  const next = part.dataset.next;
  if (next) { address.searchParams.set("from", next); address.searchParams.delete("part"); more.href = address; }
  else more.remove();
  if (place) place.textContent = place.textContent.replace(/to .* of/, `to ${Number(part.dataset.last).toLocaleString("en")} of`);
}

if (talk && more && "IntersectionObserver" in window) {
  let busy = false;
  const watch = new IntersectionObserver(async ([seen]) => {
    if (!seen.isIntersecting || busy || talk.children.length > MOST) return;
    busy = true;
    try { await append(); } catch (error) { watch.disconnect(); complain(error); } finally { busy = false; }
    if (more.isConnected) { watch.unobserve(more); watch.observe(more); } else watch.disconnect();
  }, { rootMargin: "1200px" });
  watch.observe(more);
}

document.addEventListener("done", (event) => {
  if (event.target.dataset.then !== "fork") return;
  const address = new URL(location.href);
  address.pathname = `${document.body.dataset.base}/sessions/${encodeURIComponent(event.detail.session)}`;
  for (const name of ["from", "before", "m", "full", "view"]) address.searchParams.delete(name);
  address.hash = "";
  location.assign(address);
});

// What is said meanwhile is told of, and shown by whoever wants to see it.
const news = document.querySelector("[data-news]");
document.addEventListener("carrel", ({ detail }) => { if (news && detail.session === news.dataset.news) news.hidden = false; });
