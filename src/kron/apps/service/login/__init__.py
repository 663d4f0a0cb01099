"""Login: people sign in to the dashboard of the service at an OpenID Connect provider."""
