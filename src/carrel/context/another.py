"""The same context for another model: its vocabulary counts, and its window is what must be fitted."""

from collections.abc import Callable, Generator
from contextlib import closing, contextmanager

from msgspec.structs import replace

from carrel.context.assemble import Assembler
from carrel.context.build import Ground
from carrel.tokens import Tokenizer, open_tokenizer
from carrel.workspace.counts import TokenCounts


@contextmanager
def for_model(
    assembler: Assembler, model: str | None, open_counts: Callable[[Tokenizer], TokenCounts]
) -> Generator[Assembler]:
    """Yield what assembles for a model; for none, and for the one in force, that is the assembler itself.

    The settings' window is of their own model, and says nothing of another.
    """
    ground = assembler.ground
    if model is None or model == ground.model_name:
        yield assembler
        return
    tokenizer = open_tokenizer(ground.tokenizer_for(model), model)
    if tokenizer.name == ground.counts.tokenizer.name:
        yield Assembler(_spoken_with(ground, model, ground.counts))
        return
    with closing(open_counts(tokenizer)) as counts:
        yield Assembler(_spoken_with(ground, model, counts))


def _spoken_with(ground: Ground, model: str, counts: TokenCounts) -> Ground:
    settings = replace(ground.settings, model=replace(ground.settings.model, context_window=None))
    agent = replace(ground.agent, model=model, context_window=None)
    return replace(ground, settings=settings, agent=agent, counts=counts)
