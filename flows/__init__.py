"""What composes the layers: the batch cycle, the speed run, producing, the demo, the bench."""
