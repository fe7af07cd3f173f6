"""The reasoning runtime: plan, execute, synthesise, verify, decide."""
