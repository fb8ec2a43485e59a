"""Every registered component is an option with typed keys, and every preset composes."""

from pathlib import Path

import pytest
from flitgym.configs import CONFIG_DIR, KINDS, compose
from flitgym.simcore import registered
from omegaconf import OmegaConf

PRESETS = [
    (path.parent.name, path.stem)
    for path in sorted(Path(CONFIG_DIR).glob("*/*.yaml"))
    if path.parent.name in (*KINDS, "run")
]


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in registered(kind)])
def test_every_registered_name_is_an_option_with_the_core_s_defaults(kind: str, name: str) -> None:
    section = compose([f"{kind}={name}"])[kind]
    expected = {key: spec["default"] for key, spec in registered(kind)[name]["params"].items()}
    expected |= {"classes": {}} if kind == "router" else {}
    assert OmegaConf.to_container(section) == {"name": name, **expected}


@pytest.mark.parametrize(("kind", "name"), PRESETS)
def test_every_preset_composes(kind: str, name: str) -> None:
    assert compose([f"{kind}={name}"])[kind]


def test_the_papers_routers_hold_the_papers_values() -> None:
    hpdc21, sc22 = compose(["router=hpdc21"]).router, compose(["router=sc22"]).router
    assert (hpdc21.cycle_ns, sc22.cycle_ns) == (1.6, 1.28)
    # An input buffer of 2,560 bytes per VC holds 20 flits, one of 15,360 bytes holds 120.
    assert hpdc21.input_buffer_flits * hpdc21.flit_bytes == 2560
    assert sc22.input_buffer_flits * sc22.flit_bytes == 15360
    # A flit takes 32 ns and 5.12 ns on a link.
    assert hpdc21.flit_bytes / hpdc21.link_bandwidth_gb_per_s_local == 32
    assert sc22.flit_bytes / sc22.link_bandwidth_gb_per_s_local == pytest.approx(5.12)
    for router in (hpdc21, sc22):
        hops = [
            router.output_latency_ns + router[f"link_latency_ns_{kind}"] + router.input_latency_ns
            for kind in ("local", "global")
        ]
        assert hops == [50, 320]
        assert (router.latency_from, router.source_backlog, router.output_wake_flits) == ("nic", "lost", 1)
