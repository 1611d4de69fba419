"""Consolidation: what the journal's entries say becomes a section of MEMORY.md, within its budget."""
