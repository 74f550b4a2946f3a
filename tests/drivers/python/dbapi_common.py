"""How values and errors are printed by all Python programs."""
import zlib


def out(label, *values):
    print(label, *[shown(v) for v in values], flush=True)


def shown(value):
    """A value with its type; long ones by their length and a checksum."""
    if isinstance(value, (bytes, bytearray, str)) and len(value) > 500:
        data = value.encode() if isinstance(value, str) else bytes(value)
        return f"{type(value).__name__}[{len(value)}]{zlib.crc32(data):08x}"
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(shown(v) for v in value) + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {shown(v)}" for k, v in sorted(value.items())) + "}"
    if isinstance(value, set):
        return f"set{sorted(value)}"
    return f"{type(value).__name__}:{value!r}"


def error(why):
    """Code, SQLSTATE where the driver tells it, and text."""
    state = getattr(why, "sqlstate", None)
    return f"error {type(why).__name__} {why.args} {state}"
