"""The paper's joint search: search spaces, objective and trials."""
