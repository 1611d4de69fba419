"""What changed is looked at once, and again if it changed meanwhile."""

from carrel.runtime.unseen import EVERYTHING, Unseen


def test_at_first_nothing_was_seen():
    unseen = Unseen()
    assert set(unseen.changed()) == {EVERYTHING}
    unseen.saw(unseen.changed())
    assert not unseen.changed()


def test_what_changes_while_somebody_looks_is_looked_at_again():
    unseen = Unseen()
    unseen.note(["a.md", "b.md"])
    looked = unseen.changed()
    unseen.note(["b.md", "c.md"])
    unseen.saw(looked)
    assert set(unseen.changed()) == {"b.md", "c.md"}


def test_a_look_at_less_leaves_the_rest_unseen():
    unseen = Unseen()
    unseen.note(["a.md"])
    unseen.saw({"a.md": unseen.changed()["a.md"]})
    assert set(unseen.changed()) == {EVERYTHING}
