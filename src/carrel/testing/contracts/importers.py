"""What every importer promises."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import get_args

import pytest

from carrel.importing.piece import Piece, Role
from carrel.importing.source import Source, open_folder

Reader = Callable[[Source], Iterable[Piece]]


class ImporterContract:
    """The pieces of a source: give a `reader`, and in `sample` a directory with something to import."""

    @pytest.fixture
    def found(self, reader: Reader, sample: Path) -> list[Piece]:
        """The pieces of the sample."""
        return list(reader(open_folder(sample)))

    def test_something_is_found_in_the_sample(self, found: list[Piece]) -> None:
        assert any(piece.role != "left" for piece in found)

    def test_every_piece_is_one_and_has_a_role(self, found: list[Piece]) -> None:
        assert all(isinstance(piece, Piece) and piece.role in get_args(Role) for piece in found)

    def test_every_piece_has_bytes_of_its_own_or_stands_in_the_source(
        self, found: list[Piece], sample: Path
    ) -> None:
        source = open_folder(sample)
        for piece in found:
            assert piece.role == "left" or piece.data is not None or source.read(piece.source) is not None

    def test_what_is_left_says_why(self, found: list[Piece]) -> None:
        assert all(piece.reason for piece in found if piece.role == "left")

    def test_sources_are_paths_within_the_directory(self, found: list[Piece]) -> None:
        for piece in found:
            assert piece.source
            assert not piece.source.startswith("/")
            assert ".." not in piece.source.split("/")

    def test_reading_again_finds_the_same_in_the_same_order(
        self, reader: Reader, sample: Path, found: list[Piece]
    ) -> None:
        assert list(reader(open_folder(sample))) == found

    def test_reading_changes_nothing(self, reader: Reader, sample: Path) -> None:
        def look() -> dict[str, bytes]:
            files = (path for path in sample.rglob("*") if path.is_file())
            return {str(path): path.read_bytes() for path in files}

        before = look()
        list(reader(open_folder(sample)))
        assert look() == before

    def test_a_directory_with_nothing_in_it_has_no_pieces(self, reader: Reader, tmp_path: Path) -> None:
        empty = tmp_path / "nothing"
        empty.mkdir()
        assert list(reader(open_folder(empty))) == []

    def test_files_that_are_no_text_and_links_that_lead_outside_are_no_error(
        self, reader: Reader, sample: Path
    ) -> None:
        (sample / "zz-blob.md").write_bytes(bytes(range(256)))
        (sample / "zz-out.md").symlink_to("/etc/hostname")
        assert all(isinstance(piece, Piece) for piece in reader(open_folder(sample)))
