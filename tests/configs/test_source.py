"""Hydra gets flitgym's typed options from a configuration source that makes each option on request."""

from dataclasses import dataclass

import pytest
from flitgym.configs.source import FlitgymSource, offer, offered
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigLoadError


@dataclass
class Option:
    number: int = 1


@pytest.fixture
def source() -> FlitgymSource:
    return FlitgymSource("flitgym", "flitgym://")


def test_an_option_is_made_for_each_composition(source: FlitgymSource) -> None:
    made: list[str] = []

    def make() -> Option:
        made.append("two")
        return Option()

    offer("of_a_test/one", Option)
    offer("of_a_test/two", make)
    assert list(offered("of_a_test")) == ["one", "two"]
    assert made == []
    source.load_config("of_a_test/two.yaml").config["number"] = 5
    assert source.load_config("of_a_test/two").config == {"number": 1}
    assert made == ["two", "two"]


def test_groups_and_options_are_distinguished(source: FlitgymSource) -> None:
    offer("of_groups/inner/one", Option)
    assert source.is_group("of_groups")
    assert source.is_group("of_groups/inner/")
    assert not source.is_config("of_groups/inner")
    assert source.is_config("of_groups/inner/one")
    assert source.list("of_groups", ObjectType.GROUP) == ["inner"]
    assert source.list("of_groups/inner", ObjectType.CONFIG) == ["one"]
    assert "topology" in source.list("", ObjectType.GROUP)


def test_an_unknown_option_is_an_error(source: FlitgymSource) -> None:
    with pytest.raises(ConfigLoadError, match="of_a_test/three"):
        source.load_config("of_a_test/three")
