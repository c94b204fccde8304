"""Estimators: the classes that you fit. They call the other rooms; they compute nothing themselves."""
