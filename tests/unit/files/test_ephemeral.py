import time

from carrel.files import is_settled
from carrel.testing import EphemeralFiles


def test_text_and_bytes_can_be_given_at_the_start() -> None:
    files = EphemeralFiles({"AGENTS.md": "Grüße", "logo.png": b"\x89"})
    assert files.read("AGENTS.md").data == "Grüße".encode()
    assert files.read("logo.png").data == b"\x89"


def test_its_stamps_are_settled_at_once_so_that_tests_can_rely_on_them() -> None:
    assert is_settled(EphemeralFiles({"a": ""}).stamps(["a"])[0], time.time_ns())
