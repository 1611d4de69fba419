"""Figures of what is screened: `python bench/screen.py [FOLDER …] [--json FILE]`; by default site-packages.

Secrets are drawn by `planted.py` and must be covered to the last character. Whatever is found in the lines of
the folders counts as wrong, also what somebody left there for a test. Orders are those of the tests.
"""

import random
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from carrel.screen.injection import suspicious
from carrel.screen.personal import find as find_personal
from carrel.screen.secrets import find
from figures import Figure, figure, options, run, timed
from innocent import SORTS, lines
from planted import is_covered, planted

SAMPLES = Path(__file__).parents[1] / "tests/unit/screen"
EACH = 100
"""Secrets of each kind."""
MOST = 10_000
"""Lines of each sort."""
TOKEN = re.compile(r"(?=[\w+/=-]*[0-9])(?=[\w+/=-]*[A-Za-z])[\w+/=-]{24}")
CHARACTER = re.compile(r"\\u\{([0-9a-f]+)\}")


def main() -> None:
    parser = options(__doc__)
    parser.add_argument("folders", type=Path, nargs="*", default=[Path(sysconfig.get_path("purelib"))])
    chosen = parser.parse_args()
    run([recall, partial(innocent, chosen.folders), orders], chosen.json)


def recall(_: Path) -> list[Figure]:
    """How many of the planted secrets are covered, over all and for the worst kind."""
    samples = list(planted(EACH))
    missed = Counter(each.kind for each in samples if not is_covered(each))
    kinds = len({each.kind for each in samples})
    (worst, count), *_ = missed.most_common(1) or [("none", 0)]
    share = 1 - missed.total() / len(samples)
    return [
        figure(
            f"secrets: found, {len(samples):,} planted of {kinds} kinds", 100 * share, "%", 99, at_least=True
        ),
        figure(f"secrets: found of the worst kind ({worst})", 100 * (1 - count / EACH), "%"),
    ]


def innocent(folders: Sequence[Path], _: Path) -> list[Figure]:
    """How many lines of real files are taken for something that they are not."""
    sorts = {name: list(lines(folders, patterns)) for name, patterns in SORTS.items()}
    tokens = [line for own in sorts.values() for line in own if TOKEN.search(line)]
    sorts["any sort with digests, ids, base64, long names"] = tokens
    drawn = {name: random.Random(0).sample(own, min(MOST, len(own))) for name, own in sorts.items() if own}
    figures = [
        figure(f"secrets: wrong, {len(own):,} lines of {name}", share(map(find, own), own), "%", 0.5)
        for name, own in drawn.items()
    ]
    whole = [line for own in drawn.values() for line in own]
    prose = drawn["prose (METADATA, Markdown, text)"]
    seconds = timed(lambda: [find(line) for line in whole])
    return [
        figure(f"secrets: wrong, all {len(whole):,} lines", share(map(find, whole), whole), "%", 0.5),
        *figures,
        figure("secrets: characters looked through", sum(map(len, whole)) / seconds / 1e6, "MB/s"),
        figure(
            f"orders: wrong, {len(prose):,} lines of prose", share(map(suspicious, prose), prose), "%", 0.5
        ),
        figure(
            f"personal data: found, {len(prose):,} lines of prose",
            share(map(find_personal, prose), prose),
            "%",
        ),
    ]


def share(found: Iterator[object], of: Sequence[str]) -> float:
    return 100 * sum(map(bool, found)) / len(of)


def orders(_: Path) -> list[Figure]:
    """How many poisoned texts are suspected, and how many of those that are suspected are poisoned."""
    poisoned = [text.partition("|") for text in labelled("poisoned.txt")]
    legitimate = labelled("legitimate.txt")
    caught = [kind for kind, _, text in poisoned if suspicious(text)]
    wrong = [text for text in legitimate if suspicious(text)]
    whole = "\n".join(legitimate)
    seconds = timed(suspicious, whole)
    precision = 100 * len(caught) / (len(caught) + len(wrong))
    return [
        figure(f"orders: recall, {len(poisoned)} poisoned texts", 100 * len(caught) / len(poisoned), "%"),
        figure(
            f"orders: precision, with {len(legitimate)} legitimate ones", precision, "%", 99, at_least=True
        ),
        figure("orders: characters looked through", len(whole) / seconds / 1e6, "MB/s"),
    ]


def labelled(name: str) -> list[str]:
    """The samples of the tests, one a line, with what they write out put back."""
    rows = (SAMPLES / name).read_text("utf-8").splitlines()[2:]
    return [CHARACTER.sub(lambda found: chr(int(found[1], 16)), row).replace("\\n", "\n") for row in rows]


if __name__ == "__main__":
    main()
