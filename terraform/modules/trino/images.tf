resource "aws_ecr_repository" "trino" {
  name                 = "${var.name}/trino"
  image_tag_mutability = "IMMUTABLE"
  force_delete         = var.destroy_with_data

  encryption_configuration {
    encryption_type = "KMS"
    kms_key         = var.images_key_arn
  }

  image_scanning_configuration {
    scan_on_push = true
  }
}

# What coordinator and workers know each other by. Like Kafka's password it is in no state.
resource "aws_secretsmanager_secret" "shared" {
  #checkov:skip=CKV2_AWS_57:rotated by hand, as all tasks must start anew with it (docs/runbooks/rotate-keys.md)
  name        = "${var.name}/trino-shared"
  description = "Shared secret of Trino's coordinator and workers"
  kms_key_id  = var.secrets_key_arn
}

resource "aws_secretsmanager_secret_version" "shared" {
  count = var.write_password ? 1 : 0

  secret_id                = aws_secretsmanager_secret.shared.id
  secret_string_wo         = var.password
  secret_string_wo_version = var.password_version
}
