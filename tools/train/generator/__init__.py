"""Seeded generator of stories and chats for the bundled model. Standard library only."""
