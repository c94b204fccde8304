"""Tables and figures of the paper's protocol, from its evaluation lines and configurations alone.

Lines become cells (``cells``), cells the complete blocks that are compared (``blocks``), blocks frozen pages
(``aggregates``, ``per_data_set``, ``ranks``, ``sizes``, ``budget``), pages Markdown and LaTeX (``render``).
"""
