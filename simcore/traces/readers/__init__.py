"""The trace formats. Every module defines `READER`, a `Reader`; a new module adds a format."""
