"""Policies as safetensors files, which the core reads, too (`routing=policy routing.path=...`)."""

from ...simcore._policy_file import load_policy, save_policy

__all__ = ["load_policy", "save_policy"]
