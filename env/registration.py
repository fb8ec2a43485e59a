"""The ids under which Gymnasium finds the environments; importing `flitgym.env` registers them."""

import gymnasium


def register_envs() -> None:
    """Register the ids that are not registered yet.

    With either id, `gymnasium.make` makes one network and `gymnasium.make_vec` makes several in one object.
    """
    for name, single, vector in (
        ("PacketRouting-v1", "packet_routing:PacketRoutingEnv", "packet_routing_vec:PacketRoutingVecEnv"),
        ("PacketRoutingVec-v1", "packet_routing:PacketRoutingEnv", "packet_routing_vec:PacketRoutingVecEnv"),
    ):
        if f"flitgym/{name}" not in gymnasium.registry:
            gymnasium.register(
                f"flitgym/{name}",
                entry_point=f"flitgym.env.{single}",
                vector_entry_point=f"flitgym.env.{vector}",
            )
