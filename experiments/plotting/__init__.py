"""What figures and tables have in common: styles and axes, Markdown, and what those are called who route."""
