"""The paper's tables and figures as studies: a YAML file says what is compared, code runs it and judges the claims."""
