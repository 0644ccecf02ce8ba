"""The studio: a page in the browser that shows how explorers explore, and the local server behind it."""
