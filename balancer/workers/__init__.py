"""Runs the processes of the data plane: what one worker builds, starts, drains and stops."""
