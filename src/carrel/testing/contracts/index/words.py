"""What every Index promises of words, in any language."""

import pytest

from carrel.index import Index, Query
from carrel.testing.contracts.index.samples import paths
from carrel.testing.shelves import Shelf

LANGUAGES = {
    "de.md": ("Der Server wurde gestern neu gestartet und die Datenbanken sind nicht mehr da.", "Datenbank"),
    "es.md": ("Los servidores se cayeron y no hay copias de la base de datos para ellos.", "servidor"),
    "fr.md": ("Les serveurs ne sont plus dans la salle et nous avons perdu les sauvegardes.", "sauvegarde"),
    "it.md": ("I server sono caduti e non ci sono copie della base di dati per gli utenti.", "copia"),
    "nl.md": (
        "De servers zijn gisteren opnieuw gestart en het is niet de eerste keer dat dit gebeurt.",
        "server",
    ),
    "sv.md": ("Servrarna startades om och det är inte första gången som det händer för oss.", "servrar"),
    "ru.md": ("Мы вчера перезапустили серверы, и теперь всё работает.", "сервер"),
    "en.md": ("The servers were restarted and the backups of our databases are gone.", "backup"),
}


class WordsContract:
    """Words as people type them, whatever their script."""

    @pytest.mark.parametrize(
        "typed", ["gpt-4o", "src/lib/api.ts", "ERR_TIMED_OUT", '"default is gpt"', "api.ts"]
    )
    def test_what_is_typed_with_signs_is_found_as_it_stands(
        self, index: Index, shelf: Shelf, typed: str
    ) -> None:
        shelf.documents["other.md"] = "gpt 4 api out timed lib src err o is the default of ts. " * 5
        index.sync(shelf)
        assert paths(index, typed, mode="lexical")[0] == "docs/models.md"

    @pytest.mark.parametrize(
        ("text", "asked"),
        [
            ("Der Server wurde gestern neu gestartet und die Datenbank ist wieder da.", "Datenbanken"),
            ("Los servidores se cayeron y no hay copias de la base de datos.", "servidor"),
            ("Мы вчера перезапустили серверы, и теперь всё работает.", "сервер"),
            ("Zurich is nice.", "Zürich"),
            ("Der Zürcher See ist schön und nicht weit von hier.", "zurcher"),
            ("東京タワーに行きたい", "東京タワー"),
            ("한국어 검색을 시험한다", "검색"),
            ("ฉันชอบกินข้าวผัด", "ข้าวผัด"),
        ],
    )
    def test_other_languages_and_scripts_are_found(self, index: Index, text: str, asked: str) -> None:
        shelf = Shelf({"a.md": text, "b.md": "Something quite different, in English."})
        index.sync(shelf)
        hits = index.search(Query(text=asked, mode="lexical")).hits
        assert [hit.chunk.path for hit in hits] == ["a.md"]
        assert hits[0].ranges

    def test_many_languages_in_one_place_are_found_and_shown(self, index: Index) -> None:
        index.sync(Shelf({path: text for path, (text, _) in LANGUAGES.items()}))
        for path, (_, asked) in LANGUAGES.items():
            found = {hit.chunk.path: hit for hit in index.search(Query(text=asked, mode="lexical")).hits}
            assert path in found
            assert found[path].ranges, path

    def test_stop_words_alone_are_found_as_they_are_typed_whatever_languages_there_are(
        self, index: Index
    ) -> None:
        index.sync(
            Shelf({"en.md": "To be or not to be, that is the question.", "x.md": "Nothing of the kind."})
        )
        assert paths(index, "to be or not to be", mode="lexical") == ["en.md"]
        index.sync(
            Shelf({**{path: text for path, (text, _) in LANGUAGES.items()}, "en.md": "To be or not to be."})
        )
        hits = index.search(Query(text="to be or not to be", mode="lexical")).hits
        assert hits[0].chunk.path == "en.md"
        assert hits[0].ranges

    @pytest.mark.parametrize("asked", ["京", "東京", "タ"])
    def test_characters_of_scripts_without_words_are_shown_where_they_stand(
        self, index: Index, asked: str
    ) -> None:
        index.sync(Shelf({"a.md": "明日は東京タワーに行きたい。", "b.md": "Something else."}))
        (hit,) = index.search(Query(text=asked, mode="lexical")).hits
        assert [hit.chunk.text[start:end] for start, end in hit.ranges] == [asked]

    def test_where_nothing_has_to_do_with_a_question_nothing_is_shown(
        self, index: Index, shelf: Shelf
    ) -> None:
        index.sync(shelf)
        assert paths(index, "zebra") == []
        assert paths(index, "billing")
