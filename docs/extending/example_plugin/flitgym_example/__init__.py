"""An example of a plugin of flitgym: one thing of each kind, in the folders where flitgym looks for them."""
