"""What keeps an agent from doing harm: redaction, action policy, and the ledger of finished work."""
