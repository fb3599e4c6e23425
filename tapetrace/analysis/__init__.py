"""From a Trace to a Report: pure, deterministic functions of the model that never see TensorFlow."""
