"""Two robots and one memory: how much sooner a robot finds a thing where another one has been."""
