"""In a bucket, too, a tenant finds what is its own, whatever its neighbours and their workspaces are called."""

import pytest

from carrel.errors import CarrelError
from carrel.files.objects import ObjectFiles

ALIKE = [
    ("amber", "studio"),
    ("amber", "studio2"),
    ("amber", "studio.log"),
    ("amber", "stud"),
    ("amber", ".trash"),
    ("amber-2", "studio"),
    ("amb", "studio"),
    ("Amber", "studio"),
]
"""Tenants and workspaces whose names begin alike, or differ only in case."""

UP = (
    "../studio2/plan.md",
    "../../amber-2/studio/plan.md",
    "/amber-2/studio/plan.md",
    "a/../../studio2/plan.md",
)


def test_stores_whose_names_are_alike_hold_their_own(objects: str) -> None:
    stores = {each: ObjectFiles(objects, *each) for each in ALIKE}
    for (tenant, workspace), store in stores.items():
        store.write("plan.md", f"{tenant} {workspace}".encode(), expect=None)
        store.append("log.jsonl", f"{tenant} {workspace}\n".encode())
        store.write(f"{tenant}.{workspace}.md", b"own", expect=None)
    for (tenant, workspace), store in stores.items():
        assert store.read("plan.md").data == f"{tenant} {workspace}".encode()  # type: ignore[union-attr]
        assert store.read("log.jsonl").data == f"{tenant} {workspace}\n".encode()  # type: ignore[union-attr]
        assert sorted(entry.path for entry in store.list("")) == sorted(
            ["plan.md", "log.jsonl", f"{tenant}.{workspace}.md"]
        )


@pytest.mark.parametrize("path", UP)
def test_no_path_leads_out_of_a_store(objects: str, path: str) -> None:
    for other in (("amber", "studio2"), ("amber-2", "studio")):
        ObjectFiles(objects, *other).write("plan.md", b"foreign", expect=None)
    store = ObjectFiles(objects, "amber", "studio")
    for work in (
        lambda: store.read(path),
        lambda: store.part(path, 0, 10),
        lambda: store.write(path, b"mine", expect=None),
        lambda: store.append(path, b"mine\n"),
        lambda: [*store.list(path.rpartition("/")[0])],
    ):
        try:
            found = work()
        except CarrelError:
            continue
        assert not found or b"foreign" not in repr(found).encode()
    assert ObjectFiles(objects, "amber", "studio2").read("plan.md").data == b"foreign"  # type: ignore[union-attr]
    assert ObjectFiles(objects, "amber-2", "studio").read("plan.md").data == b"foreign"  # type: ignore[union-attr]
