"""The skills and agents of a workspace, as one scope may know of them, and what they cost."""

from collections.abc import Mapping

from carrel.context.build import Ground
from carrel.context.render import escaper, one_line
from carrel.findings import Finding
from carrel.settings import AgentSettings
from carrel.workspace.document import Reading
from carrel.workspace.ignore import find_rules
from carrel.workspace.scope import Scope, privacy_of
from carrel.workspace.skills import (
    Hidden,
    SkillCost,
    Skills,
    cost_of,
    find_skills,
    lint_skills,
    nothing_hidden,
    skills_folder,
)
from carrel.workspace.subagents import AgentRow, Subagents, find_subagents, list_agents, subagents_folder


def skills_of(ground: Ground, reading: Reading, scope: Scope) -> Skills:
    """Return the skills that a scope may know of."""
    folder = skills_folder(ground.layout)[0]
    return find_skills(reading, folder, ignored=find_rules(reading), hidden=_hidden(ground, reading, scope))


def costs_of(ground: Ground, skills: Skills) -> tuple[SkillCost, ...]:
    """Return what each skill costs, in the prompt and when its body is read."""
    in_prompt = skills_folder(ground.layout)[1]
    escape = escaper(ground.layout.tags)
    lines = [escape(one_line(skill.line)) if in_prompt else "" for skill in skills.loaded]
    pairs = zip(skills.loaded, lines, strict=True)
    return tuple(cost_of(skill, line, ground.counts.count) for skill, line in pairs)


def lint(ground: Ground, scope: Scope, name: str | None) -> tuple[Finding, ...]:
    """Hold all skills, or one, to the Agent Skills specification."""
    reading = ground.documents.reading()
    return lint_skills(reading, skills_of(ground, reading, scope), ground.counts.count, name)


def subagents_of(ground: Ground, reading: Reading, scope: Scope) -> Subagents:
    """Return the subagents that a scope may know of."""
    return find_subagents(
        reading,
        subagents_folder(ground.layout),
        ignored=find_rules(reading),
        hidden=_hidden(ground, reading, scope),
        taken=[agent.id for agent in ground.settings.agents],
    )


def agents_of(ground: Ground, origins: Mapping[str, str], subagents: Subagents) -> tuple[AgentRow, ...]:
    """Return the configured agents, or the one there is without any, and these subagents."""
    configured = ground.settings.agents or (AgentSettings(id=ground.agent.id),)
    return list_agents(configured, origins, subagents.loaded, ground.counts.count)


def notice(ground: Ground, reading: Reading, scope: Scope) -> tuple[Finding, ...]:
    """Return what a listener should know of the skills and subagents."""
    skills = skills_of(ground, reading, scope)
    return (*skills.findings, *subagents_of(ground, reading, scope).findings)


def _hidden(ground: Ground, reading: Reading, scope: Scope) -> Hidden:
    """Return the test for what a scope may not know of."""
    if scope is Scope.MAIN:
        return nothing_hidden
    return privacy_of(ground.layout, reading).covers_document
