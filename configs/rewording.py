"""Messages of Hydra and OmegaConf, reworded for the user: the typed override, and the correct form."""

import re

_NO_PAIR = "it is not of the form key=value; --help lists the keys"
# The end of the message about a value of a wrong type, by OmegaConf's name of the wanted type.
_KINDS = {
    "Float": "not a number (Float)",
    "Integer": "not a whole number (Integer)",
    "bool": "neither true nor false",
}
_WRONG_TYPE = re.compile(
    r"Value '(?P<value>.*)' (?:of type '\w+' could not be converted to (?P<kind>Float|Integer)"
    r"|is not a valid (?P<bool>bool) \(type \w+\))"
)
_NOT_OPTIONAL = re.compile(r"field '[\w.]+' is not Optional")
_MISSING = re.compile(r"Incompatible value 'None' for field of type '(?:typing\.)?(?P<kind>\w+).*'")


def of_override(word: str, said: str) -> str:
    """The message for a word of the command line that Hydra cannot read.

    Args:
        word: As it was typed.
        said: The parser's message, usually `no viable alternative at input ...`.
    """
    if "=" not in word.lstrip("=") or word.startswith("="):
        return f"'{word}': {_NO_PAIR}"
    key, _, value = word.partition("=")
    if not re.fullmatch(r"[~+]{0,2}[\w./@$-]+", key):
        return f"'{word}': {_NO_PAIR}"
    where = re.search(r"(?:at input|error at:|input) '([^']*)'", said)
    found = where[1].removesuffix("<EOF>") if where else ""
    near = f" near '{found}'" if found else ""
    hints = []
    if not _closed(value):
        hints.append("brackets and quotes must close")
    if "=" in value:
        hints.append('text with = needs its own quotes: ["a=b"]')
    if not hints:
        hints.append(f"""text with characters other than letters, digits and ./-+:% needs quotes: '{key}="..."'""")
    return f"{key}: cannot read '{value}'{near}; {' and '.join(hints)}"


def _closed(value: str) -> bool:
    return value.count("'") % 2 == value.count('"') % 2 == 0 and all(
        value.count(one) == value.count(other) for one, other in ("[]", "{}", "()")
    )


def of_type(text: str) -> str:
    """The message for a value of a wrong type; another text is returned unchanged."""
    if (found := _WRONG_TYPE.match(text)) is not None:
        return f"'{found['value']}' is {_KINDS[found['kind'] or found['bool']]}"
    if (found := _MISSING.match(text)) is not None:
        return f"no value is given; it must be {_wanted(found['kind'])}"
    if text == "Cannot merge DictConfig with ListConfig":
        return "a mapping, but it must be a list; write the mapping in brackets, [{...}]"
    return "no value is given, but the key needs one" if _NOT_OPTIONAL.match(text) else text


def _wanted(kind: str) -> str:
    return {"int": "a whole number", "float": "a number", "bool": "true or false", "str": "a word"}.get(kind, kind)


def of_composition(text: str) -> str | None:
    """The message for overrides that Hydra can read but not apply; None for another message."""
    if (found := re.match(r"Ambiguous value for argument '(.*)'", text)) is not None:
        key, _, value = found[1].partition("=")
        return f"{found[1]}: several values need -m, as a sweep; a list is written {key}=[{value}]"
    if (found := re.match(r"Sweep parameters '(.*)' requires --multirun", text)) is not None:
        return f"{found[1]}: several values need -m, as a sweep"
    if (found := re.match(r"Could not override '([\w/@]+)'\. No match in the defaults list", text)) is not None:
        return f"{found[1]}: this command has no such group; --help lists its groups"
    if text.startswith("Config group override must be a string or a list"):
        return f"a word begins with '=': {_NO_PAIR}"
    return None
