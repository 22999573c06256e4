"""The page of `peerbayes explore` as it is used: in Chromium, by mouse, keys and touch."""
