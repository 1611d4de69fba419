"""Texts that try to run, planted wherever a page shows text: none runs, none calls anybody, all are seen as text.

The browser is told to ignore our content security policy, which would hide that a text was taken for more.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from html import unescape
from urllib.parse import parse_qs, quote, urljoin, urlsplit

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.conftest import Handed, Look, Studio, Watch, made_once, serving
from tests.browser.nursery import Nursery
from tests.stubs import hostile
from tests.stubs.studio import copy
from tests.stubs.vectors import RUN, VECTORS

from carrel.http.explorer.markup import rendered
from carrel.http.explorer.pages import NAVIGATION

FIND = """(within) => {
  const found = [];
  const odd = ["IFRAME", "OBJECT", "EMBED", "BASE", "STYLE", "MATH", "AUDIO", "VIDEO", "IMG", "IMAGE", "MARQUEE", "PICTURE"];
  const loading = ["src", "srcset", "action", "formaction", "data", "srcdoc", "poster", "background", "ping", "xlink:href"];
  for (const element of within.querySelectorAll("*")) {
    const tell = (what) => found.push(`${what}: ${element.outerHTML.slice(0, 160)}`);
    if (odd.includes(element.tagName.toUpperCase())) tell("element");
    if (element.tagName === "SCRIPT" && !(element.getAttribute("src") || "").startsWith("/static/")) tell("script");
    if (element.tagName === "META" && element.httpEquiv) tell("meta");
    for (const { name, value } of element.attributes) {
      if (/^on/i.test(name) || name === "style") tell(name);
      const loads = loading.includes(name) || (name === "href" && element.tagName !== "A");
      if (!loads && name !== "href") continue;
      let url;
      try { url = new URL(value, location.href); } catch { continue; }
      if (!["http:", "https:", "mailto:"].includes(url.protocol)) tell(name);
      if (loads && url.origin !== location.origin) tell(name);
    }
  }
  return found;
}"""
"""What of a document would run, or load something from elsewhere."""

FOUND = f"({FIND})(document)"
ANSWERS = f"""async (addresses) => {{
  const find = {FIND};
  const troubles = [];
  const ask = async (address) => {{
    const answer = await fetch(address, {{ headers: {{ Accept: "text/html" }} }});
    if (answer.status >= 500) troubles.push(`${{answer.status}}: ${{address}}`);
    if (!(answer.headers.get("content-type") || "").includes("html")) return;
    const read = new DOMParser().parseFromString(await answer.text(), "text/html");
    troubles.push(...find(read).map((each) => `${{address}}: ${{each}}`));
  }};
  const waiting = [...addresses];
  const work = async () => {{ while (waiting.length) await ask(waiting.shift()); }};
  await Promise.all([work(), work(), work()]);
  return troubles;
}}"""
"""What is wrong with the answers of some addresses."""

WRITTEN = f"""(htmls) => htmls.flatMap((html) => {{
  document.documentElement.innerHTML = html;
  return ({FIND})(document).map((each) => `${{html}}: ${{each}}`);
}})"""
"""What is wrong with some documents, each written into the page."""

SHOWN = """(() => {
  const values = [...document.querySelectorAll("input, textarea")].map(field => field.value);
  return [document.title, document.documentElement.textContent, ...values].join(" ");
})()"""
MOST_OF_A_KIND = 2
MOST_PAGES = 10
PAGING = {"tab", "view", "all", "start", "line", "from", "before", "after", "cursor"}
"""What an address says that shows more of the same."""

POLYGLOT = f"x\"'><img src=x onerror={RUN}>{{{{7*7}}}}</title></textarea><script>{RUN}</script>"

EXPECTED = {
    "files": ("name",),
    "files/markdown.md": ("markdown",),
    "files/plain.md": ("plain",),
    "files/values.json": ("json",),
    "files/bad.json": (),
    "files/table.csv": ("csv",),
    "files/script.js": ("js",),
    "files/page.html": ("html",),
    "files/headings.md": ("heading",),
    "files/MEMORY.md": ("section",),
    "memory": ("fact", "section"),
    "review": ("proposal",),
    "sessions": ("titled",),
    "sessions/attack": ("turn",),
    "dreams": ("journal",),
    "skills": ("skill",),
    "activity": ("audit",),
    "namespaces": ("namespace",),
}
"""Where vectors must be seen, and of which kind."""

STARTS = {address: () for address, _, _ in NAVIGATION} | EXPECTED
REFLECTING = (
    "search?q={}", "search?q=x&tier={}", "search?q=x&section={}", "files/{}", "files?path={}", "files/plain.md?tab={}", "sessions/{}",
    "sessions?q={}", "context?agent=kate&query={}", "context?agent=kate&session={}", "context/explain/{}?agent=kate",
    "memory?agent=kate&q={}", "review?state={}", "dreams?agent=kate&run={}", "activity?actor={}", "overview?agent={}", "overview?scope={}",
    "memory/section?agent=kate&path=MEMORY.md&section={}", "chat?agent=kate&session={}", "skills?skill={}", "{}",
    "../{}/overview",
)  # fmt: skip
"""Addresses that say what they were asked, `{}` being a vector."""


def plain(text: str) -> str:
    """A text without what may be laid out differently: spaces, what cannot be seen, the fence of code."""
    return "".join(filter(str.isprintable, "".join(text.split()))).replace("\ufffd", "").replace("`", "")


@pytest.fixture(scope="module")
def besieged(tmp_path_factory: pytest.TempPathFactory, nursery: Nursery) -> Iterator[Studio]:
    made = made_once(tmp_path_factory, "hostile", hostile.make)
    with serving(copy(made, tmp_path_factory.mktemp("besieged")), nursery) as served:
        yield served


@pytest.fixture(scope="module")
def unguarded(besieged: Studio, browser: Browser) -> Iterator[Handed]:
    """A page without the protection of our policy."""
    handed = Handed(browser, besieged, bypass_csp=True)
    yield handed
    handed.page.context.close()


@pytest.fixture
def open_page(unguarded: Handed, besieged: Studio) -> Iterator[Page]:
    """Such a page for one test; a script that runs leaves its mark and is found in the end."""
    with unguarded.for_one(besieged, {"Failed to load resource"}) as page:
        yield page


def assert_harmless(page: Page) -> None:
    where = page.url
    assert page.evaluate("window.__xss") is None, where
    assert page.evaluate(FOUND) == [], where


def unfold(page: Page) -> None:
    """Open what is folded, so that what a script adds is looked at too."""
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    folded = page.locator("main [aria-expanded='false']:visible")
    for _ in range(
        3 if urlsplit(page.url).path.endswith("/files") else 0
    ):  # the tree of every file is that one
        if folded.count():
            folded.first.press("*")
            page.wait_for_function("!document.querySelector('main [aria-busy]')")


def kind_of(address: str) -> str:
    """What addresses of one kind have in common."""
    parts = urlsplit(address)
    shape = re.sub(r"(/w/[^/]+/[^/]+)/.*", r"\1/*", parts.path)
    return f"{shape}?{re.sub(r'=[^&]*', '', parts.query)}"


def is_other_eye(link: str) -> bool:
    """Whether a link shows the same to somebody else."""
    query = parse_qs(urlsplit(link).query)
    return "scope" in query or query.get("agent", ["kate"]) != ["kate"]


def around(page: Page, start: str) -> Iterator[None]:
    """Visit a page and what it links to below itself, a few of each kind and every further page of a list."""
    waiting, known, kinds = [start], {start}, Counter[str]()
    while waiting and len(known) < MOST_PAGES:
        answer = page.goto(waiting.pop(0))
        assert answer is not None
        assert answer.status < 500, page.url
        known.add(page.url)
        yield
        here = urlsplit(page.url).path
        hrefs: Iterable[str] = page.evaluate(
            "[...document.querySelectorAll('main a[href]')].map(a => a.getAttribute('href'))"
        )
        for href in hrefs:
            link = urljoin(page.url, href).partition("#")[0]
            if link in known or not urlsplit(link).path.startswith(here) or is_other_eye(link):
                continue
            kinds[kind_of(link)] += 1
            is_next = urlsplit(link).path == here and bool(PAGING & {*parse_qs(urlsplit(link).query)})
            if is_next or kinds[kind_of(link)] <= MOST_OF_A_KIND:
                known.add(link)
                waiting.insert(0, link) if is_next else waiting.append(link)


@pytest.mark.parametrize("start", STARTS)
def test_what_is_planted_in_a_workspace_is_shown_as_text_and_runs_nowhere(
    open_page: Page, start: str
) -> None:
    seen = ""
    for _ in around(open_page, f"{start}{'&' if '?' in start else '?'}agent=kate"):
        assert_harmless(open_page)
        seen += plain(open_page.evaluate(SHOWN))
        unfold(open_page)
        assert_harmless(open_page)
        seen += plain(open_page.evaluate(SHOWN))
    for kind in STARTS[start]:
        marks = [n for n in range(len(VECTORS)) if f"{kind}-{n:03}" in seen]
        assert len(marks) > 0, f"{start} shows no {kind}"
        broken = [hostile.marked(kind, n) for n in marks if not is_whole(kind, n, seen)]
        assert broken == [], f"{start} changes what it shows: {after(seen, broken)}"


def after(seen: str, broken: list[str]) -> list[str]:
    """What was seen instead of some texts, to be told."""
    return [seen.partition(plain(text[:12]))[2][:80] for text in broken[:3]]


def is_whole(kind: str, number: int, seen: str) -> bool:
    """Whether a text was seen as it was planted: as it is, as JSON writes it, or as Markdown renders it.

    Of a name, a page may show one part at a time.
    """
    text = hostile.marked(kind, number)
    if kind == "name":
        return plain(text.partition("/")[0])[: hostile.LONGEST_NAME // 2] in seen
    read = [unescape(re.sub(r"<[^>]*>", "", rendered(form))) for form in (text, hostile.one_line(text))]
    written = [json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (False, True)]
    return any(plain(form) in seen for form in (text, *written, *read))


def test_what_is_asked_is_said_as_text_and_runs_nowhere(open_page: Page, besieged: Studio) -> None:
    open_page.goto("overview")
    addresses = [
        f"{besieged.base}{address.format(quote(vector, safe=''))}"
        for number, vector in enumerate(VECTORS)
        for address in {REFLECTING[0], REFLECTING[number % len(REFLECTING)]}
    ]
    assert open_page.evaluate(ANSWERS, addresses) == []
    assert_harmless(open_page)


@pytest.mark.parametrize("address", REFLECTING)
def test_what_is_asked_runs_nowhere_in_a_real_page(open_page: Page, besieged: Studio, address: str) -> None:
    for vector in (POLYGLOT, f"javascript:{RUN}"):
        answer = open_page.goto(address.format(quote(vector, safe="")))
        assert answer is not None
        assert answer.status < 500
        assert_harmless(open_page)
    if address == "search?q={}":
        assert open_page.locator("#find").input_value() == f"javascript:{RUN}"


def test_no_markdown_runs_or_loads_anything_even_without_a_policy(browser: Browser, besieged: Studio) -> None:
    context = browser.new_context()
    watch = Watch(context, besieged)
    page = context.new_page()
    page.goto(f"{besieged.url}/healthz")
    forms = ("{0}", "# {0}", "- {0}", "> {0}", "| {0} |\n|---|\n| {0} |")
    htmls = [str(rendered(form.format(vector))) for vector in VECTORS for form in forms]
    assert page.evaluate(WRITTEN, htmls) == []
    page.wait_for_timeout(100)
    assert page.evaluate("window.__xss") is None
    assert watch.troubles == []
    context.close()


def test_the_vectors_would_be_noticed(browser: Browser) -> None:
    """The other way round: shows that the checks above can fail."""
    page = browser.new_page()
    page.goto("about:blank")
    page.set_content(VECTORS[13])
    page.wait_for_function("window.__xss === 1")
    assert page.evaluate(FOUND) != []
    assert len(set(VECTORS)) >= 120
    page.close()


def test_the_policy_stops_what_would_come_through(besieged: Studio, look: Look, forgiven: set[str]) -> None:
    forgiven |= {
        "Content Security Policy",
        "404",
        "request to http://evil.example/x.png",
    }  # which was asked for and stopped
    page = look(besieged, path="overview")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.__xss=1\">')")
    page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=http://evil.example/x.png>')")
    page.evaluate(
        "const made = document.createElement('script'); made.textContent = 'window.__xss = 1'; document.body.append(made)"
    )
    page.wait_for_timeout(100)
    assert page.evaluate("window.__xss") is None


def test_a_file_that_is_downloaded_is_never_a_page(besieged: Studio, open_page: Page) -> None:
    for name in ("page.html", "picture.svg", "script.js", "markdown.md"):
        answer = open_page.request.get(f"{besieged.url}/api/v1/w/studio/files/{name}")
        assert answer.headers["content-type"].startswith("text/plain")
        assert answer.headers["content-disposition"].startswith("attachment")
        assert answer.headers["x-content-type-options"] == "nosniff"
