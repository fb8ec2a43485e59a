"""What a run leaves on disk: files with checksums, the tables and warnings in them, and rows that gather them."""
