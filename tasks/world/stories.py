"""Little stories of the embedded world: consecutive sentences that hang together."""

from thawbench.tasks.world.draws import Draws, article

_PEOPLE = (
    ("Anna", "she", "her"),
    ("Ben", "he", "his"),
    ("the old baker", "he", "his"),
    ("Clara", "she", "her"),
    ("the young nurse", "she", "her"),
    ("David", "he", "his"),
    ("my uncle", "he", "his"),
    ("my cousin Emma", "she", "her"),
    ("the new teacher", "she", "her"),
    ("our neighbour Frank", "he", "his"),
)
_FRIENDS = ("a friend", "a stranger", "the woman next door", "an old man", "the shopkeeper", "a policeman", "a child")
_PLACES = (
    "the market",
    "the station",
    "the library",
    "the park",
    "the harbour",
    "the museum",
    "the town hall",
    "the mill",
)
_THINGS = ("watch", "violin", "umbrella", "camera", "lantern", "radio", "bicycle", "suitcase", "notebook", "telescope")
_DISHES = ("onion soup", "apple pie", "bean stew", "mushroom tart", "fish curry", "plum cake")
_DEVICES = ("watch", "camera", "radio", "lantern", "music box", "typewriter", "clock", "telescope")
_DAYS = (
    "a cold morning in March",
    "a bright summer day",
    "a grey Monday",
    "a windy evening",
    "the first day of autumn",
)
_MOODS = ("sad", "worried", "restless", "nervous", "upset", "gloomy")
_ENDS = (
    "That night {she} slept well.",
    "{She} still talks about that day.",
    "From then on the two were friends.",
    "It was late, but {she} did not mind.",
    "On the way home {she} sang.",
)

# Each script is told in order; of each beat one wording is taken, and a beat with an empty wording may be skipped.
_SCRIPTS = (
    (  # lost and found
        ("It was {day}.", "It all began on {day}."),
        ("{Who} had left {a_thing} somewhere near {place}.", "On the way to {place} {who} lost {a_thing}."),
        ("{She} noticed it only at home.", "At first {she} did not notice.", ""),
        ("{She} felt {mood} and could not sit still.", "It had been a present, so {she} was {mood}."),
        ("So {she} went back to {place} and looked under every bench.", "{She} ran back and searched all of {place}."),
        ("The {thing} was nowhere to be seen.", "There was no trace of the {thing}.", ""),
        ("Then {friend} came up and asked what was wrong.", "{Friend} saw {her} trouble and offered to help."),
        ("Together they found the {thing} behind a wall.", "In the end the {thing} lay under a heap of leaves."),
        _ENDS,
    ),
    (  # a repair
        ("{Who} owned {a_device} that no longer worked.", "One day {who_poss} {device} stopped working."),
        ("{She} had bought it years ago at {place}.", "It had belonged to {her} grandfather.", ""),
        ("First {she} tried to repair it alone.", "{She} opened it on the kitchen table."),
        ("That only made things worse.", "A small screw fell out and rolled away."),
        ("By then {she} was {mood}.", ""),
        ("So {she} took it to {friend} near {place}.", "{Friend} at {place} agreed to look at it."),
        ("An hour later the {device} was as good as new.", "After some work the {device} worked again."),
        ("{She} wanted to pay, but a smile was enough.", "The bill was surprisingly small.", ""),
        _ENDS,
    ),
    (  # a meal
        ("{Who} wanted to cook {a_dish} for {friend}.", "On {day}, {who} invited {friend} to dinner."),
        ("{She} had planned {a_dish} and wrote a list.", "First {she} read the recipe twice.", ""),
        ("Then {she} bought what was missing in a shop near {place}.", "What {she} needed was sold near {place}."),
        ("Half of it was sold out, which made {them} {mood}.", "The queue was long, and it began to rain.", ""),
        ("Back at home {she} washed, peeled and chopped.", "{She} put the pot on the fire and stirred."),
        ("Soon the whole house smelled of {dish}.", "The {dish} took longer than expected."),
        ("When the guest came, the table was set.", "At eight there was a knock at the door."),
        ("They ate until the plates were empty.", "Nothing of the {dish} was left over."),
        _ENDS,
    ),
    (  # an outing
        ("On {day}, {who} set out for {place}.", "{Who} had never been to {place}, so {she} decided to go."),
        ("{She} packed some bread and {a_thing}.", "{She} took {a_thing} along, just in case."),
        ("The bus was late.", "The first train was full.", ""),
        ("On the way {she} met {friend}.", "{Friend} sat down beside {them}."),
        ("They talked about the weather and about {place}.", "It turned out that they were going the same way.", ""),
        ("Around noon it began to rain.", "Suddenly the road was closed."),
        ("They found shelter under a roof and ate the bread.", "A passer-by lent them a large umbrella."),
        ("Then the sun came out, and {place} lay before them.", "At last they arrived at {place}."),
        _ENDS,
    ),
)


def make_documents(seed: int, count: int) -> tuple[tuple[str, ...], ...]:
    """That many different stories of 5 to 9 sentences."""
    draws = Draws(seed, "stories")
    made: dict[tuple[str, ...], None] = {}
    while len(made) < count:
        made.setdefault(_story(draws))
    return tuple(made)


def _story(draws: Draws) -> tuple[str, ...]:
    who, she, her = draws.pick(_PEOPLE)
    friend, thing = draws.pick(_FRIENDS), draws.pick(_THINGS)
    device, dish = draws.pick(_DEVICES), draws.pick(_DISHES)
    slots = {
        "who": who,
        "Who": _capital(who),
        "who_poss": f"{who}'s",
        "she": she,
        "She": _capital(she),
        "her": her,
        "them": "him" if she == "he" else "her",
        "friend": friend,
        "Friend": _capital(friend),
        "place": draws.pick(_PLACES),
        "thing": thing,
        "a_thing": article(thing),
        "device": device,
        "a_device": article(device),
        "dish": dish,
        "a_dish": article(dish),
        "day": draws.pick(_DAYS),
        "mood": draws.pick(_MOODS),
    }
    wordings = (draws.pick(beat) for beat in draws.pick(_SCRIPTS))
    return tuple(wording.format(**slots) for wording in wordings if wording)


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
