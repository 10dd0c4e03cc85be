# How values cross between the two sandboxes: as JSON, with an object of one member for each type that JSON
# lacks. Both programs begin with this. A TypeError names the type of a value that cannot cross.
def encode(v):
    if v is None or v is True or v is False or type(v) is str:
        return v
    if type(v) is int:
        return v if -(1 << 62) < v < 1 << 62 else {"i": hex(v)}
    if type(v) is float:
        return {"f": v.hex()}
    if type(v) is complex:
        return {"c": [v.real.hex(), v.imag.hex()]}
    if type(v) in (bytes, bytearray):
        return {"b": v.hex()}
    if type(v) is list:
        return [encode(e) for e in v]
    for kind, tag in ((tuple, "t"), (set, "s"), (frozenset, "z")):
        if isinstance(v, kind):
            return {tag: [encode(e) for e in v]}
    if isinstance(v, dict):
        return {"d": [[encode(k), encode(e)] for k, e in v.items()]}
    raise TypeError(type(v).__name__)
