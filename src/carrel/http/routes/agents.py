"""Agents, subagents, skills and knowledge, what an agent tells of itself, and its tools."""

from typing import Annotated, Any

from fastapi import Depends, Query
from msgspec import Struct, to_builtins

from carrel.http.desk import Reader, Writer
from carrel.http.routing import Routes, sent
from carrel.workspace.skills import skills_folder

routes = Routes("agents", "/w/{workspace}")

Json = dict[str, Any]
Session = Annotated[str | None, Query(max_length=200)]


class Call(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of a tool."""

    arguments: dict[str, Any] = {}
    session: str | None = None


@routes.get("/agents", Json)
def list_agents(desk: Reader) -> Json:
    """List agents and subagents, where each is declared, and the tokens of its own prompt."""
    subagents = desk.workspace.subagents(scope=desk.scope)
    return {
        "agents": to_builtins(desk.workspace.agents(subagents)),
        "hidden": subagents.withheld,
        "findings": to_builtins(subagents.findings),
    }


@routes.get("/self", Json)
def self_report(desk: Reader, about: Annotated[str | None, Query(max_length=200)] = None) -> Json:
    """Return what the agent would say of itself: who it is, what it knows, how it is doing."""
    tools = desk.own.tools(scope=desk.scope)
    asked: dict[str, Json] = {
        "who_am_i": {},
        "what_do_i_know": {"filter": about} if about else {},
        "my_stats": {},
    }
    return {name: tools.call(name, arguments) for name, arguments in asked.items() if name in tools}


@routes.get("/skills", Json)
def list_skills(desk: Reader) -> Json:
    """List the skills, with the tokens of their lines in the prompt and of their bodies."""
    found = desk.workspace.skills(scope=desk.scope)
    costs = desk.workspace.skill_costs(found)
    folder, in_prompt = skills_folder(desk.workspace.layout)
    return {
        "folder": folder,
        "in_prompt": in_prompt,
        "prompt_tokens": sum(cost.line_tokens for cost in costs),
        "skills": to_builtins(costs),
        "hidden": found.withheld,
        "findings": to_builtins(found.findings),
    }


@routes.get("/skills/{name}", Json)
def show_skill(desk: Reader, name: str) -> Json:
    """Return a skill's instructions."""
    skill = desk.workspace.skills(scope=desk.scope).named(name)
    return {
        "name": skill.name,
        "description": skill.description,
        "path": skill.document.path,
        "front_matter": to_builtins(skill.document.meta.extra),
        "tokens": desk.workspace.counts.count(skill.document.text),
        "body": skill.document.text,
    }


@routes.get("/skills:lint", Json)
def lint_skills(desk: Reader, name: Annotated[str | None, Query(max_length=200)] = None) -> Json:
    """Hold all skills, or one, to the Agent Skills specification."""
    findings = desk.workspace.lint_skills(name, scope=desk.scope)
    errors = sum(finding.severity == "error" for finding in findings)
    return {"passed": not errors, "errors": errors, "findings": to_builtins(findings)}


@routes.get("/knowledge", Json)
def list_knowledge(desk: Reader) -> Json:
    """List the knowledge files, and return their entry page."""
    return {
        "paths": list(desk.workspace.list_knowledge(scope=desk.scope)),
        "entry": desk.workspace.read_knowledge(scope=desk.scope),
    }


@routes.get("/tools", Json)
def list_tools(desk: Reader, session: Session = None) -> Json:
    """List the tools that the agent may call before this listener."""
    own = None if session is None else desk.session(session)
    return {"tools": [spec.to_json() for spec in desk.own.tools(session=own, scope=desk.scope).specs()]}


@routes.post("/tools/{name}:call", Json, takes=Call)
def call_tool(desk: Writer, name: str, body: Annotated[Call, Depends(sent(Call))]) -> Json:
    """Call a tool as the agent would; the answer is the tool's own."""
    session = None if body.session is None else desk.session(body.session)
    result = desk.own.tools(session=session, scope=desk.scope).call(name, body.arguments)
    desk.note("tool.call", name, session=session or "")
    return {"result": to_builtins(result)}
