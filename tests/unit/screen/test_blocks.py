import pytest

from carrel.screen.blocks import LONGEST
from carrel.screen.secrets import redact

BEGIN, END = "-----BEGIN RSA PRIVATE " + "KEY-----", "-----END RSA PRIVATE " + "KEY-----"
LINE = "MIIEowIBAAKCAQEAwYSiPeJLSi6k8J4msjqtUwCbfzerOiCQ2bx7Qk29ZbLmN4pR"
MARK = "[REDACTED:PRIVATE_KEY]"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", "\\r\\n", "\n    ", "\n> ", " ", ""])
def test_a_key_is_replaced_from_its_first_line_to_its_last(newline):
    key = newline.join([BEGIN, LINE, LINE, "Ab3=", END])
    assert redact(f"Here: {key} there").text == f"Here: {MARK} there"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\\n", "\n    "])
def test_of_a_key_without_an_end_the_lines_that_are_there_are_replaced(newline):
    key = newline.join([BEGIN, LINE, LINE])
    assert redact(f"{key}\nand then it was cut off").text == f"{MARK}\nand then it was cut off"
    assert redact(f"{key}{newline}Ab3=").text == MARK


def test_headers_inside_of_a_key_belong_to_it():
    head = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,0123456789ABCDEF0123456789ABCDEF\n\n"
    assert redact(f"{BEGIN}\n{head}{LINE}\n{END}").text == MARK
    assert redact(f"{BEGIN}\n{head}{LINE}\nand so on").text == f"{MARK}\nand so on"


def test_a_short_key_with_both_of_its_lines_is_one():
    assert redact(f"{BEGIN}\nabc1\n{END}").text == MARK
    assert redact(f"{BEGIN}\\nabc1\\n{END}").text == MARK


def test_two_keys_are_two():
    key = f"{BEGIN}\n{LINE}\n{END}"
    assert redact(f"{key}\n{key}").text == f"{MARK}\n{MARK}"
    assert redact(f"{BEGIN}\n{LINE}\n{key}").text == f"{MARK}\n{MARK}"


def test_a_key_that_never_ends_is_bounded():
    text = BEGIN + "\n" + f"{LINE}\n" * 3_000
    assert redact(text).text.startswith(MARK)
    assert len(redact(text).text) > len(text) - LONGEST - len(LINE)


@pytest.mark.parametrize(
    "text",
    [
        f"{BEGIN} is how a key begins",
        f"{BEGIN}\n...\n{END}",
        f'BEGIN = "{BEGIN}"\nEND = "{END}"',
        BEGIN,
        f"-----BEGIN PUBLIC KEY-----\n{LINE}\n-----END PUBLIC KEY-----",
        "-----BEGIN CERTIFICATE-----\n9vKqRt7YbN2mXc4LpZ8wHs3DfGj6Ua5TeQx1Vi0\n-----END CERTIFICATE-----",
        "-----BEGIN PGP MESSAGE-----\n\n9vKqRt7YbN2mXc4LpZ8wHs3DfGj6Ua5TeQx1Vi0\n-----END PGP MESSAGE-----",
    ],
)
def test_who_only_speaks_of_a_key_or_shows_a_public_one_keeps_it(text):
    assert redact(text).text == text
