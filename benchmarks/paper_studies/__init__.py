"""The paper's tables and figures as studies: YAML files describe them, the code runs them and tests the claims."""
