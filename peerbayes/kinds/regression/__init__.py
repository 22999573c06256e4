"""Linear regression with Gaussian beliefs."""
