"""Learning with broken and lying agents, run (:func:`exact.simulate`)."""
