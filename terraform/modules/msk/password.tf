# The password of `lk` goes into Secrets Manager as a write-only argument: it is in no file, no plan and no state.

locals {
  secret_name = "AmazonMSK_${var.name}_${var.user}" # MSK takes only secrets that are called so
}

resource "aws_secretsmanager_secret" "lk" {
  #checkov:skip=CKV2_AWS_57:rotated by hand, as MSK, Spark and Airflow must follow (docs/runbooks/rotate-keys.md)
  name        = local.secret_name
  description = "User and password of ${var.user} at Kafka, as JSON"
  kms_key_id  = var.secrets_key_arn # MSK does not take a secret under AWS's own key
}

resource "aws_secretsmanager_secret_version" "lk" {
  count = var.write_password ? 1 : 0

  secret_id = aws_secretsmanager_secret.lk.id
  secret_string_wo = jsonencode({
    username = var.user
    password = var.password
  })
  secret_string_wo_version = var.password_version
}

resource "aws_msk_scram_secret_association" "lk" {
  cluster_arn     = aws_msk_cluster.this.arn
  secret_arn_list = [aws_secretsmanager_secret.lk.arn]

  depends_on = [aws_secretsmanager_secret_policy.lk, aws_secretsmanager_secret_version.lk]
}

resource "aws_secretsmanager_secret_policy" "lk" {
  secret_arn = aws_secretsmanager_secret.lk.arn
  policy     = data.aws_iam_policy_document.brokers.json
}

data "aws_caller_identity" "this" {}

data "aws_iam_policy_document" "brokers" {
  statement {
    sid       = "Brokers"
    actions   = ["secretsmanager:GetSecretValue"]
    resources = [aws_secretsmanager_secret.lk.arn]

    principals {
      type        = "Service"
      identifiers = ["kafka.amazonaws.com"]
    }

    # For a cluster of this account, not of somebody who knows the ARN.
    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [data.aws_caller_identity.this.account_id]
    }
  }
}
