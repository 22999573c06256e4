"""Learning with compressed beliefs, run (:func:`exact.simulate`)."""
