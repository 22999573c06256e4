"""What users call: one function a file, for problems of every kind."""
