"""Plain English words that mean much the same, for the noise that puts one in another's place."""

# A line is a set of words, any of which may stand for any other in most sentences. None changes an opinion's sign.
_TABLE = """
film movie
films movies
actor performer
actors performers
story tale
stories tales
ending conclusion
start beginning
car automobile
cars automobiles
house home
houses homes
child kid
children kids
boy lad
woman lady
women ladies
man guy
men guys
street road
streets roads
shop store
shops stores
job task
answer reply
answers replies
mistake error
mistakes errors
picture image
pictures images
journey trip
journeys trips
illness disease
doctor physician
doctors physicians
lawyer attorney
lawyers attorneys
money cash
idea notion
ideas notions
town city
towns cities
forest woods
firm company
firms companies
viewers spectators
amount quantity
part portion
parts portions
place spot
way manner
goal aim
goals aims
big large
bigger larger
biggest largest
small little
quick fast rapid
quicker faster
quickly rapidly swiftly
slow unhurried
happy glad
sad unhappy
angry furious
clever smart
silly foolish
funny amusing
boring dull tedious
wonderful marvellous
excellent superb
awful terrible dreadful
hard difficult
easy simple
easily simply
strange odd
ill sick
rich wealthy
wrong incorrect
entire whole
complete full
important significant
main chief
new recent
old aged
strong powerful
weak feeble
begin start
begins starts
began started
buy purchase
bought purchased
get obtain
got obtained
showed displayed
help assist
helps assists
helped assisted
need require
needs requires
needed required
choose select
chose selected
try attempt
tries attempts
tried attempted
keep retain
keeps retains
kept retained
end finish
ends finishes
ended finished
speak talk
speaks talks
speaking talking
think believe
thinks believes
seem appear
seems appears
seemed appeared
allow permit
allows permits
allowed permitted
happen occur
happens occurs
happened occurred
often frequently
maybe perhaps
almost nearly
very extremely
enough sufficiently
only merely
mostly mainly
sometimes occasionally
although though
while whilst
because since
everyone everybody
someone somebody
"""


def _others(table: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in table.split("\n"):
        words = line.split()
        for word in words:
            found[word] = (*found.get(word, ()), *(other for other in words if other != word))
    return found


SYNONYMS = _others(_TABLE)
"""Each word in lower case, and what may stand for it."""
