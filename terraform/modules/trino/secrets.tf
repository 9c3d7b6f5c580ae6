# What coordinator and workers know each other by, and who may query: a password for each user of infra/trino/access.toml.
# Like Kafka's password, none is in the state.

locals {
  # name => what it holds. People and jobs read `users`; Trino reads the others.
  secrets = {
    shared    = "Shared secret of Trino's coordinator and workers"
    users     = "Users of Trino and their passwords, as JSON"
    passwords = "Trino's password file: a line with a hash for each user"
  }
}

resource "aws_secretsmanager_secret" "this" {
  #checkov:skip=CKV2_AWS_57:rotated by hand, as all tasks must start anew with it (docs/runbooks/rotate-keys.md)
  for_each = local.secrets

  name        = "${var.name}/trino-${each.key}"
  description = each.value
  kms_key_id  = var.secrets_key_arn
}

resource "aws_secretsmanager_secret_version" "this" {
  for_each = var.write_password ? local.secrets : {}

  secret_id = aws_secretsmanager_secret.this[each.key].id
  secret_string_wo = {
    shared = var.password
    users  = jsonencode(var.users)
    # Trino knows bcrypt by 2y, a name of the same algorithm.
    passwords = join("\n", [for user, password in var.users : "${user}:${replace(bcrypt(password, 10), "$2a$", "$2y$")}"])
  }[each.key]
  secret_string_wo_version = var.password_version
}

moved {
  from = aws_secretsmanager_secret.shared
  to   = aws_secretsmanager_secret.this["shared"]
}

moved {
  from = aws_secretsmanager_secret_version.shared[0]
  to   = aws_secretsmanager_secret_version.this["shared"]
}
