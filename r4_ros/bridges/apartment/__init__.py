"""The simulated apartment: furnished rooms, two robots with RGB-D and instance cameras, and the truth about it all.

Nothing here needs ROS, a display or a GPU: pictures are ray-cast on the CPU from shapes built in code.
"""
