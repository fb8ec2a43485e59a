"""The files of a run: results with checksums, their tables and warnings, and the rows that gather them."""
