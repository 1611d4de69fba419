import pytest

from carrel.files.paths import clean_new
from carrel.settings import AgentSettings
from carrel.workspace.namespace import namespace_of


def test_a_namespace_is_titled_by_the_agents_name():
    assert namespace_of(AgentSettings(id="kate"), "Kate", "/w").title == "Agent Experience: Kate"


def test_without_a_profile_it_belongs_to_this_agent_in_this_workspace():
    here = namespace_of(AgentSettings(id="kate"), "Kate", "/here")
    assert here == namespace_of(AgentSettings(id="kate"), "Kate", "/here")
    assert here.path != namespace_of(AgentSettings(id="kate"), "Kate", "/there").path
    assert here.path != namespace_of(AgentSettings(id="ada"), "Kate", "/here").path


def test_with_a_profile_it_travels():
    agent = AgentSettings(id="kate", profile="writer")
    assert namespace_of(agent, "Kate", "/here").path == namespace_of(agent, "K", "/there").path


@pytest.mark.parametrize(
    "profile", ["../../etc/passwd", "a/b", "a b", "日記", "x" * 300, "\udcff", "con", "A", "."]
)
def test_every_profile_becomes_a_file_name_of_its_own(profile):
    path = namespace_of(AgentSettings(id="kate", profile=profile), "Kate", "/w").path
    assert clean_new(path) == path
    assert "/" not in path
    other = namespace_of(AgentSettings(id="kate", profile=f"{profile}x"), "Kate", "/w").path
    assert path != other
