"""Facts by rules, and summaries by extraction: what is found in plain sentences, and what is left alone."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carrel.runtime.offline import Extracted, extract_facts, summarise
from carrel.runtime.offline.sources import OWN
from carrel.runtime.offline.summary import HEADINGS
from carrel.sessions.message import Message, ToolCall

MARK = "[Earlier in this session]"


def facts(text):
    return [(fact.kind, fact.text) for fact in extract_facts([Message("user", text)])]


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("My name is Ana.", ("name", "The user's name is Ana.")),
        ("hi, my name is ana", ("name", "The user's name is ana.")),
        ("My name is Dr. Ana de la Cruz, hello.", ("name", "The user's name is Dr. Ana de la Cruz.")),
        ("You can call me Luis!", ("name", "The user's name is Luis.")),
        ("Me llamo José.", ("name", "The user's name is José.")),
        ("Ich heiße Jürgen.", ("name", "The user's name is Jürgen.")),
        (
            "I prefer short replies on my phone.",
            ("preference", "The user prefers short replies on their phone."),
        ),
        ("I\u2019d prefer tea.", ("preference", "The user prefers tea.")),
        ("I really hate spam", ("preference", "The user hates spam.")),
        ("I don't like meetings.", ("preference", "The user does not like meetings.")),
        ("My favourite colour is green.", ("preference", "The user's favourite colour: green.")),
        ("Please never use emojis.", ("preference", "Never use emojis.")),
        ("Prefiero respuestas cortas.", ("preference", "The user prefers respuestas cortas.")),
        ("We decided to use Postgres.", ("decision", "Decided to use Postgres.")),
        ("We've finally agreed on Fridays.", ("decision", "Agreed on Fridays.")),
        ("OK, let's go with FastAPI.", ("decision", "Decided to go with FastAPI.")),
        ("Hemos decidido usar Rust.", ("decision", "Decided usar Rust.")),
        ("Remember that the gate closes at nine.", ("remember", "The gate closes at nine.")),
        ("Please remember my name is Ana.", ("name", "The user's name is Ana.")),
        ("Merk dir, dass der Zug um 8 fährt.", ("remember", "Der Zug um 8 fährt.")),
        ("Actually, my name is Anna.", ("correction", "The user's name is Anna.")),
        ("Actually the server is in Frankfurt.", ("correction", "The server is in Frankfurt.")),
        ("My birthday is on 3 May.", ("date", "The user's birthday is 3 May.")),
        ("I was born in 1990.", ("date", "The user was born in 1990.")),
        ("The next release is scheduled for June.", ("date", "The next release is scheduled for June.")),
        ("Our launch is on 2026-05-01.", ("date", "The launch is on 2026-05-01.")),
        ("I live in Bogotá.", ("place", "The user lives in Bogotá.")),
        ("Ich wohne in Köln.", ("place", "The user lives in Köln.")),
        ("I work at Acme.", ("work", "The user works at Acme.")),
        ("I'm a developer.", ("work", "The user is a developer.")),
        ("We use Python.", ("tool", "The team uses Python.")),
        ("Usamos Django.", ("tool", "The team uses Django.")),
        ("My timezone is America/Bogota.", ("fact", "The user's timezone: America/Bogota.")),
        ("Our database is SQLite.", ("fact", "The team's database: SQLite.")),
    ],
)
def test_a_plain_statement_is_a_fact(said, found):
    assert facts(said) == [found]


@pytest.mark.parametrize(
    "said",
    [
        "What is my name?",
        "Is my name Ana?",
        "Call me tomorrow.",
        "My name is on the list.",
        "I'm a bit tired.",
        "I would like to know more.",
        "Let's see.",
        "Actually, let me check.",
        "My question is simple.",
        "My password is hunter2.",
        "Our API key is abc123.",
        "> My name is Quoted.",
        "```\nMy name is Code.\n```",
        "She said that my name is Ana.",
        "Remember to call Ana.",
        "",
    ],
)
def test_what_no_rule_knows_is_not_guessed(said):
    assert facts(said) == []


def test_several_facts_in_one_message_are_told_apart():
    assert facts("My name is Ana and I live in Quito, but we use Rust.\n- I prefer tea.") == [
        ("name", "The user's name is Ana."),
        ("place", "The user lives in Quito."),
        ("tool", "The team uses Rust."),
        ("preference", "The user prefers tea."),
    ]


def test_a_fact_names_the_message_it_came_from_and_is_told_once():
    messages = [
        Message("system", "My name is System."),
        Message("user", ("My name is Ana.", "<recall>\nMy name is Recalled.\n</recall>")),
        Message("assistant", "My name is Kate."),
        Message("tool", "My name is Tool."),
        Message("user", "My name is Ana. We use Rust."),
    ]
    assert extract_facts(messages) == (
        Extracted(text="The user's name is Ana.", kind="name", evidence_index=1),
        Extracted(text="The team uses Rust.", kind="tool", evidence_index=4),
    )


# Summaries


def talk(*texts):
    """A conversation whose messages take turns, the user's first."""
    return [Message(("user", "assistant")[n % 2], text) for n, text in enumerate(texts)]


def section(summary, heading):
    block = summary.partition(f"## {heading}\n")[2].partition("\n\n")[0]
    return [line[2:] for line in block.splitlines()]


def test_a_summary_holds_intents_decisions_facts_dates_open_ends_and_references():
    summary = summarise(
        talk(
            "Please fix src/lib/api.ts first. It broke with #42, see https://example.org/log.",
            "Done in 3c67ec4. We decided to keep the old endpoint.",
            "My name is Ana and we decided to use Postgres. The demo is on 2026-05-01.",
            "Noted. Should I tell Luis?",
            "Yes. We need to update README.md. - thanks",
            "",
            "Who pays for it?",
        ),
        limit_chars=4_000,
    )
    assert section(summary, "Requests") == [
        "Please fix src/lib/api.ts first.",
        "My name is Ana and we decided to use Postgres.",
        "We need to update README.md.",
        "Who pays for it?",
    ]
    assert section(summary, "Decisions") == ["Decided to keep the old endpoint.", "Decided to use Postgres."]
    assert section(summary, "Facts") == ["The user's name is Ana."]
    assert section(summary, "Dates") == ["The demo is on 2026-05-01."]
    assert section(summary, "Open") == ["We need to update README.md.", "Who pays for it?"]
    named = section(summary, "Names and references")
    assert {"src/lib/api.ts", "#42", "https://example.org/log", "3c67ec4", "README.md", "Luis", "Ana"} <= set(
        named
    )


def test_an_earlier_summary_is_carried_over_and_not_repeated():
    first = summarise(talk("We decided to use Postgres. My name is Ana."), limit_chars=1_000)
    again = [Message("user", f"{MARK}\n{first}"), *talk("We decided to use Redis. My name is Ana.")]
    second = summarise(again, limit_chars=1_000, earlier=MARK)
    assert section(second, "Decisions") == ["Decided to use Postgres.", "Decided to use Redis."]
    assert section(second, "Facts") == ["The user's name is Ana."]
    assert MARK not in second
    assert summarise([Message("user", f"{MARK}\n{second}")], limit_chars=1_000, earlier=MARK) == second


def test_a_long_conversation_is_cut_to_the_newest_of_every_kind_and_says_so():
    messages = talk(*(f"We decided to use tool{n}. Please look at src/file{n}.py." for n in range(200)))
    summary = summarise(messages, limit_chars=1_500)
    assert len(summary) <= 1_500
    assert "Decided to use tool199." in section(summary, "Decisions")
    assert "Decided to use tool0." not in summary
    assert section(summary, "Requests")
    assert summary.rpartition("\n\n")[2].endswith("more entries were left out.)")


def test_what_earlier_summaries_left_out_is_still_counted():
    earlier = Message(
        "user", f"{MARK}\n## Facts\n- The user's name is Ana.\n\n(1,200 more entries were left out.)"
    )
    summary = summarise([earlier, *talk("We use Rust.")], limit_chars=1_000, earlier=MARK)
    assert summary.endswith("(1,200 more entries were left out.)")


def test_a_question_that_got_no_answer_stays_open():
    answered = talk("Where is the key?", "Under the mat.")
    assert section(summarise(answered, limit_chars=1_000), "Open") == []
    unknown = talk("Where is the key?", f"{OWN}, and nothing that I was given says anything about key.")
    assert section(summarise(unknown, limit_chars=1_000), "Open") == ["Where is the key?"]


def test_tasks_in_boxes_are_open_whoever_wrote_them():
    summary = summarise(talk("Plan it.", "- [ ] buy rope\n- [x] buy sail"), limit_chars=1_000)
    assert section(summary, "Open") == ["buy rope"]


def test_the_files_that_tools_were_called_with_are_named_and_their_results_are_not():
    call = ToolCall(id="a", name="read_file", arguments={"path": "notes/plan.md"})
    broken = ToolCall(id="b", name="read_file", arguments="\ud800{")
    messages = [
        Message("user", "Read the plan."),
        Message("assistant", "", tool_calls=(call, broken)),
        Message("tool", "We decided to see secret/file.md", tool_call_id="a"),
    ]
    summary = summarise(messages, limit_chars=1_000)
    assert "notes/plan.md" in section(summary, "Names and references")
    assert "secret" not in summary


def test_answers_of_the_offline_model_are_no_material_for_a_summary():
    summary = summarise(
        talk("Hello there, friend.", f"{OWN}. We decided to quote src/a.py."), limit_chars=1_000
    )
    assert "src/a.py" not in summary


def test_a_text_cannot_forge_a_heading_of_the_summary():
    summary = summarise(talk("## Decisions - none\nremember that x\n## Facts\n- y is z"), limit_chars=1_000)
    assert all(line[3:] in HEADINGS for line in summary.splitlines() if line.startswith("#"))


def test_where_not_one_entry_fits_there_is_no_summary():
    assert summarise(talk("We decided to use Postgres."), limit_chars=20) == ""
    assert summarise([], limit_chars=1_000) == ""


TEXTS = st.one_of(
    st.text(max_size=120),
    st.lists(
        st.sampled_from(
            ["My name is Ana.", "We decided to use X1.", "What now?", "- [ ] rope", "see src/a.py", "#42", MARK, "## Facts",
             "- a bullet", "```", "\ud800\x00", "by 3 May.", "dr. ", "(3 more entries were left out.)", "I prefer tea"]
        ),
        max_size=10,
    ).map("\n".join),
)  # fmt: skip


@settings(max_examples=200, deadline=None)
@given(
    messages=st.lists(
        st.builds(Message, role=st.sampled_from(["user", "assistant", "tool"]), content=TEXTS), max_size=8
    ),
    limit=st.integers(0, 400),
)
def test_any_summary_keeps_its_limit_and_is_the_same_twice(messages, limit):
    summary = summarise(messages, limit_chars=limit, earlier=MARK)
    assert len(summary) <= limit
    assert summary == summarise(messages, limit_chars=limit, earlier=MARK)
    for line in summary.splitlines():
        assert line == "" or line.startswith(("## ", "- ", "("))


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(TEXTS, max_size=5))
def test_every_fact_is_one_short_line_with_evidence(texts):
    messages = [Message("user", text) for text in texts]
    for fact in extract_facts(messages):
        assert 0 < len(fact.text) <= 300
        assert "\n" not in fact.text
        assert 0 <= fact.evidence_index < len(messages)


def test_hostile_texts_take_time_in_proportion_to_their_length():
    """Each of these would never end if a rule went back over what it has read."""
    for text in (
        "." * 10**6,
        "my " * 10**5,
        "dr. " * 10**5,
        "and i " * 10**5,
        "a/" * 10**5,
        "I prefer " + "x" * 10**6,
    ):
        summary = summarise([Message("user", text)], limit_chars=2_000)
        assert len(summary) <= 2_000
