"""The secured profile of local servers: a certificate authority of the instance, and a password for each user."""
