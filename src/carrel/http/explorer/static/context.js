// The page about a context: moving a limit shows at once what would fall out. Without this it is a form.
import { complain } from "./carrel.js";

const form = document.querySelector("form[data-part]");
const result = document.getElementById("result");
const heard = document.getElementById("heard");
let waiting = 0;
let asking = null;

function address(base) {
  const given = [...new FormData(form)].filter(([, value]) => value !== "");
  const query = new URLSearchParams(given).toString();
  return query ? `${base}?${query}` : base;
}

async function show() {
  asking?.abort();
  asking = new AbortController();
  const { signal } = asking;
  result.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address(form.dataset.part), { signal });
    const read = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (!answer.ok) throw new Error(read.querySelector("h1")?.textContent || answer.statusText);
    result.replaceChildren(...read.body.childNodes);
    history.replaceState(null, "", address(form.action));
    heard.textContent = result.querySelector("[data-told]")?.textContent || "";
  } catch (error) {
    if (error.name !== "AbortError") complain(error);
  } finally {
    if (asking?.signal === signal) result.removeAttribute("aria-busy");
  }
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(show, 150);
}

for (const slider of form.querySelectorAll("input[data-for]")) {
  const field = document.getElementById(slider.dataset.for);
  slider.hidden = false;
  slider.addEventListener("input", () => { field.value = slider.value; soon(); });
  field.addEventListener("input", () => { slider.value = field.value || field.placeholder; soon(); });
}
for (const field of form.querySelectorAll("select[name=session], input[name=model]")) field.addEventListener("change", show);
