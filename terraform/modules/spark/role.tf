# What a job may do: read and write the lake, read its settings and its password, write its logs. Nothing else.

resource "aws_iam_role" "job" {
  name               = "${var.name}-job"
  assume_role_policy = data.aws_iam_policy_document.trust.json
}

data "aws_iam_policy_document" "trust" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["emr-serverless.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [local.account]
    }

    condition {
      test     = "ArnLike"
      variable = "aws:SourceArn"
      values   = ["arn:${local.partition}:emr-serverless:${local.region}:${local.account}:/applications/*"]
    }
  }
}

resource "aws_iam_role_policy" "job" {
  name   = "job"
  role   = aws_iam_role.job.id
  policy = data.aws_iam_policy_document.job.json
}

data "aws_iam_policy_document" "job" {
  statement {
    sid       = "Buckets"
    actions   = ["s3:GetBucketLocation", "s3:ListBucket", "s3:ListBucketMultipartUploads"]
    resources = [var.bucket_arns["lake"], var.bucket_arns["artifacts"]]
  }

  statement {
    sid       = "Lake"
    actions   = ["s3:AbortMultipartUpload", "s3:DeleteObject", "s3:GetObject", "s3:ListMultipartUploadParts", "s3:PutObject"]
    resources = ["${var.bucket_arns["lake"]}/*"] # every table and checkpoint of this one bucket
  }

  statement {
    sid       = "Settings"
    actions   = ["s3:GetObject"]
    resources = ["${var.bucket_arns["artifacts"]}/settings/*", "${var.bucket_arns["artifacts"]}/jobs/*"] # by prefix
  }

  statement {
    sid       = "Keys"
    actions   = ["kms:Decrypt", "kms:DescribeKey", "kms:GenerateDataKey"]
    resources = [var.lake_key_arn]
  }

  statement {
    sid       = "Password"
    actions   = ["secretsmanager:GetSecretValue"]
    resources = [var.kafka_secret_arn, var.trino_secret_arn]
  }

  statement {
    sid       = "PasswordKey"
    actions   = ["kms:Decrypt"]
    resources = [var.secrets_key_arn]
  }

  statement {
    sid       = "Logs"
    actions   = ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"]
    resources = ["${var.log_group_arns["jobs"]}:*", "${var.log_group_arns["status"]}:*"] # the streams of these two groups
  }

  # A replay, or the speed layer after it, is a job that another job starts.
  statement {
    sid       = "StartJobs"
    actions   = ["emr-serverless:GetApplication", "emr-serverless:ListJobRuns", "emr-serverless:StartApplication", "emr-serverless:StartJobRun"]
    resources = [aws_emrserverless_application.this.arn]
  }

  statement {
    sid       = "WatchJobs"
    actions   = ["emr-serverless:CancelJobRun", "emr-serverless:GetJobRun"]
    resources = ["${aws_emrserverless_application.this.arn}/jobruns/*"] # the jobs of this one application
  }

  statement {
    sid       = "SameRole"
    actions   = ["iam:PassRole"]
    resources = [aws_iam_role.job.arn]

    condition {
      test     = "StringEquals"
      variable = "iam:PassedToService"
      values   = ["emr-serverless.amazonaws.com"]
    }
  }

  statement {
    sid       = "FindLogs"
    actions   = ["logs:DescribeLogGroups"]
    resources = ["arn:${local.partition}:logs:${local.region}:${local.account}:log-group:*"] # a list cannot be asked for one group
  }
}
