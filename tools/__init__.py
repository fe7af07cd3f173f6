"""Tools that the agent may call: one module a tool."""
