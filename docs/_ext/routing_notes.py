"""Sources and limits of the routings, for their page of the reference. Rules and keys come from the core."""

from __future__ import annotations

_QA = "Kang, Wang and Lan, HPDC 2021"
_MCDONALD = "McDonald et al., SC 2019"
_DRAGONFLY = "Kim et al., ISCA 2008"

SOURCES = {
    "clos_ad": "Kim, Dally and Abts, ISCA 2007",
    "dal": "Ahn et al., SC 2009",
    "dim_war": _MCDONALD,
    "ecmp": "Thaler and Hopps, RFC 2991, 2000",
    "flowlet": "Sinha et al., HotNets 2004; Vanini et al., NSDI 2017",
    "fpar": "Shpiner et al., HiPINEB 2017",
    "omni_war": _MCDONALD,
    "packet_spray": "Dixit et al., INFOCOM 2013",
    "par": "Jiang, Kim and Dally, ISCA 2009",
    "polarized": "Camarero, Martinez and Beivide, HOTI 2021",
    "q_adaptive": _QA,
    "q_adaptive_corrected": "talks of X. Yuan, 2025 and 2026",
    "q_hierarchical": "the abstract of Q-hierarchical, ICC 2023",
    "q_routing": "Boyan and Littman, NIPS 1993",
    "reps": "Bonato et al., 2024",
    "source_paths": "the abstract of Spritz, arXiv:2602.19567",
    "ugal": "Singh, 2005",
    "ugal_global": _DRAGONFLY,
    "ugal_group": _DRAGONFLY,
    "ugal_router": _DRAGONFLY,
    "up_down": "Schroeder et al., IEEE JSAC 9(8), 1991",
    "valiant": "Valiant, 1982",
    "valiant_group": f"Valiant, 1982; {_DRAGONFLY}",
}

_OWN = "[Environments](../environments.md) explain it."
_BIAS = "It has no bias by default ([HyperX](../simulate.md#hyperx-biases-and-q-adaptive))."
LIMITS = {
    "agent": _OWN,
    "biased": _OWN,
    "dal": _BIAS,
    "dim_war": _BIAS,
    "external": _OWN,
    "fpar": "With `notifications=instant` it is an oracle, and partitions meet in every cycle.",
    "omni_war": _BIAS,
    "par": "It stops before cycle 0 if links fail.",
    "policy": "`path` names the file of a [policy](../formats.md#policies-safetensors).",
    "reps": "The network runs as one partition.",
    "source_paths": "The network runs as one partition "
    "([decisions at the source](../environments.md#decisions-at-the-source)).",
    "table": "[Forwarding tables](../tables.md) explain it. It also takes the keys of [its engine](engines.md).",
    "ugal_global": "It reads queues of other routers, and partitions meet in every cycle.",
    "up_down": "It needs a second class if links [fail during a run](../networks.md#failures).",
}
