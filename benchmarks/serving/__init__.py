"""Time of a prediction, as a service meets it: one row, a hundred, ten thousand."""
