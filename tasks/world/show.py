"""A look at the embedded world: a few rows of each part, on one screen."""

from collections.abc import Iterator

from thawbench.tasks.world.whole import World, texts


def show(world: World, *, rows: bool = True) -> str:
    """The parts with their sizes and, if asked for, some rows of each: test rows where there are any."""
    text = "\n".join(_lines(world))
    return text if rows else "\n".join(line for line in text.splitlines() if line and not line.startswith("  "))


def _lines(world: World) -> Iterator[str]:
    yield f"world of seed {world.seed}: {len(texts(world))} sentences to pretrain on"
    for domain, opinions in world.sentiment.items():
        yield f"\nsentiment, {domain} ({len(opinions.train)} train, {len(opinions.test)} test)"
        for construction in ("flipped", "contrast"):
            row = next(row for row in opinions.test if row.construction == construction)
            yield f"  {row.label}: {row.text}"
    topics = world.topics
    yield f"\ntopics ({len(topics.train)} train, {len(topics.test)} test)"
    yield from (f"  {'/'.join(row.path)}: {row.text}" for row in topics.test[:3])
    inference = world.inference
    yield f"\ninference ({len(inference.train)} train, {len(inference.test)} test)"
    for relation in ("entailment", "neutral", "contradiction"):
        pair = next(pair for pair in inference.test if pair.relation == relation)
        yield f"  {relation}: {pair.premise} | {pair.hypothesis}"
    similarity = world.similarity
    yield f"\nsimilarity ({len(similarity.train)} train, {len(similarity.test)} test)"
    yield from (f"  {pair.score}: {pair.a} | {pair.b}" for pair in similarity.test[:3])
    found = world.retrieval
    query, question = found.queries.test[0]
    train, test = len(found.queries.train), len(found.queries.test)
    yield f"\nretrieval ({len(found.corpus)} documents, {train} train questions, {test} test)\n  {question}"
    yield from (f"  {grade}: {found.corpus[document]}" for document, grade in found.relevance[query].items())
    yield f"  0: {found.corpus[found.echoes[query]]}"
    yield f"\ndocuments ({len(world.documents)})\n  {' '.join(world.documents[0])}"
    tree = world.trees.test[0]
    yield f"\ntrees ({len(world.trees.train)} train, {len(world.trees.test)} test)"
    tokens = zip(tree.words, tree.heads, tree.relations, strict=True)
    yield "  " + " ".join(f"{word}/{relation}>{head}" for word, head, relation in tokens)
