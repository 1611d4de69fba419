"""Models by name, and a model that is made to speak slowly."""

import asyncio

import pytest

from carrel.runtime.model import Reply, Request
from carrel.runtime.models import OFFLINE, Paced, UnknownModel, pick_model
from carrel.sessions.message import Message
from carrel.testing import ScriptedModel

REQUEST = Request(messages=(Message("user", "Which phone?"),))


WORDS = ("two ", "words", Reply(text="two words"))


async def heard(model):
    return [item async for item in model.stream(REQUEST)]


@pytest.mark.parametrize("name", [None, "offline"])
def test_the_offline_model_is_the_one_that_is_always_there(name):
    assert pick_model(name).name == "offline"


@pytest.mark.parametrize("name", ["", "gpt-99", "Offline", "x" * 1_000_000, "\x1b[2J\udce9"])
def test_a_name_that_no_model_has_is_told_which_there_are(name):
    with pytest.raises(UnknownModel) as raised:
        pick_model(name)
    assert OFFLINE in raised.value.hint
    assert len(raised.value.message) < 1_000
    assert raised.value.message.isprintable()


def test_a_slow_model_says_the_same():
    model = Paced(ScriptedModel(WORDS), 0.001)
    assert asyncio.run(heard(model)) == list(WORDS)
    assert model.name == "scripted"


def test_a_slow_model_that_is_stopped_lets_go_of_the_other():
    model = ScriptedModel(WORDS)

    async def first():
        stream = Paced(model, 0.001).stream(REQUEST)
        item = await anext(stream)
        await stream.aclose()
        return item

    assert asyncio.run(first()) == "two "
    assert model.closed == 1
