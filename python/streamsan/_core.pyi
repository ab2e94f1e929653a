from collections.abc import Sequence

version: str

def check(
    paths: Sequence[str],
    min_confidence: str = "likely",
    strict: bool = False,
    suppressions: str = "",
    text: bool = False,
) -> str: ...
