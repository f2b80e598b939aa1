"""What experience is worth: a stream of tasks on the simulator, answered with and without it."""
