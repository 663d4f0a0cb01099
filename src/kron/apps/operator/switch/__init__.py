"""Switch: a KronJob takes over from its CronJob, or gives back, so that each period runs once.

All state is in the cluster: the suspensions of both objects, and annotations. A command that was killed continues where
it was when it is repeated.
"""
