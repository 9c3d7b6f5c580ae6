# Who may query: a password for each user whom infra/trino/access.toml names. Like Kafka's they are in no state.

# What people and jobs read: user => password, as JSON.
resource "aws_secretsmanager_secret" "users" {
  #checkov:skip=CKV2_AWS_57:rotated by hand, as Trino must start anew with it (docs/runbooks/rotate-keys.md)
  name        = "${var.name}/trino-users"
  description = "Users of Trino and their passwords, as JSON"
  kms_key_id  = var.secrets_key_arn
}

resource "aws_secretsmanager_secret_version" "users" {
  count = var.write_password ? 1 : 0

  secret_id                = aws_secretsmanager_secret.users.id
  secret_string_wo         = jsonencode(var.users)
  secret_string_wo_version = var.password_version
}

# What Trino reads: its password file, which has hashes only. Trino knows bcrypt by 2y, a name of the same algorithm.
resource "aws_secretsmanager_secret" "hashes" {
  #checkov:skip=CKV2_AWS_57:rotated with the passwords that it has the hashes of
  name        = "${var.name}/trino-passwords"
  description = "Trino's password file: a line with a hash for each user"
  kms_key_id  = var.secrets_key_arn
}

resource "aws_secretsmanager_secret_version" "hashes" {
  count = var.write_password ? 1 : 0

  secret_id                = aws_secretsmanager_secret.hashes.id
  secret_string_wo         = join("\n", [for user, password in var.users : "${user}:${replace(bcrypt(password, 10), "$2a$", "$2y$")}"])
  secret_string_wo_version = var.password_version
}
