"""What a remembered statement is about: a few tags made of its own words, without a model.

The same text gives the same tags on every machine: content words and identifiers in lower case, in the order
in which they first appear. For scripts without spaces, pairs of characters stand for words.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

MOST_TAGS = 8
LONGEST_TAG = 40
"""Longer ones are keys, digests and encoded data, which tell nobody anything."""

_READ = 20_000  # characters of a text that are looked at
_SHORTEST = 2

# Words that say nothing of what a text is about; those that mean something in another language are left out.
_STOP_WORDS = frozenset(
    """
    a about above after again all also am an and any are aren as at be because been before being
    below between both but by can cannot could couldn did didn do does doesn doing don down during
    each either else ever every few for from further get gets got had hadn has hasn have haven
    having he her here hers herself him himself his how however i if in into is isn it its itself
    just let ll may me might more most much must mustn my myself neither no nor not now of off on
    once only or other our ours ourselves out over own per quite rather re really said same shall
    she should shouldn since so some such than that the their theirs them themselves then there
    these they this those though through thus to too under until up upon us ve very was wasn we were
    weren what when where whether which while who whom whose why will with within without would
    wouldn yes yet you your yours yourself http https www
    al algo alguna alguno ante antes aquel así aunque bajo bien cada como con contra cual cuando de
    del desde donde dos el él ella ellas ellos en entre era eran es esa ese eso esta está están
    estar este esto estos fue fueron ha hace hacia han hasta hay la las le les lo los más mas me mi
    mis muy nada ni nos nosotros o otra otro para pero poco por porque pues que qué quien se sea
    según ser si sí sido siempre sobre su sus también tan tanto te tiene todo todos tu tus un una
    unas uno unos usted ustedes y ya yo
    aber alle allem allen aller alles als also am an ander andere anderen auch auf aus bei beim bis
    bist da damit dann das dass dein deine dem den denn der des dessen dich die dies diese diesem
    diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es etwas euch
    euer für gegen habe haben hatte hier ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im immer ist
    ja jede jedem jeden jeder jedes kann kein keine können mein meine mich mir mit muss nach nicht
    nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner seit sich sie sind so über
    um und uns unser unter vom von vor wann warum weil wenn wer werde werden wie wieder wir wird wo
    wurde wurden zu zum zur zwischen
    au aussi aux avait avant avec avez avoir ce ceci cela celle celui ces cet cette ceux chaque chez
    comme dans depuis des donc dont du elle elles en encore est et étaient était été être eu eux
    fait faire il ils je jusque la le les leur leurs lors lui ma mais même mes moi moins mon ne nos
    notre nous on ont ou où par parce pas peu peut plus pour pourquoi puis qu quand que quel quelle
    quelles quels qui sa sans se ses si soit sont sous suis sur ta te tes toi ton tous tout toute
    toutes très trop tu un une vers voici vos votre vous
    ao aos aquela aquele aqueles aquilo até com como da das de dela dele deles depois do dos e ela
    elas ele eles em entre era essa esse esta está estão eu foi foram há isso isto já lhe mais mas
    me mesmo meu meus minha minhas muito na não nas nem no nos nossa nosso num numa o os ou para
    pela pelas pelo pelos por qual quando quem se sem ser será seu seus só sua suas também te tem
    têm tenho tudo um uma umas uns vai você vocês
    """.split()  # noqa: SIM905 - a list of words is easier to read and to change as words
)

# Han, kana and hangul. Hiragana are mostly grammar, and so are these Han characters: they part words.
_SCRIPTS = (
    "\u3005-\u3007\u30a1-\u30fa\u30fc-\u30fe\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff"
)
_GRAMMAR = "的了是在和与與及也都就这這那我你您他她它们們吗嗎呢吧着著过過把被让讓给給很"


def concept_tags(text: str) -> tuple[str, ...]:
    """Return at most eight tags for what a text is about, in the order of their first appearance."""
    text = unicodedata.normalize("NFKC", text[:_READ]).lower()
    tags: dict[str, None] = {}
    for tag in _candidates(text):
        tags.setdefault(tag)
        if len(tags) == MOST_TAGS:
            break
    return tuple(tags)


def _candidates(text: str) -> Iterator[str]:
    for found in _pattern().finditer(text):
        run, word = found["run"], found["word"]
        if run:
            yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
        elif word and (tag := _content(word)):
            yield tag


def _content(word: str) -> str:
    """Return a word without what is glued to it by an apostrophe; nothing where it says nothing."""
    for mark in ("'", "\u2019"):
        before, glue, after = word.partition(mark)
        if glue:  # l'homme, but user's
            word = after.partition(mark)[0] if len(before) <= _SHORTEST else before
    is_telling = _SHORTEST <= len(word) <= LONGEST_TAG and any(c.isalpha() for c in word)
    return word if is_telling and word not in _STOP_WORDS else ""


@cache
def _pattern() -> re.Pattern[str]:
    """Return what finds words: letters with their marks, joined inside an identifier by `. _ - '`."""
    marks = "".join(c for c in map(chr, range(0x300, 0xFE30)) if unicodedata.category(c)[0] == "M")
    letter = rf"(?:(?![{_SCRIPTS}\u3041-\u309f])[^\W_]|[{marks}])"
    word = rf"{letter}++(?:[._\-'\u2019]{letter}++)*+(?:\+\+|\#)?"
    run = rf"(?:(?![{_GRAMMAR}])[{_SCRIPTS}])++"
    return re.compile(rf"(?P<run>{run})|(?P<word>{word})")
