"""The user's table and a float matrix: features, responses, frames, files and blocks of rows."""
