# Where everything is logged, what is measured of it, and who is told.

locals {
  groups = {
    brokers = "/lk/${var.name}/brokers"
    flow    = "/lk/${var.name}/flow"
    jobs    = "/lk/${var.name}/jobs"
    status  = "/lk/${var.name}/status" # one JSON line per view and minute, of `lk status`
    trino   = "/lk/${var.name}/trino"
  }
  namespace = "lk/${var.name}"
}

resource "aws_cloudwatch_log_group" "this" {
  for_each = local.groups

  name              = each.value
  kms_key_id        = var.logs_key_arn
  retention_in_days = var.log_days
}

resource "aws_sns_topic" "alarms" {
  name              = "${var.name}-alarms"
  kms_master_key_id = var.alarms_key_arn
}

resource "aws_sns_topic_policy" "alarms" {
  arn    = aws_sns_topic.alarms.arn
  policy = data.aws_iam_policy_document.alarms.json
}

data "aws_caller_identity" "this" {}

data "aws_iam_policy_document" "alarms" {
  statement {
    sid       = "Alarms"
    actions   = ["sns:Publish"]
    resources = [aws_sns_topic.alarms.arn]

    principals {
      type        = "Service"
      identifiers = ["cloudwatch.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [data.aws_caller_identity.this.account_id]
    }
  }
}

resource "aws_sns_topic_subscription" "email" {
  for_each = var.emails

  topic_arn = aws_sns_topic.alarms.arn
  protocol  = "email"
  endpoint  = each.value
}
