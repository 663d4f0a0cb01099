"""The engine under a virtual clock, with every fault that we can think of, and a checker that believes nothing."""
