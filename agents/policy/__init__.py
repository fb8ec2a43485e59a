"""Files of policies, and policies whose weights are computed from given costs instead of trained."""
