"""Predictive distributions as values: of one response, of several, and as samples."""
