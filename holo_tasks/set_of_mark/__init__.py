"""Set-of-mark prompting: numbered marks on what can be clicked, so that a model may name a number."""
