"""Common parts of figures and tables: styles, axes, Markdown, and the names of routings and policies."""
