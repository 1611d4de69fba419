import pytest

from carrel.screen.cards import passes_luhn
from carrel.screen.secrets import redact

MARK = "[REDACTED:CREDIT_CARD]"


@pytest.mark.parametrize(
    "number",
    [
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "5555 5555 5555 4444",
        "2223003122003222",
        "3782 822463 10005",
        "378282246310005",
        "3056 930902 5904",
        "30569309025904",
        "6011 1111 1111 1117",
        "3530111333300000",
        "6200 0000 0000 0005",
    ],
)
def test_the_number_of_a_card_is_replaced_as_people_write_it(number):
    assert redact(number).text == MARK
    assert redact(f"Pay with {number}, 12/27, please.").text == f"Pay with {MARK}, 12/27, please."
    assert redact(f"card:{number} 12/27 123").text == f"card:{MARK} 12/27 123"


@pytest.mark.parametrize(
    "number",
    [
        "4111111111111112",
        "0000000000000000",
        "4111 1111 11111111",
        "4111 1111-1111 1111",
        "41111111111111",
        "411111111111111111111",
        "9111 1111 1111 1116",
        "4111 1111 1111 1111 1111",
        "1111 4111 1111 1111 1111",
        "x4111111111111111",
        "4111111111111111x",
        "0.4111111111111111",
        "4111111111111111.5",
        "id-4111111111111111",
        "\uff14" + "\uff11" * 15,
    ],
)
def test_other_numbers_stay(number):
    assert redact(number).text == number


def test_the_check_digit_is_luhns():
    assert passes_luhn("79927398713")
    assert [n for n in range(10) if passes_luhn(f"7992739871{n}")] == [3]
