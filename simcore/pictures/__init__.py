"""Pictures of networks: the places of routers, the load of the links over time, and drawings of both."""
