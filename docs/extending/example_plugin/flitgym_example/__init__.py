"""An example of a flitgym plugin: one component of each kind, in the folders that flitgym searches."""
