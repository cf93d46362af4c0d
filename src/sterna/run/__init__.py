"""The user's call: rounds, tuning and what is shown meanwhile."""
