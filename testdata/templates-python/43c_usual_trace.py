# A traceback through modules of the template.
import collections, dataclasses, json, re

@dataclasses.dataclass(frozen=True)
class Fixed:
    x: int

def broken(text):
    try:
        json.loads(text)
    except ValueError as e:
        Fixed(1).x = re.sub("(", "", str(e))

broken("[")
