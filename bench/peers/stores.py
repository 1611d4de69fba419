"""Each peer as a store of numbered texts, with the settings that it recommends; all have one embedder.

What a peer cannot do is said by its `about`; none of them is asked for more than the numbers of texts.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from carrel.index.embed import EmbedderChoice, open_embedder

NUMBERED = "{:08}"


class Store(Protocol):
    """Keeps numbered texts, and answers questions with the numbers of the best."""

    about: str

    def add(self, numbers: Sequence[int], texts: Sequence[str]) -> None: ...
    def settle(self) -> None:
        """Make all that was added searchable, where that takes a step of its own."""

    def ask(self, text: str, limit: int) -> list[int]: ...
    def kept(self) -> list[int]:
        """Return the numbers of all that is there."""
        ...


def vectors(texts: Sequence[str]):
    """The vectors of some texts, by the embedder that all share."""
    return _embedder().embed(texts)


@cache
def _embedder() -> Any:
    return open_embedder(EmbedderChoice(kind="static"), environ={})


class LanceDB:
    """Its own full text index (stems and stop words are its default), exact vectors, and its RRF."""

    about = "words and vectors, RRF"

    def __init__(self, folder: Path) -> None:
        os.environ["LANCEDB_LOG"] = "error"  # it warns with each question, which takes time
        self._arrow = import_module("pyarrow")
        self._database = import_module("lancedb").connect(str(folder))
        self._reranker = import_module("lancedb.rerankers").RRFReranker()
        names = self._database.table_names()
        self._table = self._database.open_table("said") if "said" in names else None

    def add(self, numbers: Sequence[int], texts: Sequence[str]) -> None:
        made = vectors(texts)
        cells = self._arrow.FixedSizeListArray.from_arrays(self._arrow.array(made.ravel()), made.shape[1])
        rows = self._arrow.table({"number": list(numbers), "text": list(texts), "vector": cells})
        if self._table is None:
            self._table = self._database.create_table("said", rows)
        else:
            self._table.add(rows)

    def settle(self) -> None:
        self._table.create_index("text", config=import_module("lancedb.index").FTS())

    def ask(self, text: str, limit: int) -> list[int]:
        asked = self._table.search(query_type="hybrid").vector(vectors([text])[0]).text(text)
        found = asked.rerank(self._reranker).select(["number"]).limit(limit).to_arrow()
        return found["number"].to_pylist()

    def kept(self) -> list[int]:
        return [] if self._table is None else self._table.to_arrow()["number"].to_pylist()


class Txtai:
    """Its own BM25, vectors from outside, and its default weights; it writes when it is told to save."""

    about = "words and vectors, weighted sum"

    def __init__(self, folder: Path) -> None:
        os.environ["HF_HUB_OFFLINE"] = "1"
        self._folder = folder
        kind = import_module("txtai").Embeddings
        self._embeddings = kind(method="external", transform=vectors, hybrid=True)
        if (folder / "config.json").exists() or (folder / "config").exists():
            self._embeddings.load(str(folder))
            self._embeddings.config["transform"] = vectors
        self._waiting: list[tuple[int, str]] = []

    def add(self, numbers: Sequence[int], texts: Sequence[str]) -> None:
        self._waiting += zip(numbers, texts, strict=True)

    def settle(self) -> None:
        self._embeddings.index(self._waiting)
        self._waiting = []

    def ask(self, text: str, limit: int) -> list[int]:
        return [number for number, _ in self._embeddings.search(text, limit)]

    def kept(self) -> list[int]:
        return []


class Chroma:
    """Its embedded server, vectors by HNSW with its defaults; words are not part of the local one."""

    about = "vectors only, HNSW"

    def __init__(self, folder: Path) -> None:
        chroma = import_module("chromadb")
        quiet = import_module("chromadb.config").Settings(anonymized_telemetry=False)
        self._client = chroma.PersistentClient(path=str(folder), settings=quiet)
        self._said = self._client.get_or_create_collection("said", embedding_function=None)

    def add(self, numbers: Sequence[int], texts: Sequence[str]) -> None:
        ids = [NUMBERED.format(each) for each in numbers]
        self._said.add(ids=ids, documents=list(texts), embeddings=vectors(texts))

    def settle(self) -> None:
        """Nothing to be done."""

    def ask(self, text: str, limit: int) -> list[int]:
        found = self._said.query(query_embeddings=vectors([text]), n_results=limit, include=[])
        return [int(each) for each in found["ids"][0]]

    def kept(self) -> list[int]:
        return [int(each) for each in self._said.get(include=[])["ids"]]


class MemSearch:
    """Its store on Milvus Lite: BM25 and vectors by its RRF; chunks come from outside, as for all."""

    about = "words and vectors, RRF"

    def __init__(self, folder: Path) -> None:
        store = import_module("memsearch.store").MilvusStore
        folder.mkdir(parents=True, exist_ok=True)
        size = vectors(["size"]).shape[1]
        self._store = store(str(folder / "milvus.db"), dimension=size, _create_if_missing=True)

    def add(self, numbers: Sequence[int], texts: Sequence[str]) -> None:
        self._store.upsert([
            {
                "chunk_hash": NUMBERED.format(number), "embedding": vector, "content": text,
                "source": "said.md", "heading": "", "heading_level": 0,
                "start_line": number, "end_line": number,
            }
            for number, text, vector in zip(numbers, texts, vectors(texts).tolist(), strict=True)
        ])  # fmt: skip

    def settle(self) -> None:
        """Nothing to be done."""

    def ask(self, text: str, limit: int) -> list[int]:
        found = self._store.search(vectors([text])[0].tolist(), query_text=text, top_k=limit)
        return [int(each["start_line"]) for each in found]

    def kept(self) -> list[int]:
        return [int(each["start_line"]) for each in self._store.query(filter_expr='source == "said.md"')]


class LangGraph:
    """Its SQLite store with sqlite-vec; it has vectors only."""

    about = "vectors only, exact"

    def __init__(self, folder: Path) -> None:
        sqlite3 = import_module("pysqlite3")  # that of some Pythons loads no extensions
        folder.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(folder / "store.db", check_same_thread=False, isolation_level=None)
        index = {"dims": vectors(["size"]).shape[1], "embed": _listed, "fields": ["text"]}
        self._store = import_module("langgraph.store.sqlite").SqliteStore(connection, index=index)
        self._put = import_module("langgraph.store.base").PutOp
        self._store.setup()

    def add(self, numbers: Sequence[int], texts: Sequence[str]) -> None:
        self._store.batch([
            self._put(("said",), NUMBERED.format(number), {"text": text})
            for number, text in zip(numbers, texts, strict=True)
        ])  # fmt: skip

    def settle(self) -> None:
        """Nothing to be done."""

    def ask(self, text: str, limit: int) -> list[int]:
        return [int(each.key) for each in self._store.search(("said",), query=text, limit=limit)]

    def kept(self) -> list[int]:
        return [int(each.key) for each in self._store.search(("said",), limit=1_000_000)]


class Mem0:
    """Its raw mode (`infer=False`) on Qdrant in a folder, as its own default is; no model is called."""

    about = "vectors only, exact"

    def __init__(self, folder: Path) -> None:
        os.environ.update({"MEM0_TELEMETRY": "False", "MEM0_DIR": str(folder / "own")})
        logging.getLogger("mem0").setLevel(logging.ERROR)
        size = vectors(["size"]).shape[1]
        place = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": size}
        self._memory = import_module("mem0").Memory.from_config({
            "vector_store": {"provider": "qdrant", "config": {**place, "collection_name": "said"}},
            "llm": {"provider": "openai", "config": {"api_key": "none"}},
            "embedder": {"provider": "openai", "config": {"api_key": "none", "embedding_dims": size}},
            "history_db_path": str(folder / "history.db"),
        })  # fmt: skip
        self._memory.embedding_model = _Mem0Embedder()

    def add(self, numbers: Sequence[int], texts: Sequence[str]) -> None:
        for number, text in zip(numbers, texts, strict=True):
            self._memory.add(text, user_id="ana", infer=False, metadata={"number": number})

    def settle(self) -> None:
        """Nothing to be done."""

    def ask(self, text: str, limit: int) -> list[int]:
        found = self._memory.search(text, filters={"user_id": "ana"}, top_k=limit, threshold=0.0)
        return [each["metadata"]["number"] for each in found["results"]]

    def kept(self) -> list[int]:
        found = self._memory.get_all(filters={"user_id": "ana"}, top_k=1_000_000)
        return [each["metadata"]["number"] for each in found["results"]]


class _Mem0Embedder:
    """The shared embedder in the shape that mem0 asks for."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        del memory_action
        return vectors([text])[0].tolist()

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        del memory_action
        return vectors(texts).tolist()


def _listed(texts: Sequence[str]) -> list[list[float]]:
    return vectors(texts).tolist()


class Carrel:
    """A workspace: each text is recorded as a message of a session, and found with where it stands."""

    about = "words and vectors, fused"
    _A_SESSION = 50

    def __init__(self, folder: Path) -> None:
        workspace = import_module("carrel").Workspace
        environ = {"CARREL_HOME": str(folder / "home")}
        if not (folder / "desk").exists():
            workspace.init(folder / "desk", environ=environ)
        self._workspace = workspace.open(folder / "desk", environ=environ)
        self._within = import_module("carrel.index").Filter(tiers=("session",))

    def add(self, numbers: Sequence[int], texts: Sequence[str]) -> None:
        for start in range(0, len(numbers), self._A_SESSION):
            part = slice(start, start + self._A_SESSION)
            said = [
                {"role": "user", "content": text, "message_id": NUMBERED.format(number)}
                for number, text in zip(numbers[part], texts[part], strict=True)
            ]
            self._workspace.record(f"s{numbers[start] // self._A_SESSION:06}", said)

    def settle(self) -> None:
        self._workspace.searching.sync()

    def ask(self, text: str, limit: int) -> list[int]:
        found = self._workspace.search(text, limit=limit, within=self._within)
        assert not found.degraded, found.findings
        return [int(hit.chunk.message_id) for hit in found.hits]

    def kept(self) -> list[int]:
        logs = (self._workspace.root / "agents/main/sessions").glob("*.log.jsonl")
        lines = (line for log in logs for line in log.read_text("utf-8").splitlines())
        read = import_module("json").loads
        return [int(entry["message_id"]) for entry in map(read, lines) if "message_id" in entry]


STORES: Mapping[str, type[Store]] = {
    "carrel": Carrel,
    "lancedb": LanceDB,
    "txtai": Txtai,
    "chroma": Chroma,
    "memsearch": MemSearch,
    "langgraph": LangGraph,
    "mem0": Mem0,
}
