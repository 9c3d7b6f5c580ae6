# One key per purpose: who may read the lake may not thereby read the log, the secrets or the images.

data "aws_caller_identity" "this" {}
data "aws_partition" "this" {}
data "aws_region" "this" {}

locals {
  account   = data.aws_caller_identity.this.account_id
  partition = data.aws_partition.this.partition
  region    = data.aws_region.this.name

  # Services that use a key by themselves, beside the roles of this account: purpose => service, and what it may only use it for.
  services = {
    logs = {
      principal = "logs.${local.region}.amazonaws.com"
      test      = "ArnLike"
      variable  = "kms:EncryptionContext:aws:logs:arn"
      value     = "arn:${local.partition}:logs:${local.region}:${local.account}:*"
    }
    lake = { # Airflow is encrypted with the key of its bucket, and so are its log groups
      principal = "logs.${local.region}.amazonaws.com"
      test      = "ArnLike"
      variable  = "kms:EncryptionContext:aws:logs:arn"
      value     = "arn:${local.partition}:logs:${local.region}:${local.account}:log-group:airflow-${var.name}-*"
    }
    alarms = {
      principal = "cloudwatch.amazonaws.com"
      test      = "StringEquals"
      variable  = "aws:SourceAccount"
      value     = local.account
    }
    secrets = {
      principal = "kafka.amazonaws.com"
      test      = "StringEquals"
      variable  = "aws:SourceAccount"
      value     = local.account
    }
  }
}

resource "aws_kms_key" "this" {
  for_each = var.purposes

  description             = "${var.name}: ${each.value}"
  enable_key_rotation     = true
  rotation_period_in_days = 365
  deletion_window_in_days = var.deletion_days
  policy                  = data.aws_iam_policy_document.this[each.key].json
}

resource "aws_kms_alias" "this" {
  for_each = var.purposes

  name          = "alias/${var.name}-${each.key}"
  target_key_id = aws_kms_key.this[each.key].key_id
}

data "aws_iam_policy_document" "this" {
  # In the policy of a key, `*` means this key and nothing else; IAM of this account then says who may do what with it.
  #checkov:skip=CKV_AWS_109:the policy of a key names that one key by `*`, there is no other way to write it
  #checkov:skip=CKV_AWS_111:the same
  #checkov:skip=CKV_AWS_356:the same
  for_each = var.purposes

  statement {
    sid       = "Account"
    actions   = ["kms:*"] # without it nobody could ever change the policy again
    resources = ["*"]     # this key

    principals {
      type        = "AWS"
      identifiers = ["arn:${local.partition}:iam::${local.account}:root"]
    }
  }

  dynamic "statement" {
    for_each = contains(keys(local.services), each.key) ? [local.services[each.key]] : []

    content {
      sid       = "Service"
      actions   = ["kms:Decrypt", "kms:DescribeKey", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*"] # their two forms each
      resources = ["*"]                                                                                       # this key

      principals {
        type        = "Service"
        identifiers = [statement.value.principal]
      }

      condition {
        test     = statement.value.test
        variable = statement.value.variable
        values   = [statement.value.value]
      }
    }
  }
}
