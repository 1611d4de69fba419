"""What the demo's workspace tells: its files, its journal, and what was said in it over three weeks."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

_HOURS = "Luis answers mail from 9 to 11 in the morning, Bogota time."
_RULE = (
    "Every screen of the app is reviewed by two people before it ships, and one of them has never seen it. "
)
_CHAPTERS = ("Meetings", "Reviews", "Releases", "Support", "Money", "Travel", "Holidays", "Hiring")

FILES: Mapping[str, str] = {
    "carrel.yaml": """\
layout: carrel
workspace: {name: Harbour Studio}
user: {name: Luis}
model: {context_window: 16000}
budgets: {file: 1500, total: 2400}
dreaming: {schedule: daily 03:00}
agents:
  - id: kate
    displayName: Kate
    profile: kate
    systemPromptTemplate: You are {{agent.displayName}}, and you help {{user.name}} to launch Harbour.
""",
    "SOUL.md": "# Soul\n\nKind, and exact. Ask before doing what cannot be undone.\n",
    "AGENTS.md": "# How to work here\n\n- Be brief.\n- Say where a fact comes from.\n- Ship on Thursdays.\n",
    "IDENTITY.md": "- **Name:** Kate\n- **Creature:** octopus\n- **Vibe:** warm but sharp\n- **Emoji:** 🐙\n",
    "USER.md": "# Luis\n\nLives in Bogota. Makes Harbour, an app for small ports. Prefers plain words.\n",
    "MEMORY.md": "# Memory\n\n## People\n\n- Ana designs, and uses a Samsung, not an iPhone.\n"
    "- Eva keeps the books.\n\n## Decisions\n\n- Harbour is written in Python.\n- The beta is free.\n",
    "stack.md": "<!-- priority: 10 -->\n<!-- tags: code -->\n# Stack\n\n| part | tool |\n|---|---|\n"
    "| api | FastAPI |\n| data | PostgreSQL |\n| map | our own tiles |\n",
    "handbook.md": "<!-- priority: 20 -->\n# Handbook\n\n"
    + "".join(f"## {chapter}\n\n{_RULE * 14}\n\n" for chapter in _CHAPTERS),
    "press.md": "<!-- priority: 30 -->\n# Press kit\n\n"
    + "Harbour shows a port what arrives when. " * 150
    + "\n",
    "salaries.md": "---\nscope: private\npriority: 15\n---\n# Salaries\n\nAna and Eva earn the same.\n",
    "knowledge/KNOWLEDGE.md": "# Start here\n\n- [[ports]] that take part\n- [[tides]] and their sums\n",
    "knowledge/ports.md": "# Ports\n\nCartagena, Buenaventura and Santa Marta take part in the beta.\n",
    "knowledge/tides.md": "# Tides\n\nTides come from the harmonic constants of each port, once a day.\n",
    "skills/deploy/SKILL.md": "---\nname: deploy\ndescription: Ship a release of Harbour safely, or take it "
    "back.\n---\n# Deploy\n\n1. Run the checks.\n2. Ship to Santa Marta first.\n3. Wait for an hour.\n",
    "skills/answer-support/SKILL.md": "---\nname: answer-support\ndescription: Answer a port that writes to "
    "support, in its own language.\n---\n# Support\n\nThank them, say what happens next, and by when.\n",
    "subagents/researcher.md": "---\ndescription: Finds things out and says where it read them\n---\n"
    "You are careful, and quote your sources.\n",
    "memory/entities/ana.md": "# Ana\n\n- designs [[harbour]]\n- works from Lima\n",
    "memory/procedures/release.md": "# Release\n\n1. Tell the ports before.\n2. Ship.\n3. Watch.\n",
    "data/ports.json": '{"ports": [{"name": "Cartagena", "berths": 14}, {"name": "Tolú", "berths": 6}]}\n',
}

JOURNAL: Mapping[int, str] = {
    20: "- 09:10 [decision] Moved the launch from 5 to 12 May.\n- 11:30 [note] Ana is ill until Friday.\n",
    14: f"- 08:50 [note] {_HOURS}\n- 16:20 [note] Cartagena wants the map in Spanish.\n",
    6: "- 10:05 [decision] The beta has three ports.\n- 15:45 [outcome] Ports read it in the sun.\n",
    1: "- 09:30 [note] Santa Marta found two berths missing.\n",
}


class Line(Struct, frozen=True):
    """One turn: what Luis says, what Kate answers, and the file that she reads before, if any."""

    said: str
    answer: str
    reads: str = ""


TALKS: Sequence[tuple[int, str, tuple[Line, ...]]] = (
    (
        21,
        "kick-off",
        (
            Line(
                "My name is Luis and I make Harbour.",
                "Good to meet you, Luis. I have read how work is done here: brief, with sources, and "
                "released on Thursdays. What comes first?",
            ),
            Line(
                "We decided to use PostgreSQL.",
                "Good: `stack.md` says the same, so nothing else has to change.",
            ),
            Line(
                "What did we decide?",
                "Two things so far:\n\n- Harbour is written in Python (MEMORY.md).\n- Its data is in "
                "PostgreSQL; you said so just now.",
            ),
        ),
    ),
    (
        17,
        "launch",
        (
            Line("Remember that the launch is on 12 May.", "The launch is on **12 May**. I keep that."),
            Line("Which phone does Ana use?", "A Samsung, not an iPhone. MEMORY.md says so, under People."),
        ),
    ),
    (
        12,
        "launch",
        (
            Line("When is the launch?", "On 12 May. It was to be on 5 May; the journal has the change."),
            Line(
                "When does Luis answer mail in the morning?",
                "From 9 to 11, Bogota time, as the journal has it.",
            ),
        ),
    ),
    (
        9,
        "mail",
        (
            Line("At which hours does Luis answer mail, Bogota time?", "From 9 to 11 in the morning."),
            Line("I prefer short answers.", "Short they are."),
        ),
    ),
    (
        5,
        "mail",
        (
            Line(
                "Can I write to Luis in the morning, or does he answer mail later?",
                "In the morning: he answers from 9 to 11.",
            ),
        ),
    ),
    (
        3,
        "ports",
        (
            Line("Which ports take part in the beta?", "Cartagena, Buenaventura and Santa Marta."),
            Line("Remember that Cartagena pays in pesos.", "Cartagena pays in pesos. I keep that."),
            Line("What does Cartagena want of the map?", "It wants the map in Spanish, says the journal."),
        ),
    ),
    (
        2,
        "launch",
        (
            Line(
                "Please read knowledge/tides.md.",
                "Tides come from the harmonic constants of each port, and are computed once a day.",
                reads="knowledge/tides.md",
            ),
            Line("Tell me when Luis answers mail in Bogota.", "From 9 to 11 in the morning."),
        ),
    ),
    (
        0,
        "launch",
        (
            Line(
                "What do you know about the launch?",
                "It is on 12 May, moved from the 5th. Three ports take part. Santa Marta found two berths "
                "missing yesterday, which I would settle first.",
            ),
            Line("From when to when does Luis answer mail?", "From 9 to 11, Bogota time."),
        ),
    ),
)

AFTERWARDS: Sequence[Line] = (
    Line("Who reads Harbour in the sun?", "Ports do, says the journal: so it needs contrast."),
    Line("How do ports read it?", "In the sun."),
)
"""What is asked after the last dream: it makes the next one ready for something."""

_PORTS = ("Cartagena", "Buenaventura", "Santa Marta")
_DUTIES: Sequence[tuple[str, str]] = (
    ("the depth at low tide", "Take it from the harbour master's table, and note the date of the survey"),
    ("the ladder and the bollards", "Photograph them from the water, and count the bollards twice"),
    ("the lights", "Look at them after dark; one that is out is the port's to mend, and ours to show"),
    ("the fuel", "Ask who sells it, from when to when, and whether they take cards"),
    ("the number", "Compare it with data/ports.json, where two berths are missing"),
)
STEPS, SUMMED_UP = 44, 32
"""Turns of the launch plan, and the one after which its history is summed up."""


def step(number: int) -> Line:
    """Return one turn of the launch plan, which goes from berth to berth."""
    port = _PORTS[number % len(_PORTS)]
    duty, advice = _DUTIES[number % len(_DUTIES)]
    others = [name for name in _PORTS if name != port]
    return Line(
        f"Berth {number} in {port}: what about {duty}?",
        f"{advice}. Then:\n\n"
        f"- Write it into the sheet of {port}, with your name and the hour, so that Eva can pay whoever "
        "helped.\n"
        f"- Send the picture to Ana. She draws berth {number} as it is, and not as the old chart has it; "
        "what looks different there was built after the survey.\n"
        f"- Ask in {others[0]} and {others[1]} whether theirs are the same, since a rule that holds in one "
        "port only is none.\n\n"
        f"When all three are done, berth {number} is ready, and **{STEPS - number}** are left. I would write "
        f"to {port} tonight: their office answers before noon, and the beta begins on Thursday.",
    )


SAID = "Please note for everybody: the code of the office door is 4711 now."
NOTED = {
    "action": "append",
    "path": "MEMORY.md",
    "section": "People",
    "text": "- The office door opens with 4711.",
}
