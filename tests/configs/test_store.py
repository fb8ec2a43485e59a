"""The store of typed options makes what is asked for, and gives every caller a copy of its own."""

import copy
import pickle
from dataclasses import dataclass

from flitgym.configs.store import share_store, store_group


@dataclass
class Option:
    name: str = ""
    number: int = 1


made: list[str] = []


def make(group: str, name: str) -> Option:
    made.append(f"{group}/{name}")
    return Option(name)


def test_options_are_made_when_they_are_asked_for() -> None:
    made.clear()
    store_group("of_a_test", ["one", "two"], make)
    store = share_store()
    assert store.list("of_a_test") == ["one.yaml", "two.yaml"]
    assert made == []
    for _ in range(2):
        assert store.load("of_a_test/two.yaml").node == {"name": "two", "number": 1}
    assert made == ["of_a_test/two"]


def test_what_is_loaded_may_be_changed_and_the_store_is_not_copied() -> None:
    store_group("of_a_test", ["one"], make)
    store = copy.deepcopy(share_store())
    assert store.repo is share_store().repo
    store.load("of_a_test/one.yaml").node.number = 5
    assert share_store().load("of_a_test/one.yaml").node.number == 1


def test_what_others_have_stored_in_a_group_stays() -> None:
    share_store().store(group="of_two", name="other", node=Option("other", 3))
    for _ in range(2):
        store_group("of_two", ["one"], make)
    assert share_store().list("of_two") == ["one.yaml", "other.yaml"]
    assert share_store().load("of_two/other.yaml").node.number == 3
    elsewhere = pickle.loads(pickle.dumps(share_store().repo["of_two"]))
    assert list(elsewhere) == ["one.yaml", "other.yaml"]
    assert elsewhere["other.yaml"].node.number == 3


def test_another_process_makes_its_own() -> None:
    store_group("of_others", ["one"], make)
    share_store().load("of_others/one.yaml")
    made.clear()
    group = pickle.loads(pickle.dumps(share_store().repo["of_others"]))
    assert list(group) == ["one.yaml"]
    assert made == []
    assert group["one.yaml"].node.name == "one"
    assert made == ["of_others/one"]
