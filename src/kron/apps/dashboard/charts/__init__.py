"""Charts: SVG drawn by the server, without text and without style attributes."""
