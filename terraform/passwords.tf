# Passwords go from AWS's generator into Secrets Manager. They are made anew by each run of terraform, and written only
# when password_version changes.

ephemeral "aws_secretsmanager_random_password" "kafka" {
  count    = var.generate_passwords ? 1 : 0
  provider = aws.passwords

  password_length     = 40
  exclude_punctuation = true
}

ephemeral "aws_secretsmanager_random_password" "trino" {
  count    = var.generate_passwords ? 1 : 0
  provider = aws.passwords

  password_length     = 64
  exclude_punctuation = true
}

# The users whom infra/trino/access.toml names: who publishes, and one for each role below.
ephemeral "aws_secretsmanager_random_password" "trino_users" {
  for_each = var.generate_passwords ? toset(["lk", "reader", "engineer", "admin"]) : []
  provider = aws.passwords

  password_length     = 40
  exclude_punctuation = true
}
