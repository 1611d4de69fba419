"""What is remembered: facts, and what they are about."""
