"""The memory's REST interface, `/memory/v1`: what a user may see and do of what is remembered about them."""
