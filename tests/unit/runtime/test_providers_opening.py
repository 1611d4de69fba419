"""Opening a provider's model: everything that can be wrong with its name, its key and its address is said at once."""

import sys

import pytest
from tests.stubs import anthropic, openai
from tests.stubs.asking import KEY, ask, model_at
from tests.stubs.openai import OpenAIStub

from carrel.errors import CarrelError
from carrel.runtime.models import pick_model
from carrel.runtime.providers import open_model
from carrel.runtime.providers.endpoint import find_endpoint
from carrel.runtime.providers.errors import BadEndpoint, KeyMissing, PackageMissing, UnknownModel

KEYS = {"OPENAI_API_KEY": KEY, "ANTHROPIC_API_KEY": KEY, "DEEPSEEK_API_KEY": KEY}
SERVER = "http://127.0.0.1:1/v1"


def endpoint(name, *, base_url=None, key_variable=None, environ=KEYS):
    return find_endpoint(name, base_url=base_url, key_variable=key_variable, environ=environ)


@pytest.mark.parametrize(
    ("name", "dialect", "model"),
    [
        ("openai:gpt-4o", "openai", "gpt-4o"),
        ("openai-chat:gpt-4o", "openai", "gpt-4o"),
        ("openai-responses:gpt-5", "responses", "gpt-5"),
        ("anthropic:claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("openai:ft:gpt-4o:org::id", "openai", "ft:gpt-4o:org::id"),
        ("openai:a-model-of-next-year", "openai", "a-model-of-next-year"),
        ("gpt-4o-mini", "openai", "gpt-4o-mini"),
        ("o3-mini", "openai", "o3-mini"),
        ("claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
        ("deepseek:deepseek-chat", "other", "deepseek-chat"),
    ],
)
def test_a_name_says_who_is_asked(name, dialect, model):
    found = endpoint(name)
    assert (found.dialect, found.model, found.name) == (dialect, model, name)
    assert found.base_url is None


@pytest.mark.parametrize(
    ("name", "dialect", "model"),
    [
        ("qwen3:8b", "openai", "qwen3:8b"),
        ("ollama:qwen3:8b", "openai", "qwen3:8b"),
        ("mistralai/mixtral", "openai", "mistralai/mixtral"),
        ("claude-sonnet-4-5", "openai", "claude-sonnet-4-5"),
        ("openai:gpt-4o", "openai", "gpt-4o"),
        ("anthropic:claude-sonnet-4-5", "anthropic", "claude-sonnet-4-5"),
    ],
)
def test_a_server_of_ones_own_may_call_its_models_anything(name, dialect, model):
    found = endpoint(name, base_url=SERVER)
    assert (found.dialect, found.model) == (dialect, model)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "gpt",
        "gpt-99",
        "gpt-oss-120b",
        "gemini-2.5-pro",
        "llama-3",
        "test",
        "openai:",
        ":gpt-4o",
        "openai/gpt-4o",
        "gateway/openai:gpt-4o",
        " openai:gpt-4o",
        "openai:gpt-4o\n",
        "openai:\x1b[2J",
        "nobody-like-that:model",
        "x" * 1_000_000,
        "openai:\udce9",
    ],
)
def test_a_name_that_no_model_has_is_an_error_that_can_be_shown(name):
    with pytest.raises(UnknownModel) as raised:
        open_model(name, environ=KEYS)
    assert raised.value.code == "unknown_model"
    assert raised.value.message.isprintable()
    assert len(raised.value.message) < 1_000
    assert "provider:model" in raised.value.hint


@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("openai:gpt-4o", "OPENAI_API_KEY"),
        ("gpt-4o", "OPENAI_API_KEY"),
        ("openai-responses:gpt-5", "OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
        ("claude-sonnet-4-5", "ANTHROPIC_API_KEY"),
    ],
)
@pytest.mark.parametrize("environ", [{}, {"OPENAI_API_KEY": "", "ANTHROPIC_API_KEY": " \n"}])
def test_a_missing_key_names_the_variable_to_set(name, variable, environ):
    with pytest.raises(KeyMissing) as raised:
        open_model(name, environ=environ)
    assert variable in raised.value.message
    assert variable in raised.value.hint


def test_a_provider_of_pydantic_ai_names_its_variable_too(monkeypatch):
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    with pytest.raises(KeyMissing) as raised:
        open_model("deepseek:deepseek-chat", environ={})
    assert raised.value.variable == "DEEPSEEK_API_KEY"
    assert open_model("deepseek:x", key_variable="DEEPSEEK_API_KEY", environ=KEYS).name == "deepseek:x"


def test_a_variable_that_is_named_must_be_set_for_any_server():
    with pytest.raises(KeyMissing) as raised:
        endpoint("qwen3", base_url=SERVER, key_variable="MY_KEY")
    assert raised.value.variable == "MY_KEY"


@pytest.mark.parametrize(
    "key", ["two words", "line\nbreak", "zürich", "\x00", "x" * 5_000, "Bearer\r\nX-Evil: 1"]
)
def test_what_cannot_be_a_key_is_refused_without_being_shown(key):
    with pytest.raises(KeyMissing) as raised:
        open_model("openai:gpt-4o", environ={"OPENAI_API_KEY": key})
    assert key not in raised.value.message + raised.value.hint
    assert "OPENAI_API_KEY" in raised.value.message


def test_white_space_around_a_key_is_not_part_of_it():
    assert endpoint("gpt-4o", environ={"OPENAI_API_KEY": f" {KEY}\n"}).key.reveal() == KEY


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:11434",
        "ftp://host/v1",
        "http://",
        "http:///v1",
        "http://host:port/v1",
        "http://[::1/v1",
        "https://user:hunter2@host/v1",
        "https://host/v1?key=hunter2",
        "https://host/v1#hunter2",
        "http://ho st/v1",
        "http://host/\x00",
    ],
)
def test_a_base_url_that_is_none_is_refused_without_being_shown(url):
    with pytest.raises(BadEndpoint) as raised:
        endpoint("model", base_url=url)
    assert "hunter2" not in raised.value.message + raised.value.hint


@pytest.mark.parametrize("url", ["http://host", "http://host/", "http://host/v1", "http://host/v1/"])
def test_anthropics_client_adds_the_version_to_a_base_url_once(url):
    assert endpoint("anthropic:claude", base_url=url).base_url == "http://host"


@pytest.mark.parametrize("package", ["pydantic_ai", "openai", "anthropic"])
def test_a_package_that_is_not_there_is_named_with_the_way_to_install_it(monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    name = "anthropic:claude" if package == "anthropic" else "openai:gpt-4o"
    with pytest.raises(PackageMissing) as raised:
        open_model(name, environ=KEYS)
    assert raised.value.package == package.replace("_", "-")
    assert "carrel[agent]" in raised.value.hint


def test_a_provider_whose_package_is_not_there_is_told_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "groq", None)
    with pytest.raises(PackageMissing) as raised:
        open_model("groq:llama", environ=KEYS)
    assert "pydantic-ai-slim[groq]" in raised.value.hint


OPENED = """
import sys
from carrel.runtime.models import pick_model
from carrel.runtime.providers import open_model
model = open_model("claude-sonnet-4-5", environ={"ANTHROPIC_API_KEY": "k"})
heavy = {"pydantic_ai", "pydantic", "openai", "anthropic", "httpx2"} & set(sys.modules)
assert not heavy, heavy
assert model.name == "claude-sonnet-4-5"
"""


def test_opening_a_model_loads_no_client(process):
    outcome = process(python=("-c", OPENED))
    assert (outcome.code, outcome.warnings) == (0, "")


def test_opening_a_model_asks_nobody():
    with OpenAIStub(openai.text("Hi.")) as stub:
        model = model_at(stub)
        assert stub.asked == []
        assert ask(model).text == "Hi."
        assert len(stub.asked) == 1


@pytest.mark.parametrize(
    ("kind", "said"), [(openai.OpenAIStub, openai), (anthropic.AnthropicStub, anthropic)]
)
def test_a_server_gets_no_key_that_was_not_meant_for_it(kind, said, monkeypatch):
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "OPENAI_ORG_ID"):
        monkeypatch.setenv(name, KEY)
    with kind(said.text("Hi.")) as stub:
        assert ask(model_at(stub, key="")).text == "Hi."
        headers = stub.asked[0].headers
        assert "authorization" not in headers
        assert "x-api-key" not in headers
        assert KEY not in str(headers)


@pytest.mark.parametrize(
    ("kind", "said"), [(openai.OpenAIStub, openai), (anthropic.AnthropicStub, anthropic)]
)
def test_a_key_is_sent_where_its_variable_is_named(kind, said):
    with kind(said.text("Hi.")) as stub:
        ask(model_at(stub))
        assert stub.asked[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("key", [{}, {"OPENAI_API_KEY": KEY}])
def test_the_environment_may_name_server_and_key_together(key):
    with OpenAIStub(openai.text("Hi.")) as stub:
        model = open_model("gpt-4o", environ={"OPENAI_BASE_URL": stub.url, **key})
        assert ask(model).text == "Hi."
        sent = stub.asked[0].headers.get("authorization")
        assert sent == (f"Bearer {KEY}" if key else None)


def test_a_key_does_not_show_itself():
    found = endpoint("gpt-4o")
    model = open_model("gpt-4o", environ=KEYS)
    assert found.key.reveal() == KEY
    for shown in (repr(found), str(found), f"{found.key}", repr(model), str(model)):
        assert KEY not in shown


def test_a_model_is_picked_by_its_name_with_all_that_it_needs():
    with OpenAIStub(openai.text("Hi.")) as stub:
        model = pick_model("qwen3:8b", base_url=stub.url, key_variable="MY_KEY", environ={"MY_KEY": KEY})
        assert ask(model).text == "Hi."
        assert stub.bodies[0]["model"] == "qwen3:8b"
        assert stub.asked[0].headers["authorization"] == f"Bearer {KEY}"
    with pytest.raises(KeyMissing):
        pick_model("openai:gpt-4o")


def test_every_error_of_opening_says_what_to_do_next():
    for error in (
        UnknownModel("x"),
        KeyMissing("x", "Y"),
        PackageMissing("x", "y", install="z"),
        BadEndpoint("z"),
    ):
        assert isinstance(error, CarrelError)
        assert error.hint
