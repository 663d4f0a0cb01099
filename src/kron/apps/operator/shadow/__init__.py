"""Shadow report: what CronJobs started, compared with what their KronJobs would have started."""
