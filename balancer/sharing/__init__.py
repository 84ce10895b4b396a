"""What the processes of one replica share: one memory with a seat for each process, and the tables in it."""
