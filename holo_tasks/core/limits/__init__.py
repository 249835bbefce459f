"""Limits on cost and actions, and the arithmetic of prices.

`budget` has the limits, `money` the prices, `overbilling` the surplus that a server bills. The package imports `core`.
"""
