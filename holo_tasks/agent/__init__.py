"""What a flow calls: the agent, sub-goals, steps, limits, and questions beside them."""
