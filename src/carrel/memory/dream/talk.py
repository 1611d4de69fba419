"""Small talk: what people say to each other that states nothing, however often it is recalled."""

from carrel.memory.words import LONGEST, WORD, content_stems, stems_of

# Thanks, agreement, praise, and asking to go on: as they are said in the languages of the stop words.
_COURTEOUS = """
absolutely agreed ahead alright amazing appreciate appreciated awesome brilliant bye cheers cool correct
continue course dear definitely exactly excellent fantastic fine go going good goodbye got great haha happy
help helpful hmm indeed know lgtm lol lot love lovely makes morning much nice night noted nope perfect
perfectly pleasure proceed problem really right sense sorry sounds stop sure then thx today tomorrow true
understood wait welcome well works wonderful wow yeah yep yup evening afternoon done next let see later one
adelante mucha mucho muchas muchos bien bueno buenos buenas claro dale dias exacto excelente genial
igualmente listo noches perdon perfecto por favor tardes vale verdad
alles ausgezeichnet bitte genau gerne gut guten klar klasse morgen okay prima richtig schon stimmt super tag
toll verstanden weiter
accord bien bon bonjour bonsoir ca continuez d'accord excellent merci oui non parfait pas probleme tres
bom boa certo claro dia muito noite obrigada obrigado otimo perfeito sim tarde
"""
_COURTESY = frozenset(stem for word in WORD.findall(_COURTEOUS) for stem in stems_of(word))
_UNSPACED = ("谢谢", "多谢", "好的", "好吧", "没问题", "ありがとう", "了解", "はい", "お願いします", "ขอบคุณ")


def is_small_talk(text: str) -> bool:
    """Tell whether a text says nothing that anybody would want to know later, as `Thanks!` does not.

    One word alone states nothing either; in scripts without spaces a word may be a sentence.
    """
    for phrase in _UNSPACED:
        text = text.replace(phrase, " ")
    words = [word[:LONGEST] for word in WORD.findall(text)]
    if not content_stems(text) - _COURTESY:
        return True
    return len(words) == 1 and len(stems_of(words[0])) == 1
