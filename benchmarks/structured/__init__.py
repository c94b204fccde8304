"""Tables with structure: limits, atoms, counts, groups and time, beside other packages."""
