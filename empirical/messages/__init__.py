"""What agents send: codecs, frames, and the least that a message can cost."""
