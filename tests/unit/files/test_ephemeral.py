from carrel.testing import EphemeralFiles


def test_text_and_bytes_can_be_given_at_the_start() -> None:
    files = EphemeralFiles({"AGENTS.md": "Grüße", "logo.png": b"\x89"})
    assert files.read("AGENTS.md").data == "Grüße".encode()
    assert files.read("logo.png").data == b"\x89"


def test_what_is_read_is_settled_so_that_tests_can_rely_on_stamps() -> None:
    assert EphemeralFiles({"a": ""}).read("a").settled
