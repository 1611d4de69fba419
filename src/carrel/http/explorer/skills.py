"""Skills and agents: what each costs, whether it is well formed, and what it says."""

from typing import Annotated

from fastapi import Query
from starlette.responses import HTMLResponse

from carrel.http.explorer.markup import rendered
from carrel.http.explorer.pages import Looking, page
from carrel.http.explorer.pages import router as pages
from carrel.workspace.skills import skills_folder

router = pages()

_MOST = 40_000
"""Characters of a skill that are shown; the file has all of them."""

_LISTED = 200


@router.get("/skills")
def skills(viewer: Looking, skill: Annotated[str, Query(max_length=200)] = "") -> HTMLResponse:
    """Show the skills and agents of a workspace, and one of them whole."""
    workspace, scope = viewer.desk.workspace, viewer.desk.scope
    found = workspace.skills(scope=scope)
    costs = workspace.skill_costs(found)
    subagents = workspace.subagents(scope=scope)
    folder, in_prompt = skills_folder(workspace.layout)
    one = found.named(skill) if skill else None
    text = one.document.text if one else ""
    return page(
        viewer,
        "skills.html",
        title="Skills",
        here="skills",
        folder=folder,
        in_prompt=in_prompt,
        costs=costs[:_LISTED],
        more=max(0, len(costs) - _LISTED),
        in_all=sum(cost.line_tokens for cost in costs),
        unusable=(*found.shadowed, *found.unreadable),
        withheld=found.withheld + subagents.withheld,
        findings=workspace.lint_skills(skill or None, scope=scope)[:_LISTED],
        agents_listed=workspace.agents(subagents),
        subagents={each.id: each for each in subagents.loaded},
        agent_findings=subagents.findings,
        one=one,
        one_cost=next((cost for cost in costs if one and cost.path == one.document.path), None),
        body=rendered(text[:_MOST]) if one else "",
        is_cut=len(text) > _MOST,
    )
