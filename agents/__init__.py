"""Agents that decide in the place of routers: one readable file per algorithm."""
