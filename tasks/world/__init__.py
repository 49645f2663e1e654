"""The embedded world: a small seeded grammar of English, whose every annotation is right by construction."""

from thawbench.tasks.world.whole import World, held_out_texts, make_world, texts

__all__ = ["World", "held_out_texts", "make_world", "texts"]
