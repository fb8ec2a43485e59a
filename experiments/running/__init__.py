"""One simulation, or many on this machine or a cluster: checks, memory, cores, launchers. No command's words."""
