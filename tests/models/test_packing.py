import numpy as np
import pytest

from models.packing import pack, unpack


@pytest.mark.parametrize(
    "form, values", [("<i8", [-(2**63), 0, 2**63 - 1]), ("<u2", [0, 65535]), ("<f4", [0.5, -2.25]), ("<f8", [1 / 3])]
)
def test_values_come_back_as_they_went(form: str, values: list[float]):
    held = np.array(values, form)
    assert unpack(pack(held, form), form).tolist() == held.tolist()


def test_the_text_is_that_of_little_endian_numbers_in_row_order_whatever_the_array_is_made_of():
    plain = pack(np.array([[1, 2], [3, 4]]), "<i4")
    assert plain == "AQAAAAIAAAADAAAABAAAAA=="
    assert pack(np.array([[1, 2], [3, 4]], ">i8"), "<i4") == plain
    assert pack(np.array([[1, 3], [2, 4]]).T, "<i4") == plain
