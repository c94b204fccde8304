"""Tables as people have them, generated and real, beside other packages."""
