"""The opposite failure: what owners say and write themselves is kept, promoted and shown, however it sounds."""

import pytest
from tests.poison.desk import DAY, NOW, Desk, agent, user
from tests.poison.saying import HOWS, SAYINGS, kept, left_out, say


@pytest.mark.parametrize("how", HOWS)
def test_what_an_owner_says_is_written_at_once_and_in_the_next_prompt(tmp_path, how):
    assert left_out(kept(Desk(tmp_path), how), how) == []


def test_what_rules_take_from_an_owners_words_waits_for_nobody(tmp_path):
    desk = Desk(tmp_path)
    with desk.open() as workspace:
        for number, words in enumerate(SAYINGS):
            say(workspace, "with tools", f"s{number}", words)
        workspace.sweep()
        facts = workspace.memory.facts(limit=100)
        assert len(facts) >= 4
        assert {(fact.state, fact.trust) for fact in facts} == {("written", "owner")}
        assert workspace.memory.review.waiting() == []


PLACES = {
    "notebook": ("memory/kate.md", "## Insights\n\n{bullets}"),
    "journal": ("memory/2026-04-20.md", "{bullets}"),
    "journal with hours": ("memory/2026-04-21.md", "{entries}"),
    "sessions": ("", ""),
}


def dreamt(desk: Desk, place: str) -> tuple[dict[str, str], str, int]:
    """Let everything be recalled on three days, and dream."""
    path, shape = PLACES[place]
    bullets = "".join(f"- {words}\n" for words in SAYINGS)
    entries = "".join(f"- 09:{number:02} [note] {words}\n" for number, words in enumerate(SAYINGS))
    if path:
        desk.put({path: shape.format(bullets=bullets, entries=entries)})
    else:
        with desk.open(NOW - 4 * DAY) as workspace:
            for number, words in enumerate(SAYINGS):
                workspace.record(f"s{number}", [user(words), agent("All right.")])
    for days in (3, 2, 1):
        with desk.open(NOW - days * DAY) as workspace:
            tools = workspace.tools(session=f"day{days}")
            for words in SAYINGS:
                tools.call("memory_search", {"query": f"{words} {days}", "limit": 3})
    with desk.open() as workspace:
        judged = workspace.dreaming.look().plan.judged
        workspace.dreaming.run()
        waiting = len(workspace.memory.review.waiting())
    states = {each.candidate.text: each.reason or each.state for each in judged}
    return states, (desk.root / "MEMORY.md").read_text(), waiting


@pytest.fixture(scope="module")
def dreams(tmp_path_factory):
    """One dream for each place in which the owner has written or said everything."""
    done: dict[str, tuple[dict[str, str], str, int]] = {}

    def dream(place: str) -> tuple[dict[str, str], str, int]:
        if place not in done:
            desk = Desk(tmp_path_factory.mktemp("dream"), files={"AGENTS.md": "Be brief.\n"})
            done[place] = dreamt(desk, place)
        return done[place]

    return dream


@pytest.mark.parametrize("words", SAYINGS)
@pytest.mark.parametrize("place", PLACES)
def test_what_an_owner_wrote_by_hand_or_said_is_promoted_when_it_is_recalled(dreams, place, words):
    states, memory, waiting = dreams(place)
    assert states[words] == "ready"
    assert f"- {words} _(score=" in memory
    assert waiting == 0


@pytest.mark.parametrize(
    "path", ["MEMORY.md", "USER.md", "AGENTS.md", "memory/kate.md", "memory/2026-04-24.md"]
)
def test_what_an_owner_writes_into_a_file_by_hand_is_in_the_prompt_as_it_is(tmp_path, path):
    desk = Desk(tmp_path)
    lines = "".join(f"- {words}\n" for words in SAYINGS)
    desk.put({path: f"# Mine\n\n{lines}"})
    with desk.open() as workspace:
        workspace.sweep()
    shown = desk.shown()
    assert [words for words in SAYINGS if words not in shown] == []
    assert (desk.root / path).read_text() == f"# Mine\n\n{lines}"
