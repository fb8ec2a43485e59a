"""The ids under which Gymnasium finds the environments; importing `flitgym.env` registers them."""

from typing import Any

import gymnasium

from .packet_options import SOURCE_OBSERVATION, TOLLED


def register_envs() -> None:
    """Register the ids that are not registered yet.

    With each id, `gymnasium.make` makes one network and `gymnasium.make_vec` makes several in one object.
    `SourceRouting-v0` and `TolledRouting-v0` are `PacketRouting-v1` with other defaults.
    """
    source = {"decisions": "source", "observation": SOURCE_OBSERVATION}
    ids: tuple[tuple[str, dict[str, Any]], ...] = (
        ("PacketRouting-v1", {}),
        ("PacketRoutingVec-v1", {}),
        ("SourceRouting-v0", source),
        ("TolledRouting-v0", TOLLED),
    )
    for name, keywords in ids:
        if f"flitgym/{name}" not in gymnasium.registry:
            gymnasium.register(
                f"flitgym/{name}",
                entry_point="flitgym.env.packet_routing:PacketRoutingEnv",
                vector_entry_point="flitgym.env.packet_routing_vec:PacketRoutingVecEnv",
                kwargs=keywords,
            )
    if "flitgym/Injection-v0" not in gymnasium.registry:
        gymnasium.register("flitgym/Injection-v0", entry_point="flitgym.env.injection:InjectionEnv")
