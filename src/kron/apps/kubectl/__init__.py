"""`kubectl kron`: what KronJobs did and will do, and requests to the operator."""
