"""The commands of flitgym. Each subfolder holds the parts of a command, or the figures and studies it reproduces."""
