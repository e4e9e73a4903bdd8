"""Texts where a size is expected: sensible ones, and those that would take for ever to work out."""

from hypothesis import strategies as st

EXPONENTS = st.one_of(
    st.integers(-30, 30),
    st.integers(-(2**31), 2**31 - 1),
    st.integers(-(10**20), 10**20),
    st.sampled_from([999_999_999, -999_999_999, 2**31 - 1, -(2**31), 2**31, 4000, -4000, 18, 19]),
)
NUMBERS = st.one_of(
    st.integers(0, 10**20).map(str),
    st.builds(
        lambda digit, count: digit * count, st.sampled_from("019"), st.sampled_from([19, 700, 5000])
    ),
    st.builds("{}.{}".format, st.integers(0, 10**9), st.integers(0, 10**20)),
    st.sampled_from(["", ".", "0", "00", ".5", "5.", "0." + "0" * 900 + "1", "1" + "0" * 900]),
)
SUFFIXES = st.one_of(
    st.sampled_from(["", "n", "u", "m", "k", "M", "G", "T", "P", "E"]),
    st.sampled_from(["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]),
    st.builds("{}{}".format, st.sampled_from("eE"), EXPONENTS),
    st.sampled_from(["e", "e+", "Kie9", "KiKi", "e1e1", "e٣", "i"]),
)
WRITTEN = st.builds(
    "{}{}{}".format, st.sampled_from(["", "", "", "-", "+", "--"]), NUMBERS, SUFFIXES
)
STRANGE = st.one_of(
    st.sampled_from(
        ["nan", "NaN", "inf", "-Infinity", "1_000", "0x10", "٣Gi", "\uff11Gi", "1 Gi", "\0"]
    ),
    st.text(max_size=12),
)
SIZES = st.one_of(WRITTEN, WRITTEN, WRITTEN, STRANGE)
"""What a client may write. Hardly any of it is refused by its look alone."""
ACCEPTED_MONSTERS = (
    "1e999999999",
    "1e2147483647",
    "0e-2000000000",
    "9" * 900,
    "1" + "0" * 18 + "E",
)
"""Each is a quantity that the API accepts."""
